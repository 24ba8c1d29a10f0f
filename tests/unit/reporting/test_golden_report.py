"""``report.json`` of a run small enough to work out by hand: ``golden_report.json`` says how."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from seedance_ops.cost.catalogue import Price
from seedance_ops.reporting.run_tables import LAUNCHES, RunTables, frame_of
from tests.unit.reporting.conftest import judge_run, manifest_of
from tests.unit.reporting.test_report import report_of

GOLDEN = json.loads(Path(__file__).with_name("golden_report.json").read_text(encoding="utf-8"))
JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: golden}
workload:
  entrypoint: examples/char_gpt.py
  batch: {per_rank: 2}
  stop: {steps: 6}
  quality: {metric: val_loss, better: lower}
launcher: local
resources: {accelerators: "cpu:2"}
variants: {baseline: {}, fast: {gradient_compression: {algorithm: bf16}}}
repeats: {seeds: 3}
gates:
  - {metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}
  - {metric: usd_per_run, compared_to: baseline, change_at_most: {relative: 0.0}}
"""
RUN_S = {"baseline": (100.0, 110.0, 120.0), "fast": (80.0, 88.0, 96.0)}
STEP_S = {"baseline": 10.0, "fast": 8.0}
LOSS = {"baseline": (3.00, 3.02, 3.04), "fast": (2.99, 3.00, 3.04)}
PRICE = Price.model_validate(
    {"key": "made-up", "usd_per_accelerator_hour": 1.8, "source": "this test", "date": "2026-01-02"}
    | {"basis": "list"}
)


def tables_of(manifest) -> RunTables:
    steps, evaluations, launches = [], [], []
    for run in manifest.runs:
        variant, seed = run.variant, run.seed
        start, step_s = 1000.0 * (1 + run.order), STEP_S[variant]
        of_run = {"variant": variant, "seed": seed, "submission": 1}
        steps += [
            of_run
            | {"rank": rank, "world_size": 2, "step": step, "started_at_s": start + step_s * step}
            | {"step_time_s": step_s, "compute_s": step_s - 2.0, "communication_wait_s": 1.0}
            | {"all_reduce_s": 1.0, "checkpoint_stall_s": 1.0, "bytes_dense_fp32": 1000}
            | {"bytes_on_wire": 1000 if variant == "baseline" else 500}
            | {"samples": 2, "tokens": float("nan"), "model_flops": 3e14, "flops_method": "declared"}
            | {"cpu_utilisation": 0.5, "gpu_utilisation": float("nan"), "memory_bytes": 1}
            | {"train_loss": 5.0 - 0.1 * step}
            for step in range(1, 7)
            for rank in (0, 1)
        ]
        evaluations.append(
            of_run
            | {"step": 6, "samples_seen": 24, "at_s": start, "train_elapsed_s": 6 * step_s}
            | {"metric": "val_loss", "value": LOSS[variant][seed]}
        )
        run_s = RUN_S[variant][seed]
        launches.append(
            of_run
            | {"take": 1, "order": run.order, "state": "succeeded", "launcher": "local", "accelerator": "cpu"}
            | {"num_nodes": 1, "accelerators_per_node": 2, "submitted_at_s": start - 5, "started_at_s": start}
            | {"ended_at_s": start + run_s, "queue_s": 5.0, "run_s": run_s, "mean_cpu_utilisation": 0.5}
        )
    writes = pd.DataFrame({"variant": pd.Series(dtype="str"), "seed": pd.Series(dtype="int64")})
    for column in ("submission", "step", "bytes", "write_s", "stall_s"):
        writes[column] = pd.Series(dtype="float64")
    writes["tier"] = pd.Series(dtype="str")
    return RunTables(pd.DataFrame(steps), pd.DataFrame(evaluations), writes, frame_of(launches, LAUNCHES))


@pytest.fixture(scope="module")
def found():
    manifest = manifest_of(JOB)
    manifest = manifest.model_copy(update={"prices": dict.fromkeys(manifest.job.variants, PRICE)})
    judged = judge_run(manifest, tables_of(manifest))
    return json.loads(report_of(replace(judged, manifest=manifest)).as_json())


def test_its_keys_are_those_that_programs_rely_on(found):
    assert sorted(found) == GOLDEN["keys"]


@pytest.mark.parametrize(
    "key", ["schema_version", "job", "status", "headline", "accepted", "baseline", "answers"]
)
def test_the_answer(found, key):
    assert found[key] == GOLDEN[key]


@pytest.mark.parametrize("metric", GOLDEN["effects"])
def test_an_effect_with_its_bound_or_margin(found, metric):
    effect = next(effect for effect in found["effects"] if effect["metric"] == metric)
    for name, value in GOLDEN["effects"][metric].items():
        assert effect[name] == (value if value is None else pytest.approx(value, abs=2e-6)), name


def test_the_place_of_each_variant_in_cost_and_quality(found):
    points = {point["variant"]: point for point in found["pareto"]["points"]}
    for variant, golden in GOLDEN["pareto"].items():
        assert {name: points[variant][name] for name in ("cost", "quality")} == pytest.approx(
            {name: golden[name] for name in ("cost", "quality")}
        )
        assert points[variant]["dominated_by"] == golden["dominated_by"]


def test_the_bill(found):
    bill = found["bill"]
    assert {line["label"] for line in bill["lines"]} == set(GOLDEN["bill"]["lines"])
    for line in bill["lines"]:
        assert line["usd_per_run"] == pytest.approx(GOLDEN["bill"]["lines"][line["label"]])
    assert bill["total_usd"] == pytest.approx(GOLDEN["bill"]["total_usd"])
    network = next(line for line in bill["lines"] if line["tier"] == "network")
    # Six seconds of two accelerators in each run.
    assert network["accelerator_hours_per_run"] == pytest.approx(
        dict.fromkeys(("baseline", "fast"), 12 / 3600)
    )
    for name, golden in GOLDEN["bill"]["unit_costs"].items():
        costs = {
            variant: row for variant, of in bill["unit_costs"].items() for row in of if row["name"] == name
        }
        assert {v: row["estimate"] for v, row in costs.items()} == pytest.approx(golden, rel=1e-6)


def test_what_finding_out_cost(found):
    assert found["study"] == pytest.approx(GOLDEN["study"])


def test_how_far_to_trust_it(found):
    validity, golden = found["validity"], dict(GOLDEN["validity"])
    spread = golden.pop("coefficient_of_variation")
    assert {name: validity[name] for name in golden} == golden
    rows = {f"{row['metric']} {row['variant']}": row["coefficient_of_variation"] for row in validity["noise"]}
    assert {name: rows[name] for name in spread} == pytest.approx(spread, abs=1e-6)
