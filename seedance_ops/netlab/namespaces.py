"""Laboratories on this machine: build one, remove one, and sweep up after owners that died."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from seedance_ops.netlab import plan
from seedance_ops.netlab.errors import LabError
from seedance_ops.netlab.names import LabName
from seedance_ops.netlab.shape import LabShape

_NAMESPACES = Path("/run/netns")
"""Where ``ip netns`` keeps them (ip-netns(8))."""
_END_WITHIN_S = 5.0


def build(name: LabName, shape: LabShape) -> None:
    """Build a laboratory; raises ``LabError``, and leaves what is there so far to ``remove``."""
    for command in plan.set_up(name, shape):
        execute(command)


def remove(name: LabName) -> None:
    """End every process of a laboratory and remove its namespaces; one that is gone already is no error."""
    namespaces = namespaces_of(name)
    end_processes(namespaces)
    for namespace in namespaces:
        try:
            execute(plan.remove(namespace))
        except LabError:
            if (_NAMESPACES / namespace).exists():  # else another process swept at the same time
                raise


def sweep() -> list[LabName]:
    """Remove the laboratories whose owners died without doing so; returns their names."""
    dead = [name for name in sorted(_labs(), key=str) if not name.owner_is_alive]
    for name in dead:
        remove(name)
    return dead


def namespaces_of(name: LabName) -> list[str]:
    """The namespaces of a laboratory that exist."""
    return [namespace for namespace in _listed() if LabName.in_namespace(namespace) == name]


def end_processes(namespaces: Iterable[str]) -> None:
    """Kill every process in these namespaces, and wait until none is left; raises ``LabError`` after 5 s."""
    wanted = list(namespaces)
    deadline_s = time.monotonic() + _END_WITHIN_S
    while found := _processes_in(wanted):
        if time.monotonic() > deadline_s:
            raise LabError(f"processes {found} in {', '.join(wanted)} do not end on SIGKILL")
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def execute(command: plan.Command) -> str:
    """Run one command and return its standard output; raises ``LabError`` with what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LabError(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise LabError(f"`{' '.join(command)}` failed: {done.stderr.strip() or f'exit {done.returncode}'}")
    return done.stdout


def _labs() -> set[LabName]:
    return {name for namespace in _listed() if (name := LabName.in_namespace(namespace))}


def _listed() -> list[str]:
    try:
        return sorted(os.listdir(_NAMESPACES))  # noqa: PTH208 - names are what is wanted
    except FileNotFoundError:
        return []


def _processes_in(namespaces: Iterable[str]) -> list[int]:
    """Pids by the namespace's identity: its device and inode (namespaces(7))."""
    wanted = set()
    for namespace in namespaces:
        with suppress(FileNotFoundError):
            wanted.add(_identity(_NAMESPACES / namespace))
    found = []
    for process in Path("/proc").glob("[0-9]*") if wanted else ():
        with suppress(OSError):  # ended meanwhile, or a zombie, which is in no namespace
            if _identity(process / "ns/net") in wanted:
                found.append(int(process.name))
    return found


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
