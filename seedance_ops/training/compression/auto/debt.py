"""What a reduction that was given up still carried, until it has been added to a gradient that counted."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from seedance_ops.training.compression.base import Bound, Bucket, GradientReduction, Reduction
from seedance_ops.training.compression.finite import all_finite
from seedance_ops.training.compression.flush import FLUSHED

PREFIX = "owed."


class Debt:
    """By parameter name, the same on every rank."""

    def __init__(self) -> None:
        """Nothing is owed."""
        self._owed: dict[str, torch.Tensor] = {}
        self._paid: set[str] = set()
        self._spoiled = False

    def __bool__(self) -> bool:
        return bool(self._owed)

    def take_over(self, flushed: Mapping[str, torch.Tensor]) -> None:
        """Owe what a reduction carries; ``flushed`` is its state after a flush."""
        self._owed |= {
            name.removeprefix(FLUSHED): owed for name, owed in flushed.items() if name.startswith(FLUSHED)
        }

    def pay(self, bucket: Bucket, bound: Bound, reduction: GradientReduction) -> Reduction:
        """Reduce with what is owed added to the gradients.

        It is owed until a step with it was finite: one that is not, the optimiser skips.
        """
        scale = 1.0 if bound.loss_scale is None else bound.loss_scale()
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            name = bound.names[id(parameter)]
            if name in self._owed and name not in self._paid:
                gradient.add_(self._owed[name].to(gradient), alpha=scale)
                self._paid.add(name)
        under_way = reduction.reduce(bucket)

        def looked_at(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            reduced = done.value()
            if not all_finite(reduced):
                self._spoiled = True
            return reduced

        under_way.future = under_way.future.then(looked_at)
        return under_way

    def end_step(self) -> None:
        """What was paid in this step is owed no more, unless the step is skipped."""
        if not self._spoiled:
            for name in self._paid:
                del self._owed[name]
        self._paid.clear()
        self._spoiled = False

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What is owed."""
        return {PREFIX + name: owed for name, owed in self._owed.items()}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Owe what a checkpoint says."""
        self._owed = {
            name.removeprefix(PREFIX): owed for name, owed in state.items() if name.startswith(PREFIX)
        }
