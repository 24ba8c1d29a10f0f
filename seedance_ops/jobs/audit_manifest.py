"""What one run of an audit consists of: the job and the published figures as they were."""

from __future__ import annotations

from typing import Literal

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.strict_model import StrictModel

MANIFEST = "manifest.json"
FIGURES = "published.yaml"


class AuditManifest(StrictModel):
    """``_run/manifest.json`` of an audit; the figures' text stands beside it."""

    schema_version: Literal[1] = 1
    job: AuditJob
    source: str
    """The job file's path, relative to its project."""
    run_id: str
    """Airflow's."""
    published_sha256: str
    """Of the figures' text."""
