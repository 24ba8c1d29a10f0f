"""A laboratory for as long as a ``with`` block lasts, and runs of one process per rank in it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from seedance_ops.netlab import namespaces, plan
from seedance_ops.netlab.counters import Sent, sent_by_rank
from seedance_ops.netlab.ending import interrupted_by_signals, signals_ignored
from seedance_ops.netlab.environment import FIRST_PORT, SHARED_MACHINE, rank_environment
from seedance_ops.netlab.names import LabName
from seedance_ops.netlab.possible import require_lab
from seedance_ops.netlab.ranks import OnLine, RankOutcome, RankProcesses
from seedance_ops.netlab.shape import LabShape


@dataclass(frozen=True)
class LabRun:
    """One process per rank, from the first start to the last end."""

    ranks: tuple[RankOutcome, ...]
    failed_first: int | None
    """The rank whose failure ended the others."""
    wall_s: float
    sent: tuple[Sent, ...]
    """By rank, on its interface."""

    @property
    def exit_code(self) -> int:
        """0, or that of the rank that failed first."""
        return 0 if self.failed_first is None else self.ranks[self.failed_first].exit_code


class NetworkLab:
    """Ranks in network namespaces, each link shaped to ``mbit`` in the direction away from the rank.

        with NetworkLab(ranks=2, mbit=200) as lab:
            run = lab.torchrun(["train.py", "--steps", "100"])

    Needs root. Entering it sweeps up what laboratories of dead processes left. While it stands, SIGTERM and
    SIGHUP raise ``KeyboardInterrupt`` unless the program handles them.
    """

    def __init__(self, *, ranks: int = 2, mbit: float | None = None, burst_kb: int | None = None) -> None:
        """See ``LabShape`` for the bounds; raises pydantic's ``ValidationError``."""
        self.shape = LabShape(ranks=ranks, mbit=mbit, burst_kb=burst_kb)
        self.name = LabName.new()
        self._runs = 0
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Build it; raises ``LabNotPossible`` and ``LabError``, and then nothing is left."""
        require_lab()
        with ExitStack() as building:
            building.enter_context(interrupted_by_signals())
            building.callback(self._remove)
            namespaces.sweep()
            namespaces.build(self.name, self.shape)
            self._open = building.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it, whatever runs in it."""
        self._open.close()

    def sent(self) -> tuple[Sent, ...]:
        """By rank, what its interface has sent since the laboratory was built."""
        return sent_by_rank(namespaces.execute(plan.read_counters(self.name)), self.shape.ranks)

    def bytes_sent(self) -> tuple[int, ...]:
        """By rank, the bytes of ``sent``, headers included."""
        return tuple(sent.bytes for sent in self.sent())

    def torchrun(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        on_line: OnLine | None = None,
        timeout_s: float | None = None,
    ) -> LabRun:
        """Run a Python script with its arguments on every rank, as ``torchrun`` would."""
        return self.run(
            lambda _: [sys.executable, *arguments],
            lambda _: environment or {},
            on_line=on_line,
            timeout_s=timeout_s,
        )

    def run(
        self,
        argv_of_rank: Callable[[int], Sequence[str]],
        env_of_rank: Callable[[int], Mapping[str, str]] = lambda _: {},
        *,
        on_line: OnLine | None = None,
        timeout_s: float | None = None,
    ) -> LabRun:
        """Run a command per rank to its end, with torchrun's variables; one that fails ends the others.

        ``env_of_rank`` is added to this process's environment. ``on_line`` gets every line as it is printed,
        and the outcomes hold none then. Raises ``RanksTimedOut`` after ``timeout_s``. No process of the
        ranks outlives the call.
        """
        port, self._runs = FIRST_PORT + self._runs, self._runs + 1
        before, began_s = self.sent(), time.monotonic()
        try:
            with RankProcesses(on_line) as processes:
                for rank in range(self.shape.ranks):
                    variables = rank_environment(rank, self.shape.ranks, port=port)
                    environment = {**SHARED_MACHINE, **os.environ, **variables, **env_of_rank(rank)}
                    processes.start(plan.enter(self.name, rank, argv_of_rank(rank)), environment)
                failed_first = processes.wait(timeout_s)
                wall_s = time.monotonic() - began_s
                outcomes = processes.outcomes()
        finally:
            namespaces.end_processes(namespaces.namespaces_of(self.name))
        sent = tuple(now.since(then) for now, then in zip(self.sent(), before, strict=True))
        return LabRun(ranks=outcomes, failed_first=failed_first, wall_s=wall_s, sent=sent)

    def _remove(self) -> None:
        with signals_ignored():
            namespaces.remove(self.name)
