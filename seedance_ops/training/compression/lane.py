"""A thread and a process group of one's own, on which a bucket's reduction may take several collectives.

DDP allows a hook one collective per bucket: a second one that is issued when the first has ended meets the
first of the next bucket in another order on another rank, and both wait for ever. On a lane the buckets are
reduced one after the other, in the order in which DDP hands them over, which is the same on every rank.
The backward pass goes on meanwhile.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Reduction

DRAIN_S = 0.05
"""Before a gloo group is destroyed. One of its threads frees the tensors of the last collective after it has
said that this is done, and needs the GIL for that. The group's destructor joins that thread while it holds
the GIL (torch 2.13): without a pause processes hang."""
_PATIENCE_S = 5.0

Work = Callable[[dist.ProcessGroup], tuple[torch.Tensor, int]]
"""Reduces one bucket over the lane's group, on the lane's thread; returns it, and the bytes sent."""


@dataclass(frozen=True)
class _Job:
    work: Work
    reduction: Reduction
    ready: torch.cuda.Event | None


class Lane:
    """Runs reductions in order, beside the backward pass. Every rank opens it at the same point."""

    def __init__(self, device: torch.device, among: Sequence[int] | None = None) -> None:
        """Make the group: a collective call of its members.

        Args:
            device: Where the gradients are.
            among: The ranks that average; none for all.
        """
        group = dist.new_group(
            None if among is None else list(among), use_local_synchronization=among is not None
        )
        assert isinstance(group, dist.ProcessGroup), "this rank is a member"
        self._group = group
        self._of_all = among is None
        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="gradient-lane", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> Reduction:
        """Queue a reduction; its future yields the bucket, or raises what the work raised.

        Pass the future on through ``.then``: DDP does not look at the exception of a bare one.
        """
        reduction = Reduction(torch.futures.Future(devices=None if self._stream is None else [self._device]))
        ready = None
        if self._stream is not None:
            ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            ready.record(torch.cuda.current_stream(self._device))
        self._jobs.put(_Job(work, reduction, ready))
        return reduction

    def close(self) -> None:
        """End the thread once what is queued has been reduced, and the group; every rank calls it.

        After a failure its collective may never end: the thread is then left behind, with the process.
        """
        self._jobs.put(None)
        self._thread.join(_PATIENCE_S)
        # torch names a group of some ranks by how many there are now: with one freed it takes a name twice.
        if self._of_all and not self._thread.is_alive():
            time.sleep(DRAIN_S)
            dist.destroy_process_group(self._group)

    def _run(self) -> None:
        if self._stream is not None:
            torch.cuda.set_device(self._device)  # of this thread
        failed: Exception | None = None
        while (job := self._jobs.get()) is not None:
            if failed is None:
                failed = self._finish(job)
            else:
                # The other ranks are still in the collective that failed here: no other may follow it.
                job.reduction.future.set_exception(failed)  # type: ignore[arg-type]

    def _finish(self, job: _Job) -> Exception | None:
        """Run a job to its future; returns what it raised."""
        with torch.cuda.stream(self._stream):
            try:
                reduced, job.reduction.bytes_sent = self._reduce(job)
            # Whatever it is, it belongs to the rank's main thread, which waits for this future.
            except BaseException as error:  # noqa: BLE001
                failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
                job.reduction.future.set_exception(failure)  # type: ignore[arg-type]
                return failure
            # On the lane's stream still: the future notes how far it has come.
            job.reduction.future.set_result(reduced)
            return None

    def _reduce(self, job: _Job) -> tuple[torch.Tensor, int]:
        if self._stream is not None and job.ready is not None:
            self._stream.wait_event(job.ready)
        return job.work(self._group)
