"""The variants that a check can look into."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from seedance_ops.jobs.dotted import DottedPathError
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant


def resolvable(job: TrainingJob) -> Iterator[ResolvedVariant]:
    """All variants but those whose overrides do not fit, of which ``variant_findings`` tells."""
    for name in job.variants:
        try:
            yield job.resolve(name)
        except (ValidationError, DottedPathError):
            continue
