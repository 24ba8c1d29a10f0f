"""Settings of gradient compression that can have no effect in the job that they stand in."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.resolvable import resolvable
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.training.compression.config import (
    CompressionConfig,
    DenseConfig,
    LocalUpdatesConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
)

_MEETING, _BF16 = 3.0, 0.5
"""Bytes of a meeting of ``local_updates`` under AdamW, and of a step in bf16, in dense steps."""
Reason = tuple[str, str]
"""A key, and why it has no effect."""


def compression_findings(job: TrainingJob) -> Iterator[Finding]:
    """Backends that the ranks would refuse when they start."""
    for variant in resolvable(job):
        path: Path = ("variants", variant.name, "gradient_compression", "allreduce_backend")
        if variant.compression.allreduce_backend == "nccl" and variant.resources.accelerator.lower() == "cpu":
            yield Finding(
                path,
                "NCCL needs GPUs, and resources.accelerators asks for CPUs",
                allowed="gloo",
                suggestion="leave allreduce_backend out: it is NCCL where there is a GPU, else gloo",
                reads=(("resources",),),
            )


def compression_warnings(job: TrainingJob) -> Iterator[Finding]:
    """What was written and changes nothing; what costs more than it looks like."""
    for variant in resolvable(job):
        path: Path = ("variants", variant.name, "gradient_compression")
        compression = variant.compression
        if isinstance(compression, DenseConfig):
            continue
        if variant.world_size == 1:
            yield Finding(path, "one process has no gradients to exchange: no effect")
            continue
        for key, why in (*_without_effect(compression), *_never_compressed(variant)):
            yield Finding((*path, key), f"no effect: {why}", at_key=True)
        yield from _frequent_meetings(path, variant)


def _without_effect(compression: CompressionConfig) -> Iterator[Reason]:
    # What is resolved does not say what was written: a default that was written changes nothing either.
    changed = {
        key
        for key, field in type(compression).model_fields.items()
        if getattr(compression, key) != field.default
    }
    match compression:
        case QuantizedErrorFeedbackConfig(levels=int()) if "bits_per_element" in changed:
            yield "bits_per_element", "levels says how finely elements are rounded"
        case PowerSgdConfig(rank=int()) if "byte_share" in changed:
            yield "byte_share", "rank says how many columns a matrix gets"
        case MixedPrecisionConfig(sparse=False):
            for key in sorted(changed & {"k_ratio", "trunk_ratio"}):
                yield key, "sparse: false sends every element in float16"
    carries = getattr(compression, "error_accumulation", True)
    if not carries and getattr(compression, "flush_on_save", False):
        yield "flush_on_save", "with error_accumulation: false nothing is carried that could be added up"


def _never_compressed(variant: ResolvedVariant) -> Iterator[Reason]:
    dense_steps: int = getattr(variant.compression, "dense_steps", 0)
    if variant.total_steps is not None and 0 < variant.total_steps <= dense_steps:
        yield "algorithm", f"all {variant.total_steps} steps of a run are dense_steps, in bf16"


def _frequent_meetings(path: Path, variant: ResolvedVariant) -> Iterator[Finding]:
    compression, interval = variant.compression, variant.checkpoint.interval_steps
    if not isinstance(compression, LocalUpdatesConfig):
        return
    sent = _MEETING / interval + _BF16 / compression.exchange_every
    if sent >= _BF16:
        yield Finding(
            (*path, "exchange_every"),
            f"a checkpoint is taken every {interval} steps, and before each one ranks exchange everything: "
            f"with AdamW a step sends {sent / _BF16:.1f} times what it would in bf16",
            suggestion="a longer checkpoint.interval_steps",
        )
