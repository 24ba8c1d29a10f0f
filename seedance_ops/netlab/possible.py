"""Whether this machine and this user can build a laboratory, and what to do where not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from seedance_ops.netlab.errors import LabNotPossible

_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "setpriv": "util-linux"}
"""Program → the package that has it, by its name on Debian, Fedora and Alpine alike."""
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Capability → its bit (capabilities(7)): the first for links, the second for namespaces."""


def require_lab(
    *,
    which: Callable[[str], str | None] = shutil.which,
    status: Path = Path("/proc/self/status"),
) -> None:
    """Return if a laboratory can be built; raises ``LabNotPossible`` with everything that is missing."""
    if not status.exists():
        raise LabNotPossible("the network laboratory needs Linux: it is made of network namespaces")
    missing = [program for program in _PROGRAMS if which(program) is None]
    lacking = _lacking(status.read_text(encoding="utf-8"))
    steps = []
    if missing:
        packages = " ".join(dict.fromkeys(_PROGRAMS[program] for program in missing))
        steps.append(f"{' and '.join(missing)} not found: install it, for example apt-get install {packages}")
    if lacking:
        steps.append(
            f"it needs root ({' and '.join(lacking)}): run it with sudo, or the container with --privileged"
        )
    if steps:
        raise LabNotPossible("no network laboratory here: " + "; ".join(steps))


def _lacking(status: str) -> list[str]:
    effective = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
