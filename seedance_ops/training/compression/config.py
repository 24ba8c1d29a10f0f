"""What a job may say about gradient compression (R1.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

Backend = Literal["gloo", "nccl"]

QualityTier = Literal["safe", "equivalent", "close", "lossy"]

DeviceKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""A key of ``hardware.yaml``, or the beginning of several that agree: ``a100`` for ``a100-40gb``."""

SMALLEST = 4096
"""Elements from which a matrix is compressed. Smaller ones, norms and biases are few and each matters."""


class DenseConfig(StrictModel):
    """No compression: the all-reduce in the gradients' own type. What a plan without a block means."""

    algorithm: Literal["dense"] = "dense"
    """No compression."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class Bf16Config(StrictModel):
    """Gradients cast to bfloat16 for the all-reduce: half of fp32's bytes."""

    algorithm: Literal["bf16"]
    """Gradients as bfloat16."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class Fp16Config(StrictModel):
    """Gradients cast to float16 for the all-reduce: more precise than bf16, but infinite above 65,504."""

    algorithm: Literal["fp16"]
    """Gradients as float16."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class _Lossy(StrictModel):
    """What algorithms that leave out part of the gradient have in common."""

    error_accumulation: bool = True
    """Keep what was not sent and add it to the next gradient (error feedback)."""
    dense_steps: int = Field(default=0, ge=0, le=10_000_000)
    """The run's first steps are reduced in bf16; a resumed run does not repeat them."""
    flush_on_save: bool = False
    """Add up what all ranks carry before a checkpoint, which any number of ranks can then take up."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class ByElementConfig(_Lossy):
    """What lossy algorithms have in common that send an element, or do not, whatever its neighbours are."""

    two_levels: bool = False
    """Average densely within a node and compress between nodes only."""


class TopKErrorFeedbackConfig(ByElementConfig):
    """The largest ``k_ratio`` of each parameter's gradient, the rest carried to later steps."""

    algorithm: Literal["topk_error_feedback"]
    """The largest elements, with error feedback."""
    k_ratio: float = Field(default=0.01, gt=0.0, le=1.0)
    """Share of the gradient's elements that is sent, in (0, 1]."""
    values: Literal["bf16", "int4"] = "bf16"
    """How the elements are sent: int4 has one bf16 scale for 128 of them."""
    in_optimizer_units: bool = False
    """Select and round in units of AdamW's √v instead of the gradient's own."""


class RandomKConfig(_Lossy):
    """A random ``k_ratio`` of each parameter's gradient: what top-k is to be compared with."""

    algorithm: Literal["random_k"]
    """Random elements, the same on every rank."""
    k_ratio: float = Field(default=0.01, gt=0.0, le=1.0)
    """Share of the gradient's elements that is sent, in (0, 1]."""


class QuantizedErrorFeedbackConfig(ByElementConfig):
    """Every element as a multiple of a step that is fitted to a budget, or as one of a few levels."""

    algorithm: Literal["quantized_error_feedback"]
    """Few-bit quantisation, with error feedback."""
    bits_per_element: float = Field(default=2.35, ge=2.0, le=4.0)
    """Bits an element, on average over a row, of which frequent values take fewer."""
    levels: Literal[3, 5, 7, 15, 255] | None = None
    """So many levels instead: 1.6, 2.4, 3, 4 (int4) or 8 (int8) bits an element, and 0.06 of scale."""
    in_optimizer_units: bool = True
    """Round in units of AdamW's √v instead of the gradient's own."""


class PowerSgdConfig(_Lossy):
    """Each matrix's gradient as the product of two thin ones."""

    algorithm: Literal["powersgd"]
    """Low-rank approximation, with error feedback."""
    byte_share: float = Field(default=0.075, gt=0.0, le=0.25)
    """Bytes of a matrix's two thin ones, as a share of its fp32 gradient: decides their number of columns."""
    rank: int | None = Field(default=None, ge=1, le=1024)
    """That number of columns instead; a matrix that would not get four times smaller is sent in bf16."""


class LocalUpdatesConfig(StrictModel):
    """Ranks step on their own gradients, and average a slice of their parameters after each step."""

    algorithm: Literal["local_updates"]
    """Parameters averaged in turn, in place of gradients."""
    exchange_every: int = Field(default=7, ge=2, le=64)
    """Steps from one exchange of a parameter to its next; a step sends its share of what bf16 sends."""
    values: Literal["bf16", "int8", "int4"] = "bf16"
    """How movements are sent; int8 and int4 with a bf16 scale for 256 of them."""
    dense_steps: int = Field(default=0, ge=0, le=10_000_000)
    """The run's first steps are reduced in bf16; a resumed run does not repeat them."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class MixedPrecisionConfig(ByElementConfig):
    """The largest elements in float16, the next largest in four bits (R3.2)."""

    algorithm: Literal["mixed_precision"]
    """A trunk in float16 and a sparse residual in int4, with error feedback."""
    k_ratio: float = Field(default=0.01, ge=0.001, le=0.05)
    """Share of the gradient's elements that is sent, from 0.1 % to 5 %."""
    trunk_ratio: float = Field(default=0.1, gt=0.0, lt=1.0)
    """Share of those that is sent as float16; the rest as int4 with a scale for 128 of them."""
    sparse: bool = True
    """Off: no selection, every element in float16."""
    device: DeviceKey | Annotated[tuple[DeviceKey, ...], Field(min_length=1, max_length=64)] = "auto"
    """Whose profile in ``hardware.yaml`` scales ``k_ratio``; ``auto``: the job's own accelerator's; several:
    each of an equal stretch of the ranks, in order."""


class AutoConfig(StrictModel):
    """What is fastest on the link that the run finds itself on; bf16 where nothing saves 5 % of a step."""

    algorithm: Literal["auto"]
    """Probed and decided once, by the variant's first run."""
    quality_tier: QualityTier = "equivalent"
    """``safe``: dense or bf16; ``equivalent``: also what was as good as dense wherever it was measured;
    ``close``: also what was so in fine-tuning, not from scratch; ``lossy``: top-k as well."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


CompressionConfig = Annotated[
    DenseConfig
    | Bf16Config
    | Fp16Config
    | TopKErrorFeedbackConfig
    | RandomKConfig
    | QuantizedErrorFeedbackConfig
    | MixedPrecisionConfig
    | PowerSgdConfig
    | LocalUpdatesConfig
    | AutoConfig,
    Field(discriminator="algorithm"),
]
