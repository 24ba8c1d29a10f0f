"""What reductions of several collectives have in common: a lane, and what they carry from step to step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import AlikeAfterEachStep, Bound, Bucket, Reduction
from seedance_ops.training.compression.codec import RowCodec, compile_now
from seedance_ops.training.compression.finite import all_finite
from seedance_ops.training.compression.lane import Lane, Work
from seedance_ops.training.compression.residuals import Residuals


class OnLane(AlikeAfterEachStep, ABC):
    """Opens the lane, settles residuals between steps, and drops those of a step that is not finite."""

    name: str
    fits_any_world_size = False

    def __init__(self, codec: RowCodec) -> None:
        """``codec``: what the messages are encoded with."""
        self._codec = codec
        self._residuals = Residuals()
        self._lane: Lane | None = None

    def bind(self, bound: Bound) -> None:
        """Learn the parameters, and open a lane; a collective call."""
        self._bound = bound
        self._residuals.loss_scale = bound.loss_scale
        compile_now(self._codec)
        self._lane = Lane(bound.device, self._among(bound))

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

    @abstractmethod
    def reduce(self, bucket: Bucket) -> Reduction:
        """See ``GradientReduction``."""

    @abstractmethod
    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """See ``GradientReduction``."""

    def owing(self) -> list[str]:
        """The parameters of which something is carried, the same ones on every rank."""
        prefix = "worker."
        kept = self._residuals.state_dict()
        return sorted(name.removeprefix(prefix) for name in kept if name.startswith(prefix))

    def share_of_owed(self, name: str, rank: int, ranks: int) -> torch.Tensor:
        """This rank's part of what is owed to the mean gradient of a parameter, float32, of its shape.

        Summed over ranks: the mean of what they left out of their messages, plus what owners left out of
        their answers.
        """
        kept = self._residuals.state_dict()
        share = kept[f"worker.{name}"] / ranks
        owned = kept.get(f"owner.{name}")
        if owned is not None:
            share[rank] += owned
        return self.whole(name, share)

    def carry(self, name: str, owed: torch.Tensor, ranks: int) -> None:
        """Carry what is owed of a parameter, and nothing else; every rank does so alike.

        The mean over ranks of what all carry is then what is owed, and owners owe nothing.
        """
        self._residuals.replace(f"worker.{name}", self.laid_out(owed, ranks))
        self._residuals.drop(f"owner.{name}")

    def whole(self, name: str, carried: torch.Tensor) -> torch.Tensor:
        """A worker's residual as a tensor of the parameter's shape."""
        return carried.view(self._bound.shapes[name])

    def laid_out(self, whole: torch.Tensor, ranks: int) -> torch.Tensor:
        """``whole`` undone, for a number of ranks; a new tensor."""
        del ranks  # a matrix, whatever their number
        return whole.reshape(whole.shape[0], -1).clone()

    def _among(self, bound: Bound) -> Sequence[int] | None:
        """The ranks that exchange messages on the lane; none for all."""
        return None if bound.group is None else dist.get_process_group_ranks(bound.group)

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
