"""Where ranks tell each other what they have stored, beside training and its collectives."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist
from torch._C._distributed_c10d import HashStore, Store, TCPStore

from seedance_ops.storage.errors import StorageError
from seedance_ops.training.parallel import ProcessGroup

_CONNECT = timedelta(seconds=60)
_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5


class Board:
    """Notes by key, on a store of rank 0's that nothing else uses; each thread has its own connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closed = threading.Event()

    @classmethod
    def open(cls, group: ProcessGroup) -> Board:
        """A collective call; the result belongs to one thread of each rank."""
        if group.world_size == 1:
            return cls(HashStore())
        host = os.environ.get("MASTER_ADDR", "localhost")
        server = None
        if group.rank == 0:
            server = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=_CONNECT)
        port = group.from_rank_zero(server.port if server else 0)
        return cls(server or TCPStore(host, port, is_master=False, timeout=_CONNECT))

    def post(self, key: str, text: str) -> None:
        """Put up a note; raises ``StorageError`` where rank 0 has gone."""
        try:
            self._store.set(key, text)
        except dist.DistError as error:
            raise StorageError(f"rank 0 does not answer any more: {error}") from error

    def read(self, keys: Sequence[str], patience_s: float) -> list[str]:
        """The notes of these keys, once all are there; raises ``StorageError`` where one does not come.

        It looks again and again, since a store that waits would hold what other ranks want to say.
        """
        deadline, pause_s = time.monotonic() + patience_s, _LOOK_S
        missing = list(keys)
        try:
            while missing := [key for key in missing if not self._store.check([key])]:
                if time.monotonic() > deadline or self._closed.wait(pause_s):
                    raise StorageError(f"nothing was heard of {', '.join(missing[:4])}")
                pause_s = min(2 * pause_s, _LONGEST_LOOK_S)
            return [self._store.get(key).decode() for key in keys]
        except dist.DistError as error:
            raise StorageError(f"rank 0 does not answer any more: {error}") from error

    def take_down(self, keys: Sequence[str]) -> None:
        """Forget notes that all have read."""
        for key in keys:
            self._store.delete_key(key)

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed.set()
