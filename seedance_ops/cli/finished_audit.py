"""Finds a finished audit in the object store, and its report: as it was left, or recomputed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seedance_ops.jobs.audit_manifest import FIGURES, MANIFEST, AuditManifest
from seedance_ops.jobs.manifest import RESERVED
from seedance_ops.jobs.names import NAME_PATTERN
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.storage.config import StorageLocation

if TYPE_CHECKING:
    from seedance_ops.reporting.audit_report import AuditReport


@dataclass(frozen=True)
class FinishedAudit:
    """A planned audit and where its objects are."""

    store: RunStore
    manifest: AuditManifest


def find_audit(base: StorageLocation, name: str) -> FinishedAudit | None:
    """The audit that ``JOB/RUN_ID`` names, or the newest of ``JOB``; ``None`` where it is no audit's run."""
    from seedance_ops.storage.errors import ObjectMissing

    job, _, run_id = name.partition("/")
    if not re.fullmatch(NAME_PATTERN, job):
        return None
    if not run_id:
        return max(_audits(base, job), key=lambda found: _time_of(found.manifest.run_id), default=None)
    store = RunStore(base, job, run_id)
    try:
        return _audit(store, store.text(MANIFEST))
    except ObjectMissing:
        return None


def audit_report_of(found: FinishedAudit, *, rebuild: bool) -> AuditReport:
    """The report that the audit left; recomputed from its figures where asked, or where it left none.

    Raises ``ObjectMissing`` where it stored no figures.
    """
    from pydantic import ValidationError

    from seedance_ops.reporting.audit_report import AuditReport
    from seedance_ops.storage.errors import ObjectMissing

    if not rebuild:
        try:
            return found.store.read("report.json", AuditReport)
        except (ObjectMissing, ValidationError):
            pass
    return _recomputed(found)


def _recomputed(found: FinishedAudit) -> AuditReport:
    from seedance_ops.audit.recompute import audit
    from seedance_ops.jobs.published_file import load_published_text
    from seedance_ops.quality.audit_gate import judge_audit
    from seedance_ops.reporting.audit_report import build_audit_report

    published = load_published_text(found.store.text(FIGURES), Path(FIGURES))
    findings = audit(published)
    verdict = judge_audit(findings, found.manifest.job.accept)
    return build_audit_report(found.manifest, published, findings, verdict)


def _audits(base: StorageLocation, job: str) -> Iterator[FinishedAudit]:
    from seedance_ops.storage.client import ObjectStore

    objects = ObjectStore(base.child(job))
    for key in objects.list():
        if key.count("/") == 2 and key.endswith(f"/{RESERVED}/{MANIFEST}"):
            text = objects.get(key).decode()
            if (found := _audit(RunStore(base, job, _run_id(text)), text)) is not None:
                yield found


def _audit(store: RunStore, text: str) -> FinishedAudit | None:
    if json.loads(text)["job"].get("kind") != "Audit":
        return None
    return FinishedAudit(store, AuditManifest.model_validate_json(text))


def _run_id(manifest: str) -> str:
    return str(json.loads(manifest)["run_id"])


def _time_of(run_id: str) -> str:
    """Airflow's ids end in the time of the run: an audit's manifest records none."""
    return run_id.rpartition("__")[2]
