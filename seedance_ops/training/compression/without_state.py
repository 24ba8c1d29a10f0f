"""What reductions that remember nothing have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import AlikeAfterEachStep, Bound


class WithoutState(AlikeAfterEachStep):
    """Nothing to keep or to let go of."""

    fits_any_world_size = True
    group: dist.ProcessGroup | None = None
    """The ranks that average; none for all."""

    def bind(self, bound: Bound) -> None:
        """Learn who averages; nothing is kept by parameter."""
        self.group = bound.group

    def close(self) -> None:
        """Nothing was acquired."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Stateless."""
        return {}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Stateless."""


def elements_of(shapes: Sequence[Sequence[int]]) -> int:
    """Elements of all parameters of these shapes."""
    return sum(torch.Size(shape).numel() for shape in shapes)
