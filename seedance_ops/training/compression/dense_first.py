"""The first steps of a run in bf16, the rest compressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from seedance_ops.training.compression.base import Bound, Bucket, Exchange, GradientReduction, Reduction
from seedance_ops.training.compression.half_precision import HalfPrecision

_STEP = "dense_first.step"


class DenseFirst:
    """Another reduction after ``steps`` steps of bf16: gradients change fastest at the start.

    Steps are counted over the whole run: the count is part of the state.
    """

    def __init__(self, then: GradientReduction, steps: int) -> None:
        self.name = then.name
        self._then = then
        self._first = HalfPrecision.bf16()
        self._steps = steps
        self._step = 0

    @property
    def fits_any_world_size(self) -> bool:
        """Where the other reduction's state does."""
        return self._then.fits_any_world_size

    def bind(self, bound: Bound) -> None:
        """Bind both."""
        self._first.bind(bound)
        self._then.bind(bound)

    def close(self) -> None:
        """Close the other reduction."""
        self._then.close()

    def reduce(self, bucket: Bucket) -> Reduction:
        """Reduce by the one whose turn it is."""
        if bucket.index() == 0:
            self._step += 1
        return self._now.reduce(bucket)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Of the step that began last."""
        return self._now.declared_bytes(shapes, world_size)

    def end_step(self) -> Exchange:
        """Of the one whose turn it is."""
        return self._now.end_step()

    def meet(self) -> Exchange:
        """Of the other reduction: after bf16 the ranks are alike."""
        return self._then.meet()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The other reduction's state, and the steps done."""
        return self._then.state_dict() | {_STEP: torch.tensor(self._step)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take both up."""
        self._step = int(state[_STEP])
        self._then.load_state_dict({name: value for name, value in state.items() if name != _STEP})

    @property
    def _now(self) -> GradientReduction:
        return self._first if self._step <= self._steps else self._then
