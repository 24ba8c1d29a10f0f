"""The largest k of each parameter's gradient, and a residual that carries the rest to later steps.

Stich et al., "Sparsified SGD with Memory" (NeurIPS 2018). One packed all-gather per bucket: collectives
chained on another's completion hang DDP when there are several buckets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Bound, Bucket, Reduction, all_gather_bytes
from seedance_ops.training.compression.sparse import (
    ENTRY_BYTES,
    entries_for,
    mean_of,
    pack,
    select_largest,
)
from seedance_ops.training.compression.without_state import elements_of


class TopKErrorFeedback:
    """Top-k with error feedback.

    A step in which any rank's gradient is not finite leaves every residual as it was: the infinity goes
    through to the optimiser (a loss scaler skips the step), and later payloads are clean. The residuals of
    a step are therefore kept aside until its reductions are known, which costs one more copy of them.
    """

    name = "topk_error_feedback"

    def __init__(self, *, k_ratio: float, error_accumulation: bool = True) -> None:
        self._k_ratio = k_ratio
        self._error_accumulation = error_accumulation
        self._names: Mapping[int, str] = {}
        self._residuals: dict[str, torch.Tensor] = {}
        self._pending: dict[str, torch.Tensor] = {}
        self._step_is_finite = True

    def bind(self, bound: Bound) -> None:
        """Learn the names by which residuals are kept."""
        self._names = bound.names

    def close(self) -> None:
        """Nothing was acquired."""

    def reduce(self, bucket: Bucket) -> Reduction:
        """Send the largest elements of gradient + residual of each parameter in the bucket."""
        if bucket.index() == 0:
            self._settle()
        payload = self._payload(bucket)
        world_size = dist.get_world_size()
        gathered = torch.empty(world_size * payload.numel(), dtype=payload.dtype, device=payload.device)
        work = dist.all_gather_single(gathered, payload, async_op=True)
        buffer = bucket.buffer()

        def decode(_done: torch.futures.Future[object]) -> torch.Tensor:
            if not mean_of(gathered.chunk(world_size), buffer):
                self._step_is_finite = False
            return buffer

        future: torch.futures.Future[torch.Tensor] = work.get_future().then(decode)
        return Reduction(future, all_gather_bytes(payload.nbytes, world_size))

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """``(n-1) · 8`` bytes for each entry: grows with the world size, see the docs on when it pays."""
        entries = sum(entries_for(elements_of([shape]), self._k_ratio) for shape in shapes)
        return all_gather_bytes(entries * ENTRY_BYTES, world_size)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The residuals by parameter name."""
        self._settle()
        return dict(self._residuals)

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up residuals."""
        self._pending.clear()
        self._residuals = dict(state)

    def _payload(self, bucket: Bucket) -> torch.Tensor:
        indices, values, offset = [], [], 0
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            sent_at, sent = self._select(self._names[id(parameter)], gradient.reshape(-1))
            indices.append(sent_at + offset)
            values.append(sent)
            offset += gradient.numel()
        return pack(torch.cat(indices), torch.cat(values))

    def _select(self, name: str, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices and values to send of one parameter; what stays behind becomes its pending residual."""
        corrected = gradient.to(torch.float32, copy=True)
        residual = self._residuals.get(name)
        if residual is not None:
            corrected += residual.to(corrected.device)
        chosen = select_largest(corrected, entries_for(corrected.numel(), self._k_ratio))
        sent = corrected[chosen]
        if self._error_accumulation:
            corrected[chosen] = 0.0
            self._pending[name] = corrected
        return chosen, sent

    def _settle(self) -> None:
        """Take over the last step's residuals, unless it was not finite somewhere."""
        if self._step_is_finite:
            self._residuals.update(self._pending)
        self._pending.clear()
        self._step_is_finite = True
