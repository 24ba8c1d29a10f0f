"""Compressed averaging over owners, with error feedback on both sides, in units of the optimiser's √v.

With two levels the same is done with a rank's shard of each parameter, among the ranks that have that shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Bound, Bucket, Reduction
from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.on_lane import OnLane
from seedance_ops.training.compression.owner_mean import Codecs, Part, owner_mean, owner_mean_bytes
from seedance_ops.training.compression.owner_rows import columns_of, from_rows, to_rows
from seedance_ops.training.compression.preconditioning import sizes_by_optimizer
from seedance_ops.training.compression.small_tensors import SmallTensors, is_compressed, small_row_bytes
from seedance_ops.training.compression.two_levels import (
    LevelBytes,
    Node,
    dense_level_bytes,
    find_node,
    refuse_other_nodes,
)
from seedance_ops.training.compression.without_state import elements_of


class OwnerReduce(OnLane):
    """Averages by ``owner_mean`` with one codec.

    The errors of a rank's message and of an owner's answer are carried to the next step ("worker" and
    "owner" residuals, by parameter name), so that nothing of a gradient is lost, only late.
    """

    def __init__(
        self,
        name: str,
        codec: RowCodec,
        *,
        error_feedback: bool = True,
        precondition: bool = False,
        two_levels: bool = False,
    ) -> None:
        super().__init__(codec)
        self.name = name
        self._codecs: Codecs | None = None
        self._error_feedback = error_feedback
        self._precondition = precondition
        self._two_levels = two_levels
        self._node: Node | None = None

    def bind(self, bound: Bound) -> None:
        """Find the ranks of this node, with two levels; open the lane."""
        self._node = find_node(bound) if self._two_levels else None
        super().bind(bound)

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up what is carried; raises ``CheckpointError`` where it was for other nodes."""
        if self._two_levels:
            refuse_other_nodes(state, dist.get_world_size() // self._ranks_per_node)
        super().load_state_dict(state)

    def reduce(self, bucket: Bucket) -> Reduction:
        """Queue the bucket's two collectives; with two levels its four."""
        buffer = bucket.buffer()
        pairs = list(zip(bucket.parameters(), bucket.gradients(), strict=True))
        large = [pair for pair in pairs if is_compressed(pair[1].shape)]
        small = SmallTensors([gradient for _, gradient in pairs if not is_compressed(gradient.shape)])

        def work(group: dist.ProcessGroup) -> tuple[torch.Tensor, int]:
            node = self._node
            if node is None:
                return buffer, self._average(large, small, group)
            fused = small.fused()
            parameters, tensors = [parameter for parameter, _ in large], [*(g for _, g in large), *fused]
            shards, scattered = node.shards(tensors)
            own = list(zip(parameters, shards[: len(large)], strict=True))
            sent = self._average(own, SmallTensors(shards[len(large) :]), group)
            gathered = node.gather(shards, tensors)
            small.take(fused)
            return buffer, scattered + sent + gathered

        return self._submit(bucket, work)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Of both levels, where there are two."""
        ranks = self._ranks_per_node
        sent = self.bytes_by_level(shapes, world_size // ranks, ranks)
        return sent.within + sent.between

    def bytes_by_level(
        self, shapes: Sequence[Sequence[int]], nodes: int, ranks_per_node: int = 1
    ) -> LevelBytes:
        """Bytes that one rank sends for parameters of these shapes.

        Among as many ranks as there are nodes: two encoded rows a matrix, to or from each other one, and two
        of all small tensors together. Within a node: the fp32 shards of all.
        """
        large = [torch.Size(shape).numel() for shape in shapes if is_compressed(shape)]
        small, within = elements_of([shape for shape in shapes if not is_compressed(shape)]), 0
        if ranks_per_node > 1:
            large, small = (
                [columns_of(one, ranks_per_node) for one in large],
                columns_of(small, ranks_per_node),
            )
            within = dense_level_bytes(sum(large) + small, ranks_per_node)
        columns = [columns_of(one, nodes) for one in large]
        answer = self._codec if self._codecs is None else self._codecs.answer
        row, answered = (
            small_row_bytes([[small]], nodes) + sum(codec.row_bytes(one) for one in columns)
            for codec in (self._codec, answer)
        )
        return LevelBytes(within, owner_mean_bytes(row, nodes, answered))

    def share_of_owed(self, name: str, rank: int, ranks: int) -> torch.Tensor:
        """See ``OnLane``; with two levels a rank's share is in its shard, of which each node has one."""
        each = self._ranks_per_node
        return super().share_of_owed(name, rank // each, ranks // each)

    def whole(self, name: str, carried: torch.Tensor) -> torch.Tensor:
        """See ``OnLane``; a residual is in owners' rows, with two levels those of this rank's shard."""
        whole = torch.empty(self._bound.shapes[name], dtype=torch.float32, device=carried.device)
        if self._node is None:
            from_rows(carried, whole)
        else:
            columns = columns_of(whole.numel(), self._ranks_per_node)
            shard = torch.empty(columns, dtype=torch.float32, device=carried.device)
            from_rows(carried, shard)
            self._node.place.alone(shard, whole)
        return whole

    def laid_out(self, whole: torch.Tensor, ranks: int) -> torch.Tensor:
        """See ``OnLane``."""
        return to_rows(self._own(whole), ranks // self._ranks_per_node)

    @property
    def _ranks_per_node(self) -> int:
        """1 with one level, for which every rank is a node."""
        return 1 if self._node is None else self._node.place.ranks

    def _own(self, whole: torch.Tensor, fill: float = 0.0) -> torch.Tensor:
        return whole if self._node is None else self._node.place.own(whole, fill)

    def _among(self, bound: Bound) -> Sequence[int] | None:
        return super()._among(bound) if self._node is None else self._node.peers

    def _average(
        self,
        large: Sequence[tuple[torch.Tensor, torch.Tensor]],
        small: SmallTensors,
        group: dist.ProcessGroup,
    ) -> int:
        """Write the means over the group into the gradients of parameters, or into their shards."""
        corrected = [self._corrected(*pair, group) for pair in large]
        parts = [part for part, _ in corrected] + small.parts(group.size())
        means, sent = owner_mean(parts, group)
        for (parameter, gradient), (part, sizes), mean in zip(
            large, corrected, means[: len(corrected)], strict=True
        ):
            self._finish(self._bound.names[id(parameter)], part, sizes, mean, group.rank())
            from_rows(mean, gradient)
        small.take(means[len(corrected) :])
        return sent

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
        return None if sizes is None else to_rows(self._own(sizes, fill=1.0), ranks, fill=1.0)

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
