"""Whether an earlier baseline may stand for this run's: same treatment and circumstances, not too old."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seedance_ops.jobs.identity import treatment_hash
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.reuse import ReusedRuns, age_s
from seedance_ops.planning.history import HistoryRecord

_OF_THE_RUN = {"job", "job_hash", "run_id"}
_OF_THE_PROJECT = {"git_commit", "git_dirty", "cluster_id"}
"""The treatment's hash covers the code that ran, to its last byte; a commit elsewhere changes nothing."""


@dataclass(frozen=True)
class Reuse:
    """The decision: the runs that stand in, or why there are none."""

    runs: ReusedRuns | None
    reasons: tuple[str, ...]
    """One per earlier run that was looked at, newest first."""


def reusable_baseline(
    manifest: RunManifest, stamp: Mapping[str, str], history: Sequence[HistoryRecord], *, now_s: float
) -> Reuse:
    """The newest earlier run of the job whose baseline can stand for this run's.

    Args:
        manifest: What this run would train.
        stamp: Its circumstances.
        history: Earlier judged runs of the job, oldest first.
        now_s: The present, in seconds since 1970.
    """
    job = manifest.job
    if job.repeats.reuse_baseline is None:
        return Reuse(None, ())
    treatment = treatment_hash(manifest, job.baseline)
    reasons: list[str] = []
    for record in reversed(history):
        faults = list(_faults(manifest, record, treatment, stamp, now_s))
        if not faults:
            ended_at_s = record.ended[job.baseline]
            found = ReusedRuns(run_id=record.run_id, ended_at_s=ended_at_s, treatment=treatment)
            return Reuse(found, tuple(reasons))
        reasons.append(f"run {record.run_id}: {'; '.join(faults)}")
    return Reuse(None, tuple(reasons) or ("no earlier run of the job was judged",))


def _faults(
    manifest: RunManifest, record: HistoryRecord, treatment: str, stamp: Mapping[str, str], now_s: float
) -> Iterator[str]:
    repeats, baseline = manifest.job.repeats, manifest.job.baseline
    assert repeats.reuse_baseline is not None
    age = now_s - record.ended.get(baseline, record.ended_at_s)
    image = manifest.job.resolve(baseline).workload.image
    if image and "@sha256:" not in image:
        yield "the image is not pinned by digest, so nobody knows what it held"
    if baseline not in record.ended:
        yield "it does not say when its baseline ended"
    if record.run_id == manifest.run_id:
        yield "it is this very run"
    if age > age_s(repeats.reuse_baseline):
        yield f"older than {repeats.reuse_baseline}"
    if age < 0:
        yield "it ended in the future: a clock was set"
    if baseline in record.reused:
        yield "its baseline was itself reused"
    if record.treatments.get(baseline) != treatment:
        yield "its baseline was trained otherwise"
    if lacking := set(repeats.seed_values) - set(record.seeds.get(baseline, ())):
        yield f"its baseline lacks seeds {sorted(lacking)}"
    if changed := changed_circumstances(record.stamp, stamp):
        yield f"other {', '.join(changed)}"


def changed_circumstances(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of everything in which two stamps differ that can change a measurement."""
    names = {name for name in before.keys() | now.keys() if not name.startswith("label_")}
    return sorted(name for name in names - _OF_THE_RUN - _OF_THE_PROJECT if before.get(name) != now.get(name))
