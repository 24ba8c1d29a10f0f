"""Refuses secrets written as values, and variables that only the launcher may set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.secrecy import secret_values
from seedance_ops.jobs.yaml_nodes import Node

_RESERVED = "SEEDANCE_"


def secret_findings(root: Node) -> Iterator[Finding]:
    """Every value below a node that is, by its name or form, a secret."""
    for path, _ in secret_values(root):
        yield Finding(
            path,
            "a secret written as a value",
            allowed="references only",
            suggestion="move it to workload.secrets, as `NAME: env:NAME` or `NAME: file:/run/secrets/name`",
        )


def reserved_variable_findings(names: Iterable[str], path: Path) -> Iterator[Finding]:
    """The variables of an ``env`` at ``path`` that would be overwritten, or mislead the session."""
    for name in names:
        if name.startswith(_RESERVED):
            yield Finding(
                (*path, name),
                f"{_RESERVED}… variables are set by the launcher from the job",
                at_key=True,
            )
