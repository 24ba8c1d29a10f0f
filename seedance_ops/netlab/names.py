"""Names of network namespaces, from which anybody can tell whose they are and whether the owner lives."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from seedance_ops.process_identity import ProcessIdentity

_NAME = re.compile(r"seedance-lab-(?P<pid>\d+)-(?P<ticks>\d+)-(?P<token>[0-9a-f]{8})-(?:hub|rank\d+)")


@dataclass(frozen=True)
class LabName:
    """One laboratory of one process.

    Namespaces outlive the process that made them, and pids come again: the start of the process, in clock
    ticks since boot, tells a later process of the same pid apart.
    """

    owner_pid: int
    owner_start_ticks: int
    token: str

    @classmethod
    def new(cls) -> LabName:
        """A name for another laboratory of this process."""
        owner = ProcessIdentity.current()
        return cls(owner.pid, owner.start_ticks, secrets.token_hex(4))

    @classmethod
    def in_namespace(cls, namespace: str) -> LabName | None:
        """The laboratory that a namespace belongs to; none where it is of somebody else's making."""
        found = _NAME.fullmatch(namespace)
        return found and cls(int(found["pid"]), int(found["ticks"]), found["token"])

    @property
    def hub(self) -> str:
        """The namespace with the bridge."""
        return f"{self}-hub"

    def of_rank(self, rank: int) -> str:
        """The namespace of a rank."""
        return f"{self}-rank{rank}"

    @property
    def owner_is_alive(self) -> bool:
        """Whether the process that made it runs."""
        here = ProcessIdentity.current()
        owner = {"pid": self.owner_pid, "start_ticks": self.owner_start_ticks}
        return here.model_copy(update=owner).is_alive

    def __str__(self) -> str:
        return f"seedance-lab-{self.owner_pid}-{self.owner_start_ticks}-{self.token}"
