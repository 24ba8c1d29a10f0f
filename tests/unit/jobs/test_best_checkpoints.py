"""Which checkpoints are the best follows from a declared direction, never from a guess."""

from __future__ import annotations

import pytest

QUALITY = "quality: {metric: val_loss, better: lower}"


@pytest.fixture
def keeping(spoil):
    """The valid job, keeping the best of a metric, with one more metric declared."""

    def text(best, metric="{name: accuracy, better: higher}"):
        return spoil(
            ("launcher: local", f"launcher: local\ncheckpoint: {{keep: {{best: {best}}}}}"),
            (QUALITY, f"{QUALITY}\n  metrics: [{metric}]"),
        )

    return text


@pytest.mark.parametrize(
    ("best", "better"),
    [
        ("{metric: val_loss}", "lower"),
        ("{metric: accuracy}", "higher"),
        ("{metric: accuracy, better: higher}", "higher"),
    ],
)
def test_the_direction_is_that_of_the_declaration(best, better, keeping, load):
    assert load(keeping(best)).job.resolve("topk").checkpoint.keep.best.better == better


def test_a_metric_without_a_direction_needs_one(keeping, errors_of, load):
    (error,) = errors_of(keeping("{metric: margin}", "{name: margin}"))
    assert error.path == "checkpoint.keep.best.better"
    assert "which direction of margin is better" in error.message
    job = load(keeping("{metric: margin, better: higher}", "{name: margin}")).job
    assert job.resolve("baseline").checkpoint.keep.best.better == "higher"


@pytest.mark.parametrize("metric", ["val_loss, better: higher", "accuracy, better: lower"])
def test_a_contradiction_of_the_declaration_is_refused(metric, keeping, errors_of):
    (error,) = errors_of(keeping(f"{{metric: {metric}}}"))
    assert error.path == "checkpoint.keep.best.better"
    assert "the declaration of" in error.message


def test_a_variant_that_keeps_the_best_of_another_metric_is_checked_too(keeping, errors_of):
    compression = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
    text = keeping("{metric: val_loss}", "{name: margin}")
    text = text.replace(compression, "set: {checkpoint.keep.best: {metric: margin}}")
    errors = errors_of(text.replace(", variants.topk.gradient_compression.k_ratio", ""))
    assert [error.path for error in errors] == ["variants.topk.set.checkpoint.keep.best"]
