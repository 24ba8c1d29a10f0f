"""Which theoretical peak a run's achieved FLOPs are held against: a named one, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from seedance_ops.strict_model import StrictModel

if TYPE_CHECKING:
    from seedance_ops.cost.hardware import Accelerator, Peak


class PeakUsed(StrictModel):
    """One peak of one accelerator, as ``hardware.yaml`` had it."""

    accelerator: str
    """Its key there."""
    name: str
    dtype: str
    sparsity: str
    units: str
    tera_ops_per_s: float = Field(gt=0.0)
    source: str

    def words(self) -> str:
        """The peak as a reader must know it."""
        return (
            f"{self.tera_ops_per_s:g} TFLOPS, the {self.sparsity} {self.dtype} peak of the {self.name} "
            f"({self.units} units; {self.source})"
        )


def training_peak(key: str, accelerator: Accelerator) -> PeakUsed | None:
    """The dense bf16 peak, of older accelerators the dense fp16 one: what MFU is usually held against.

    A sparse peak is none of training's. ``None`` where the entry has neither.
    """
    dense: dict[str, Peak] = {}
    for peak in accelerator.peaks:
        if peak.sparsity == "dense" and peak.dtype in ("bf16", "fp16"):
            best = dense.setdefault(peak.dtype, peak)
            dense[peak.dtype] = max(best, peak, key=lambda one: one.tera_ops_per_s)
    found = dense.get("bf16") or dense.get("fp16")
    if found is None:
        return None
    return PeakUsed(accelerator=key, name=accelerator.name, source=accelerator.source, **found.model_dump())


def is_of(kind: str, peak: PeakUsed) -> bool:
    """Whether a job's kind of accelerator (``H100``, ``A100``) is the one that the peak is of.

    The price says which memory size an ``A100`` has. A price for another kind says nothing of this one; nor
    does one of CPU cores, which stand in for whatever machine there is.
    """
    asked = kind.lower()
    return asked != "cpu" and (peak.accelerator == asked or peak.accelerator.startswith(f"{asked}-"))


def mfu(achieved_tflops: float, accelerators: int, peak: PeakUsed) -> float:
    """Model FLOPs utilisation, 0 to 1: achieved model TFLOPS of all accelerators ÷ what they could at best.

    Chowdhery et al. 2022 (PaLM), appendix B: recomputation counts in neither.
    """
    return achieved_tflops / (accelerators * peak.tera_ops_per_s)
