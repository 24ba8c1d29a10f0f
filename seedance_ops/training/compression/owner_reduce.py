"""Compressed averaging over owners, with error feedback on both sides, in units of the optimiser's √v."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Bucket, Reduction
from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.on_lane import OnLane
from seedance_ops.training.compression.owner_mean import Codecs, Part, owner_mean, owner_mean_bytes
from seedance_ops.training.compression.owner_rows import columns_of, from_rows, to_rows
from seedance_ops.training.compression.preconditioning import sizes_by_optimizer
from seedance_ops.training.compression.small_tensors import SmallTensors, is_compressed, small_row_bytes


class OwnerReduce(OnLane):
    """Averages by ``owner_mean`` with one codec.

    The errors of a rank's message and of an owner's answer are carried to the next step ("worker" and
    "owner" residuals, by parameter name), so that nothing of a gradient is lost, only late.
    """

    def __init__(
        self, name: str, codec: RowCodec, *, error_feedback: bool = True, precondition: bool = False
    ) -> None:
        super().__init__(codec)
        self.name = name
        self._codecs: Codecs | None = None
        self._error_feedback = error_feedback
        self._precondition = precondition

    def reduce(self, bucket: Bucket) -> Reduction:
        """Queue the bucket's two collectives."""
        buffer = bucket.buffer()
        pairs = list(zip(bucket.parameters(), bucket.gradients(), strict=True))
        large = [pair for pair in pairs if is_compressed(pair[1].shape)]
        small = SmallTensors([gradient for _, gradient in pairs if not is_compressed(gradient.shape)])

        def work(group: dist.ProcessGroup) -> tuple[torch.Tensor, int]:
            corrected = [self._corrected(*pair, group) for pair in large]
            parts = [part for part, _ in corrected] + small.parts(group.size())
            means, sent = owner_mean(parts, group)
            for (parameter, gradient), (part, sizes), mean in zip(
                large, corrected, means[: len(corrected)], strict=True
            ):
                self._finish(self._bound.names[id(parameter)], part, sizes, mean, group.rank())
                from_rows(mean, gradient)
            small.take(means[len(corrected) :])
            return buffer, sent

        return self._submit(bucket, work)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Two encoded rows a matrix, to or from each other rank, and two of all small tensors together."""
        columns = [
            columns_of(torch.Size(shape).numel(), world_size) for shape in shapes if is_compressed(shape)
        ]
        small = small_row_bytes([shape for shape in shapes if not is_compressed(shape)], world_size)
        answer = self._codec if self._codecs is None else self._codecs.answer
        row, answered = (
            small + sum(codec.row_bytes(one) for one in columns) for codec in (self._codec, answer)
        )
        return owner_mean_bytes(row, world_size, answered)

    def whole(self, name: str, carried: torch.Tensor) -> torch.Tensor:
        """See ``OnLane``; a residual is in owners' rows."""
        whole = torch.empty(self._bound.shapes[name], dtype=torch.float32, device=carried.device)
        from_rows(carried, whole)
        return whole

    def laid_out(self, whole: torch.Tensor, ranks: int) -> torch.Tensor:
        """See ``OnLane``."""
        return to_rows(whole, ranks)

    def _corrected(
        self, parameter: torch.Tensor, gradient: torch.Tensor, group: dist.ProcessGroup
    ) -> tuple[Part, torch.Tensor | None]:
        """Gradient and residual of one parameter in rows, and the sizes that they are in units of."""
        name = self._bound.names[id(parameter)]
        rows = to_rows(gradient, group.size())
        owned = torch.zeros(rows.shape[1], dtype=torch.float32, device=rows.device)
        if self._error_feedback:
            self._residuals.add_to(rows, f"worker.{name}")
            self._residuals.add_to(owned, f"owner.{name}")
        sizes = self._sizes(parameter, group.size())
        if sizes is not None:
            rows.div_(sizes)
            owned.div_(sizes[group.rank()])
        return Part(rows, self._codec, owned, self._codecs), sizes

    def _sizes(self, parameter: torch.Tensor, ranks: int) -> torch.Tensor | None:
        if not self._precondition:
            return None
        sizes = sizes_by_optimizer(self._bound.optimizer, parameter)
        return None if sizes is None else to_rows(sizes, ranks, fill=1.0)

    def _finish(
        self, name: str, part: Part, sizes: torch.Tensor | None, mean: torch.Tensor, rank: int
    ) -> None:
        """Bring the mean back to the gradient's own units; keep the errors."""
        if sizes is not None:
            mean.mul_(sizes)
            part.rows.mul_(sizes)
            part.owned.mul_(sizes[rank])
        if self._error_feedback:
            self._residuals.keep(part.rows, f"worker.{name}")
            self._residuals.keep(part.owned, f"owner.{name}")
