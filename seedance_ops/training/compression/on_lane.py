"""What reductions of several collectives have in common: a lane, and what they carry from step to step."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import AlikeAfterEachStep, Bound, Bucket, Reduction
from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.finite import all_finite
from seedance_ops.training.compression.lane import Lane, Work
from seedance_ops.training.compression.owner_rows import TURN
from seedance_ops.training.compression.residuals import Residuals


class OnLane(AlikeAfterEachStep):
    """Opens the lane, settles residuals between steps, and drops those of a step that is not finite."""

    def __init__(self, codec: RowCodec) -> None:
        """``codec``: what the messages are encoded with."""
        self._codec = codec
        self._residuals = Residuals()
        self._lane: Lane | None = None

    def bind(self, bound: Bound) -> None:
        """Learn the parameters, and open a lane; a collective call."""
        self._bound = bound
        self._residuals.loss_scale = bound.loss_scale
        # Compiled now, or refused now: not in the first step's time.
        self._codec.decode(self._codec.encode(torch.zeros(1, TURN, dtype=torch.float32)), TURN)
        self._lane = Lane(bound.device, bound.group)

    def close(self) -> None:
        """Close the lane."""
        if self._lane is not None:
            self._lane.close()
            self._lane = None

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What is carried: kind (``worker``, ``owner``, ``basis``) and name of the parameter."""
        return self._residuals.state_dict()

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up what is carried."""
        self._residuals.load_state_dict(state)

    def _submit(self, bucket: Bucket, work: Work) -> Reduction:
        """Queue the work on a bucket; the first of a step settles the step before."""
        assert self._lane is not None, "bind() comes before the first step"
        if bucket.index() == 0:
            self._residuals.begin_step()

        def checked(group: dist.ProcessGroup) -> tuple[torch.Tensor, int]:
            reduced, sent = work(group)
            if not all_finite(reduced):
                self._residuals.spoil()
            return reduced, sent

        return self._lane.submit(checked)
