"""Secrets are referred to, never written: ``env:NAME`` and ``file:PATH``, resolved where the job starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seedance_ops.launchers.errors import LaunchError


def resolve(references: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The secrets' values by variable name.

    Raises:
        LaunchError: A reference leads nowhere; the message names the reference, never a value.
    """
    return {variable: _value(variable, reference, environ) for variable, reference in references.items()}


def _value(variable: str, reference: str, environ: Mapping[str, str]) -> str:
    scheme, _, name = reference.partition(":")
    if scheme == "env":
        if name not in environ:
            raise LaunchError(f"secret {variable}: the environment of the launcher has no {name}")
        return environ[name]
    if scheme == "file":
        try:
            return Path(name).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise LaunchError(f"secret {variable}: {name} cannot be read ({error.strerror})") from error
    raise LaunchError(f"secret {variable}: {scheme}: is unknown; use env:NAME or file:PATH")
