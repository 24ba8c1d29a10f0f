"""The registry holds one definition of each metric, a job's own included."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.metrics import BUILT_IN_METRICS, metrics_of


def test_the_quality_metric_pairs_by_seed_and_knows_its_direction(load, valid):
    quality = metrics_of(load(valid).job)["val_loss"]
    assert quality.pairs_by_seed
    assert quality.better == "lower"


def test_a_users_metric_joins_the_registry(spoil, load):
    text = spoil(("layers: 2}", "layers: 2}\n  metrics: [{name: tokens_per_s, unit: 1/s, better: higher}]"))
    assert metrics_of(load(text).job)["tokens_per_s"].unit == "1/s"


@pytest.mark.parametrize(
    "metrics", ["[{name: run_s}]", "[{name: a}, {name: a}]", "[{name: val_loss, better: higher}]"]
)
def test_a_second_definition_is_refused(metrics, spoil, errors_of):
    (error,) = errors_of(spoil(("layers: 2}", f"layers: 2}}\n  metrics: {metrics}")))
    assert error.path.startswith("workload.metrics.")


def test_only_exact_quantities_are_counted():
    assert [name for name, metric in BUILT_IN_METRICS.items() if metric.nature == "counted"] == [
        "bytes_on_wire"
    ]


def test_a_gate_on_what_the_runtime_cannot_measure_is_refused(spoil, errors_of):
    errors = errors_of(
        spoil(
            ("  batch: {per_rank: 8}\n  stop: {samples: 960}\n", "  runtime: none\n"),
            (
                "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}",
                "set: {workload.args.layers: 3}",
            ),
            ("- {metric: val_loss", "- {metric: bytes_on_wire"),
            ("params: [workload.stop.samples, variants.topk.gradient_compression.k_ratio]\n", ""),
        )
    )
    assert [(error.path, error.message) for error in errors] == [
        ("gates.0.metric", "cannot be measured with runtime: none")
    ]
