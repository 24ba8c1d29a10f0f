"""Names and hashes by which a job and each of its launches are known everywhere."""

from __future__ import annotations

import hashlib
import json
import re

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.jobs.training_job import TrainingJob

_LONGEST_NAME = 63
_HASH_DIGITS = 12


def job_hash(job: TrainingJob, code_sha256: str | None) -> str:
    """SHA-256 over the job with all its defaults, its image among them, and its code; not the YAML's form."""
    content = {
        "job": job.model_dump(mode="json", by_alias=True),
        "code_sha256": code_sha256,
    }
    return _sha256(content)


def settings_hash(job: TrainingJob, variant: str, profile: LauncherProfile) -> str:
    """SHA-256 over one variant's settings and its launcher; not over its code, price or number of slots.

    Runs whose hashes agree have done the same work on the same kind of machine.
    """
    content = {
        "variant": job.resolve(variant).model_dump(mode="json", by_alias=True, exclude={"name"}),
        "launcher": profile.model_dump(mode="json", exclude={"price", "slots"}),
    }
    return _sha256(content)


def treatment_hash(manifest: RunManifest, variant: str) -> str:
    """SHA-256 over what decides what one variant trains: its settings, launcher and code.

    Two runs whose hashes agree have trained the same thing, whatever else their jobs say.
    """
    code = manifest.code.get(variant)
    content = {
        "settings": settings_hash(manifest.job, variant, manifest.profiles[variant]),
        "code_sha256": code.sha256 if code else None,
    }
    return _sha256(content)


def launch_name(*, dag: str, run_id: str, variant: str, seed: int, spec_hash: str, submission: int) -> str:
    """The launched job's name: an RFC 1035 label of at most 63 characters, readable in front, unique by hash.

    Depends on nothing that moves between tries (map index, try number), so that a retry finds its job.
    """
    identity = json.dumps([dag, run_id, variant, seed, spec_hash, submission])
    digest = hashlib.sha256(identity.encode("utf-8")).hexdigest()[:_HASH_DIGITS]
    tail = f"s{seed}-{submission}-{digest}"
    # RFC 1035 wants a letter first; Kubernetes Services, derived from job names, still insist on it.
    head = re.sub(r"[^a-z0-9]+", "-", f"{dag}-{variant}".lower()).strip("-")
    head = head if head[:1].isalpha() else f"j-{head}"
    return f"{head[: _LONGEST_NAME - 1 - len(tail)].strip('-')}-{tail}"


def _sha256(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
