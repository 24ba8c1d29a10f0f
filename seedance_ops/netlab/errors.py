"""What can go wrong in the laboratory."""

from __future__ import annotations


class LabError(Exception):
    """The laboratory could not be built, read or removed; the message says which command failed and why."""


class LabNotPossible(LabError):  # noqa: N818 - a condition of this machine, with what to do about it
    """This machine or this user cannot build a laboratory; the message says what to install or grant."""


class RanksTimedOut(LabError):  # noqa: N818 - reads as a condition, like TimeoutExpired
    """The ranks did not end in the time that they were given, and were ended."""
