"""The job in which an accepted variant has become the baseline, as the YAML of a new job file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.gates import Gate
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.reporting.report_model import Report

BASELINE, PREVIOUS = "baseline", "previous-baseline"
_FIRST = ("apiVersion", "kind", "metadata", "schedule", "workload")


class NotPromotable(ValueError):  # noqa: N818 - names what is wrong
    """Nothing was accepted, or not that variant; or the job cannot hold the new names."""


@dataclass(frozen=True)
class Promotion:
    """A job file, and what somebody must know of it."""

    winner: str
    yaml: str
    notes: tuple[str, ...]
    """What is in the file's header besides where it comes from."""


def winner_of(report: Report, variant: str | None = None) -> str:
    """The variant to promote: the one named, else what was accepted, the cheapest first.

    Raises ``NotPromotable`` where it was not accepted.
    """
    accepted = [verdict.variant for verdict in report.verdicts if verdict.is_accepted]
    if not accepted:
        raise NotPromotable(f"nothing was accepted in run {report.run_id}: {report.headline}")
    if variant is not None:
        if variant not in accepted:
            raise NotPromotable(f"{variant} was not accepted; accepted: {', '.join(accepted)}")
        return variant
    ranked = [answer.variant for answer in report.answers if answer.variant in accepted]
    return (ranked or accepted)[0]


def promote(job: TrainingJob, report: Report, winner: str, *, keep_previous: bool = True) -> Promotion:
    """The job's YAML with ``winner`` as its baseline.

    What the winner was goes under the name ``baseline``; what was the baseline becomes
    ``previous-baseline``, so that the next run shows on fresh measurements whether the saving holds, unless
    ``keep_previous`` is false. Gates, params and their variants follow the names; a gate on nothing but the
    winner goes. The values are those of the run, with what it had changed.

    Raises ``NotPromotable`` where the result would not be a valid job.
    """
    if PREVIOUS in job.variants and PREVIOUS not in {winner, job.baseline} and keep_previous:
        raise NotPromotable(
            f"the job has a variant {PREVIOUS} already: remove it, or do not keep the old one"
        )
    renamed = {winner: BASELINE, job.baseline: PREVIOUS if keep_previous else None}
    names = {name: renamed.get(name, name) for name in (winner, *job.variants)}
    gates = tuple(gate for old in job.gates if (gate := _gate(old, job, winner, names)) is not None)
    new = job.model_copy(
        update={
            "variants": {new: job.variants[name] for name, new in names.items() if new is not None},
            "gates": gates,
            "params": tuple(path for old in job.params if (path := _param(old, renamed)) is not None),
        }
    )
    notes = tuple(_notes(job, report, len(gates), keep_previous=keep_previous))
    body = yaml.safe_dump(_plain(new), sort_keys=False, allow_unicode=True)
    text = f"{_header(job, report, winner, notes)}{body}"
    try:
        loaded = load_job_text(text, Path("promoted.yaml"), project=None)
    except JobErrors as error:
        raise NotPromotable(f"the job would not be valid: {error.render()}") from None
    if loaded.job != new:
        raise NotPromotable("the job's YAML does not read back as what it was written from")
    return Promotion(winner=winner, yaml=text, notes=notes)


def _plain(job: TrainingJob) -> dict[str, Any]:
    """The job as somebody would have written it: no defaults, but treatments in full."""
    plain = job.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for name, variant in job.variants.items():
        if variant.gradient_compression is not None:
            full = variant.gradient_compression.model_dump(mode="json", exclude_none=True)
            plain["variants"][name]["gradient_compression"] = full
    return {key: plain[key] for key in (*_FIRST, *plain) if key in plain}


def _gate(gate: Gate, job: TrainingJob, winner: str, names: dict[str, str | None]) -> Gate | None:
    """The gate under the new names; none where it judged the winner alone, or what is no longer there."""
    compared_to = BASELINE if gate.compared_to in {winner, job.baseline} else gate.compared_to
    renamed = gate.model_copy(update={"compared_to": compared_to})
    if gate.variants is None:
        return renamed
    judged = tuple(new for name in gate.variants if (new := names[name]) is not None and new != compared_to)
    return renamed.model_copy(update={"variants": judged}) if judged else None


def _param(path: str, renamed: dict[str, str | None]) -> str | None:
    head, _, rest = path.partition(".")
    name, _, tail = rest.partition(".")
    if head != "variants" or name not in renamed:
        return path
    new = renamed[name]
    return None if new is None else f"variants.{new}.{tail}"


def _notes(job: TrainingJob, report: Report, gates: int, *, keep_previous: bool) -> list[str]:
    notes = []
    if report.overrides:
        changes = ", ".join(
            f"{path} = {value}"
            + (f" (its file says {report.replaced[path]})" if path in report.replaced else "")
            for path, value in report.overrides.items()
        )
        notes.append(f"The run had changed: {changes}. The values here are the run's.")
    if gates < len(job.gates):
        notes.append(f"{len(job.gates) - gates} gate(s) that judged nothing else are gone.")
    if keep_previous:
        notes.append(
            f"{PREVIOUS} is what the baseline was: the next run shows whether the saving holds. The gates "
            "reject it where they demand a saving; remove it once that is settled."
        )
        if job.accept == "all":
            notes.append(f"accept: all needs {PREVIOUS} to pass as well: remove it, or write accept: any.")
    return notes


def _header(job: TrainingJob, report: Report, winner: str, notes: tuple[str, ...]) -> str:
    lines = [
        f"Job {job.metadata.name} with {winner} as its baseline, accepted in run {report.run_id}.",
        "Made from the run's manifest, which keeps no comments and has defaults.yaml merged in.",
        *notes,
    ]
    # A line break in a value would end the comment and begin YAML.
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)
