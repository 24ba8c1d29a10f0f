"""A job that tries compressors at many settings, made of one that says what is trained (R3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml
from pydantic import JsonValue

from seedance_ops.jobs.training_job import TrainingJob

SUFFIX = "-pareto"
_LONGEST_NAME = 50
_LEFT_OUT = ("gates", "params", "phases", "schedule", "approval", "economics")
"""They speak of the job's own variants, or of when it runs by itself."""


@dataclass(frozen=True)
class Sweep:
    """The settings to try."""

    k_ratios: tuple[float, ...] = ()
    """Of ``mixed_precision``, each with each of ``devices``."""
    devices: tuple[tuple[str, ...], ...] = (("auto",),)
    """Each one kind of device for all ranks, or several for stretches of them."""
    bits: tuple[float, ...] = ()
    """An element, of ``quantized_error_feedback``."""
    levels: tuple[int, ...] = ()
    """Of ``quantized_error_feedback``, instead."""


def sweep_name(job: TrainingJob) -> str:
    """What the sweep's job is called."""
    return job.metadata.name[: _LONGEST_NAME - len(SUFFIX)].rstrip("-") + SUFFIX


def sweep_text(job: TrainingJob, sweep: Sweep) -> str:
    """The sweep as a job file: the job's baseline, and a variant for each setting; no gates.

    What the job's ``defaults.yaml`` say is written out. Whether the settings are valid, loading it tells.
    """
    data: dict[str, JsonValue] = job.model_dump(mode="json", by_alias=True, exclude_unset=True)
    baseline = job.variants[job.baseline].model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key in _LEFT_OUT:
        data.pop(key, None)
    data["metadata"] = {
        **job.metadata.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "name": sweep_name(job),
    }
    variants: dict[str, JsonValue] = {job.baseline: baseline}
    for name, compression in _points(sweep):
        variants[name] = baseline | {"gradient_compression": compression}
    data["variants"] = variants
    if job.repeats.reuse_baseline is not None:
        data["repeats"] = job.repeats.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude={"reuse_baseline"}
        )
    data["accept"] = "report"
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _points(sweep: Sweep) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    for devices in sweep.devices:
        for k_ratio in sweep.k_ratios:
            compression: dict[str, JsonValue] = {"algorithm": "mixed_precision", "k_ratio": k_ratio}
            if len(devices) > 1:
                compression |= {"device": list(devices), "allreduce_backend": "gloo"}
            else:
                compression |= {"device": devices[0]}
            yield _name("mixed", f"{k_ratio:g}", *devices), compression
    quantized: dict[str, JsonValue] = {"algorithm": "quantized_error_feedback"}
    for bits in sweep.bits:
        yield _name("bits", f"{bits:g}"), quantized | {"bits_per_element": bits}
    for levels in sweep.levels:
        yield _name("levels", str(levels)), quantized | {"levels": levels}


def _name(*parts: str) -> str:
    return "-".join(parts).replace(".", "-").replace("_", "-")
