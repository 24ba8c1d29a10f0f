"""Model FLOPs of a sample: counted on one eager step, else by a declared formula, with the method's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

COUNTED = "counted"
DECLARED = "declared"
_FLOPS_PER_PARAMETER_AND_TOKEN = 6.0
"""Forward 2, backward 4 (Kaplan et al. 2020, eq. 2.2): what is declared where nothing could be counted."""


@dataclass(frozen=True)
class ModelFlops:
    """Forward and backward FLOPs for one sample."""

    per_sample: float
    method: str


class FlopCount:
    """Finds the FLOPs of a sample: given by the workload, known from a checkpoint, or counted once."""

    def __init__(self, declared_per_sample: float | None) -> None:
        self.known = ModelFlops(declared_per_sample, DECLARED) if declared_per_sample else None
        self._counter: FlopCounterMode | None = None

    def open(self) -> None:
        """Start counting, unless the answer is known; the counter watches every operation, so once only."""
        if self.known is None:
            self._counter = FlopCounterMode(display=False, custom_mapping=_cpu_attention())
            self._counter.__enter__()  # type: ignore[no-untyped-call]

    def close(self, samples: int, parameters: int, tokens_per_sample: int | None) -> None:
        """Stop counting and settle the answer."""
        if self._counter is None:
            return
        counted = float(self._counter.get_total_flops())
        self.abandon()
        if counted > 0:
            self.known = ModelFlops(counted / samples, COUNTED)
        elif tokens_per_sample:  # a compiled model shows the counter nothing
            per_sample = _FLOPS_PER_PARAMETER_AND_TOKEN * parameters * tokens_per_sample
            self.known = ModelFlops(per_sample, DECLARED)

    def abandon(self) -> None:
        """Stop counting without an answer; safe at any time."""
        if self._counter is not None:
            self._counter.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._counter = None


def _cpu_attention() -> dict[Any, Any]:
    """Formulas for the fused attention of CPUs, which torch 2.13 counts on GPUs only."""

    def forward(query: Any, key: Any, value: Any, *_args: Any, **_kwargs: Any) -> int:
        return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]

    def backward(gradient: Any, query: Any, key: Any, value: Any, *_args: Any, **_kwargs: Any) -> int:
        return int(sdpa_backward_flop_count(gradient, query, key, value))  # type: ignore[no-untyped-call]

    return {
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: forward,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
