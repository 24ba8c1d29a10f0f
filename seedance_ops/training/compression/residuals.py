"""What error feedback has to carry to the next step, settled only once the step is known to be finite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from seedance_ops.training.errors import CheckpointError

_KINDS = ("worker.", "owner.", "basis.")
"""What a rank left out of its messages, what an owner left out of its answers, and PowerSGD's bases."""


class Residuals:
    """Tensors by name, in the space of unscaled gradients.

    A step in which any rank's gradient is not finite leaves every residual as it was: the infinity goes
    through to the optimiser (a loss scaler skips the step), and later payloads are clean. What a step
    leaves is therefore kept aside until the step is over, which costs one more copy.
    """

    def __init__(self, loss_scale: Callable[[], float] | None = None) -> None:
        """``loss_scale``: what gradients are multiplied by now; none where they are not scaled."""
        self.loss_scale = loss_scale
        self._kept: dict[str, torch.Tensor] = {}
        self._pending: dict[str, torch.Tensor] = {}
        self._finite = True
        self._scale = 1.0

    def begin_step(self) -> None:
        """Settle the step before, and note the scale of this one's gradients."""
        self.settle()
        self._scale = 1.0 if self.loss_scale is None else self.loss_scale()

    def get(self, name: str) -> torch.Tensor | None:
        """What was carried, in this step's scale; none in the first step."""
        kept = self._kept.get(name)
        return kept if kept is None or self._scale == 1.0 else kept * self._scale

    def add_to(self, values: torch.Tensor, name: str) -> None:
        """Add what was carried to ``values`` in place."""
        kept = self.get(name)
        if kept is not None:
            values.add_(kept.to(values.device))

    def keep(self, values: torch.Tensor, name: str) -> None:
        """Carry ``values``, of this step's scale, to the next step; the tensor becomes the residuals' own."""
        self._pending[name] = values if self._scale == 1.0 else values.div_(self._scale)

    def replace(self, name: str, values: torch.Tensor) -> None:
        """Carry ``values``, unscaled, in place of what was carried; between two steps."""
        self.settle()
        self._kept[name] = values

    def drop(self, name: str) -> None:
        """Carry nothing under this name; between two steps."""
        self.settle()
        self._kept.pop(name, None)

    def spoil(self) -> None:
        """The step under way is not finite somewhere: what it leaves is not to be kept."""
        self._finite = False

    def settle(self) -> None:
        """Take over what the finished step left, or drop it."""
        if self._finite:
            self._kept.update(self._pending)
        self._pending.clear()
        self._finite = True

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The residuals after the last finished step."""
        self.settle()
        return dict(self._kept)

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up residuals; raises ``CheckpointError`` for what no reduction of today has left."""
        if strange := [name for name in state if not name.startswith(_KINDS)]:
            raise CheckpointError(
                f"the checkpoint carries gradients of {strange[0]} and {len(strange) - 1} others in a "
                "form of an earlier version, which cannot be taken up: start the run again"
            )
        self._pending.clear()
        self._kept = dict(state)
