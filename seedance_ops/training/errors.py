"""What stops a launched job, and the exit codes by which a launcher tells the causes apart."""

from __future__ import annotations

EXIT_BAD_INPUT = 78
"""``EX_CONFIG``: the plan or the environment is wrong; a retry cannot help."""
EXIT_STORAGE = 74
"""``EX_IOERR``: the object store failed for longer than the session waits; a retry resumes."""
EXIT_TERMINATED = 143
"""Stopped by SIGTERM, records flushed."""


class TrainingError(Exception):
    """Something in the launched job failed; the base of all others here."""


class ConfigurationError(TrainingError):
    """The plan, a switch or the environment cannot be acted on."""


class CheckpointError(TrainingError):
    """A checkpoint cannot be written or read."""


class Superseded(TrainingError):  # noqa: N818
    """A later submission of the same variant and seed has taken over: this one must not commit any more."""
