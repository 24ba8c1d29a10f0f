"""One process per rank: started together, listened to, and ended together when one of them fails."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Self

from seedance_ops.netlab.errors import LabError, RanksTimedOut

GRACE_S = 5.0
"""Between asking the other ranks to end (SIGTERM) and ending them (SIGKILL)."""
_DRAIN_S = 1.0
"""For reading what has been printed: a process that a rank left behind may print for ever."""
_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class OutputLine:
    """A line that a rank printed, without its end."""

    rank: int
    text: str
    is_error: bool
    """Whether it went to standard error."""


OnLine = Callable[[OutputLine], None]


@dataclass(frozen=True)
class RankOutcome:
    """How a rank ended."""

    rank: int
    exit_code: int
    """As a shell says it: 128 + the signal's number for a process that a signal ended."""
    stdout: str
    stderr: str


@dataclass(frozen=True)
class _Stream:
    rank: int
    file: IO[bytes]
    is_error: bool
    unfinished: bytearray = field(default_factory=bytearray)


class RankProcesses:
    """The processes of one run. A context: none of them outlives it.

    Everything happens in the thread that started them: the kernel kills a rank when *that thread* ends
    (PR_SET_PDEATHSIG, prctl(2)).
    """

    def __init__(self, on_line: OnLine | None = None) -> None:
        self._on_line = on_line
        self._processes: list[subprocess.Popen[bytes]] = []
        self._exit_codes: dict[int, int] = {}
        self._printed: dict[tuple[int, bool], list[str]] = {}
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            for process in self._processes:
                process.kill()  # nothing where it has ended already
                process.wait()
            for key in list(self._selector.get_map().values()):
                self._forget(key)
            self._selector.close()

    def start(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the next rank, in a session of its own: Ctrl-C is the laboratory's to pass on."""
        rank = len(self._processes)
        try:
            process = subprocess.Popen(
                argv,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._processes.append(process)
            self._selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, rank)
        except OSError as error:
            raise LabError(f"rank {rank} cannot be started: {error}") from error
        for file, is_error in ((process.stdout, False), (process.stderr, True)):
            assert file is not None
            os.set_blocking(file.fileno(), False)
            self._printed[rank, is_error] = []
            self._selector.register(file, selectors.EVENT_READ, _Stream(rank, file, is_error))

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until all have ended; the first failure ends the others. Returns the rank that failed first.

        Raises ``RanksTimedOut``.
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while (failed := self._failed_first()) is None and (running := self._running()):
            self._listen(_left_s(deadline_s))
            if deadline_s is not None and time.monotonic() > deadline_s and self._running():
                raise RanksTimedOut(f"ranks {running} still ran after {timeout_s:g} s, and were ended")
        self._end()
        return failed

    def outcomes(self) -> tuple[RankOutcome, ...]:
        """How each has ended, after ``wait``."""
        self._end_lines()
        return tuple(
            RankOutcome(
                rank=rank,
                exit_code=self._exit_codes[rank],
                stdout="".join(self._printed[rank, False]),
                stderr="".join(self._printed[rank, True]),
            )
            for rank in range(len(self._processes))
        )

    def _failed_first(self) -> int | None:
        return next((rank for rank, code in self._exit_codes.items() if code != 0), None)

    def _end(self) -> None:
        """Ask those that run to end, end them after the grace, and take what they printed last."""
        for rank in self._running():
            self._processes[rank].terminate()
        kill_at_s: float | None = time.monotonic() + GRACE_S
        while running := self._running():
            self._listen(_left_s(kill_at_s))
            if kill_at_s is not None and time.monotonic() > kill_at_s:
                for rank in running:
                    self._processes[rank].kill()
                kill_at_s = None
        drained_at_s = time.monotonic() + _DRAIN_S
        while self._listen(0) and time.monotonic() < drained_at_s:
            pass

    def _listen(self, timeout_s: float | None) -> bool:
        """Take what is ready, in the order in which it became so; whether there was something."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            if isinstance(key.data, _Stream):
                self._read(key, key.data)
            else:
                code = self._processes[key.data].wait()
                self._exit_codes[key.data] = code if code >= 0 else 128 - code
                self._forget(key)
        return bool(ready)

    def _read(self, key: selectors.SelectorKey, stream: _Stream) -> None:
        chunk = os.read(key.fd, _CHUNK_BYTES)
        if not chunk:
            self._forget(key)
            return
        stream.unfinished.extend(chunk)
        *lines, rest = stream.unfinished.split(b"\n")
        stream.unfinished[:] = rest
        for line in lines:
            self._say(stream, line)

    def _end_lines(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Stream):
                self._forget(key)

    def _forget(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        if not isinstance(key.data, _Stream):
            os.close(key.fd)
            return
        key.data.file.close()
        if key.data.unfinished:
            self._say(key.data, key.data.unfinished)

    def _say(self, stream: _Stream, line: bytes | bytearray) -> None:
        text = line.decode("utf-8", errors="replace")
        if self._on_line is None:
            self._printed[stream.rank, stream.is_error].append(f"{text}\n")
        else:
            self._on_line(OutputLine(stream.rank, text, stream.is_error))

    def _running(self) -> list[int]:
        return [rank for rank in range(len(self._processes)) if rank not in self._exit_codes]


def _left_s(moment_s: float | None) -> float | None:
    return None if moment_s is None else max(0.0, moment_s - time.monotonic())
