"""Ranks of a training program as processes forked from one that has imported torch already."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "training_programs"
_TIMEOUT_S = 120.0

# What a rank runs. exec is the target because a forked server cannot import a test module.
_RANK = """
import faulthandler, os, runpy, sys, torch
faulthandler.dump_traceback_later({timeout_s} - 10)  # says in the log where a rank hangs
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(log, 1), os.dup2(log, 2)
os.environ.clear()
os.environ.update({environment!r})
torch.set_num_threads(1)
sys.argv = [{script!r}]
sys.path.insert(0, os.path.dirname({script!r}))  # as python itself does for a script
runpy.run_path({script!r}, run_name="__main__")
"""

StartRanks = Callable[..., list[BaseProcess]]
RunRanks = Callable[..., list[int | None]]


@pytest.fixture(scope="session")
def start_ranks(tmp_path_factory: pytest.TempPathFactory) -> StartRanks:
    """Starts ``program`` on some ranks with extra environment variables; their output goes to ``log``.

    They are told that each ``per_node`` neighbours share a node; without it all do.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.warm_ranks"])

    def start(
        program: str,
        world_size: int,
        log: Path,
        environment: dict[str, str] | None = None,
        *,
        per_node: int | None = None,
    ) -> list[BaseProcess]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        processes: list[BaseProcess] = []
        per_node = per_node or world_size
        for rank in range(world_size):
            variables = {
                **{name: value for name, value in os.environ.items() if not name.startswith("SEEDANCE_")},
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": "1",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank % per_node),
                "WORLD_SIZE": str(world_size),
                "LOCAL_WORLD_SIZE": str(per_node),
                **(environment or {}),
            }
            code = _RANK.format(
                timeout_s=_TIMEOUT_S, log=str(log), environment=variables, script=str(PROGRAMS / program)
            )
            process = context.Process(target=exec, args=(code, {}))
            process.start()
            processes.append(process)
        return processes

    return start


@pytest.fixture(scope="session")
def run_ranks(start_ranks: StartRanks) -> RunRanks:
    """Like ``start_ranks``, and waits: the exit codes by rank (minus the signal for one that was killed)."""

    def run(
        program: str,
        world_size: int,
        log: Path,
        environment: dict[str, str] | None = None,
        *,
        per_node: int | None = None,
    ) -> list[int | None]:
        processes = start_ranks(program, world_size, log, environment, per_node=per_node)
        for process in processes:
            process.join(_TIMEOUT_S)
        for process in processes:
            process.kill()
        return [process.exitcode for process in processes]

    return run
