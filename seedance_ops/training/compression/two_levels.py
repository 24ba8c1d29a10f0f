"""Two levels of an average: dense between the ranks of a node, compressed between nodes.

Each rank of a node adds up one part of every parameter, its shard, averages that with the ranks that have the
same shard on the other nodes, and gives the mean to the ranks of its node. So what leaves a node is encoded
once for the node, not once for each of its ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import FP32_BYTES, Bound
from seedance_ops.training.compression.owner_rows import from_rows, to_rows
from seedance_ops.training.errors import CheckpointError, ConfigurationError

_KEY = "gradient_compression.two_levels"
_MOST_NAMED = 4


@dataclass(frozen=True)
class LevelBytes:
    """Bytes that one rank sends."""

    within: int
    """To the ranks of its own node."""
    between: int
    """To ranks of other nodes, where there are several ranks a node; else to all."""


@dataclass(frozen=True)
class NodePlace:
    """Which shard of every parameter is this rank's."""

    rank: int
    """Of this rank among those of its node, from 0."""
    ranks: int
    """Of every node, L."""

    def own(self, whole: torch.Tensor, fill: float = 0.0) -> torch.Tensor:
        """This rank's shard of a parameter, float32 ``[columns_of(size, L)]``."""
        return to_rows(whole, self.ranks, fill)[self.rank]

    def alone(self, shard: torch.Tensor, out: torch.Tensor) -> None:
        """Write a shard to its place in the parameter ``out``, and zeros everywhere else."""
        rows = torch.zeros(self.ranks, len(shard), dtype=torch.float32, device=shard.device)
        rows[self.rank] = shard
        from_rows(rows, out)


@dataclass(frozen=True)
class Node:
    """The ranks of this rank's node, and who it averages with on the other nodes."""

    place: NodePlace
    group: dist.ProcessGroup
    """The ranks of the node."""
    peers: Sequence[int]
    """The ranks that have the same shard, one on each of N nodes."""

    def shards(self, parameters: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], int]:
        """This rank's shard of the mean over the node of each tensor, float32, and the bytes sent.

        Must run where nothing else uses the group.
        """
        rows = [to_rows(parameter, self.place.ranks) for parameter in parameters]
        message = torch.cat(rows, dim=1)
        received = torch.empty_like(message)
        dist.all_to_all_single(received.view(-1), message.view(-1), group=self.group)
        mean = received.sum(dim=0).div_(self.place.ranks)
        return list(torch.split(mean, [row.shape[1] for row in rows])), self._to_others(mean)

    def gather(self, shards: Sequence[torch.Tensor], parameters: Sequence[torch.Tensor]) -> int:
        """Write the shards of all the node's ranks into the tensors; returns the bytes sent."""
        own = torch.cat(list(shards))
        gathered = torch.empty(self.place.ranks * len(own), dtype=own.dtype, device=own.device)
        dist.all_gather_single(gathered, own, group=self.group)
        sizes = [len(shard) for shard in shards]
        rows = torch.split(gathered.view(self.place.ranks, len(own)), sizes, dim=1)
        for row, parameter in zip(rows, parameters, strict=True):
            from_rows(row, parameter)
        return self._to_others(own)

    def _to_others(self, own: torch.Tensor) -> int:
        return (self.place.ranks - 1) * own.nbytes


def find_node(bound: Bound) -> Node | None:
    """Make the group of the ranks of a node; a collective call. None where every rank has its own node.

    Raises:
        ConfigurationError: On every rank, where ranks are not numbered node by node with as many on each, or
            there is one node only.
    """
    if bound.group is not None:
        raise ConfigurationError(
            f"{_KEY} of a model under fully_shard: its gradients are averaged within the node already, and "
            "compressed between nodes; leave the key out"
        )
    everywhere = [(0, 0)] * dist.get_world_size()
    dist.all_gather_object(everywhere, (bound.local_world_size, bound.local_rank))
    ranks = ranks_per_node(everywhere)
    if ranks == 1:
        return None
    node, local = divmod(dist.get_rank(), ranks)
    # Only members make these groups, and every rank first its node's: none waits for one that waits for it.
    group = dist.new_group(list(range(node * ranks, (node + 1) * ranks)), use_local_synchronization=True)
    assert isinstance(group, dist.ProcessGroup), "this rank is a member"
    return Node(NodePlace(local, ranks), group, range(local, len(everywhere), ranks))


def ranks_per_node(places: Sequence[tuple[int, int]]) -> int:
    """The number L of ranks that every node has.

    Args:
        places: ``LOCAL_WORLD_SIZE`` and ``LOCAL_RANK`` by rank.

    Raises:
        ConfigurationError: They are no N · L ranks with rank = node · L + local, or N is 1 and L is not.
    """
    sizes = {size: [rank for rank, (own, _) in enumerate(places) if own == size] for size, _ in places}
    if len(sizes) > 1:
        differing = ", ".join(f"{size} on {_named(ranks)}" for size, ranks in sizes.items())
        raise ConfigurationError(
            f"{_KEY} needs as many ranks on every node, and LOCAL_WORLD_SIZE is {differing}: start equally "
            "many processes everywhere"
        )
    (ranks,) = sizes
    if ranks == 1:
        return 1
    if ranks < 1 or len(places) % ranks:
        raise ConfigurationError(
            f"{_KEY}: LOCAL_WORLD_SIZE is {ranks} on all {len(places)} ranks, whose number is no multiple of "
            "it; start with torchrun"
        )
    if ranks == len(places):
        raise ConfigurationError(
            f"{_KEY}: all {len(places)} ranks are on one node (LOCAL_WORLD_SIZE is {ranks}), so there is "
            "nothing to compress between nodes: leave the key out, or start more nodes"
        )
    for rank, (_, local) in enumerate(places):
        if local != rank % ranks:
            raise ConfigurationError(
                f"{_KEY} needs ranks that are numbered node by node, and of rank {rank} LOCAL_RANK is "
                f"{local}, not {rank % ranks}: start with torchrun, or place ranks in blocks"
            )
    return ranks


def dense_level_bytes(columns: int, ranks: int) -> int:
    """Bytes that one rank sends within a node of L ranks: fp32 shards of ``columns`` there and back."""
    return 2 * (ranks - 1) * FP32_BYTES * columns


def refuse_other_nodes(state: Mapping[str, torch.Tensor], nodes: int) -> None:
    """Raise ``CheckpointError`` for residuals that were cut for another number of nodes."""
    for name, carried in state.items():
        if name.startswith("worker.") and carried.shape[0] != nodes:
            raise CheckpointError(
                f"the checkpoint carries gradients that were cut for {carried.shape[0]} nodes, and with "
                f"{_KEY} the same ranks are now on {nodes}: start as many on each node as before, or write "
                "checkpoints that any number can take up, with gradient_compression.flush_on_save: true"
            )


def _named(ranks: Sequence[int]) -> str:
    """Ranks for a message, not all of thousands."""
    named = ", ".join(map(str, ranks[:_MOST_NAMED]))
    more = f" and {len(ranks) - _MOST_NAMED} more" if len(ranks) > _MOST_NAMED else ""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {named}{more}"
