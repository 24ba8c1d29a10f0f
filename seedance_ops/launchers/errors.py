"""What can go wrong with launching."""

from __future__ import annotations


class LaunchError(RuntimeError):
    """A job could not be launched, found or stopped; the message says why and what to do."""


class CodeArchiveError(LaunchError):
    """The workload's code could not be packed, fetched or trusted."""
