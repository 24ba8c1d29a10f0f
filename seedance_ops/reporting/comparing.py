"""What differs between two jobs, or between two runs: settings, circumstances, cost, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import flatten
from seedance_ops.planning.estimate import Basis, Estimate
from seedance_ops.reporting.report_model import Report
from seedance_ops.strict_model import StrictModel

BASIS_WORDS: dict[Basis, str] = {
    "history": "earlier runs",
    "declared": "budget.expected_run_s",
    "bound": "its deadline",
}
"""What an estimate rests on, for people."""
_SAYS_WHICH_RUN = {"run_id", "job_hash"}
"""Of a stamp: different in any two runs, or in any two jobs that differ."""


class Changed(StrictModel):
    """One value that differs; null where there is none."""

    path: str
    a: JsonValue
    b: JsonValue


class CostChange(StrictModel):
    """USD per run of one variant, or of the whole study; null where it is not known."""

    what: str
    a_usd: float | None
    b_usd: float | None
    a_basis: Basis | None = None
    """What an estimate of A rests on; none of what was measured, and of the whole study."""
    b_basis: Basis | None = None

    @property
    def change(self) -> float | None:
        """Of B against A, relative."""
        return self.b_usd / self.a_usd - 1 if self.a_usd and self.b_usd is not None else None


class VerdictChange(StrictModel):
    """What became of one variant in each; null where it was not judged."""

    variant: str
    a: str | None
    b: str | None


class Comparison(StrictModel):
    """``seedance diff``."""

    a: str
    b: str
    cost_is: str
    """``estimated`` of two jobs, ``measured`` of two runs."""
    settings: tuple[Changed, ...]
    stamp: tuple[Changed, ...] = ()
    cost: tuple[CostChange, ...]
    verdicts: tuple[VerdictChange, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader must know of the estimates."""


def compare_jobs(
    names: tuple[str, str], jobs: tuple[TrainingJob, TrainingJob], estimates: tuple[Estimate, Estimate] | None
) -> Comparison:
    """Two jobs; ``estimates`` where both could be priced."""
    per_run: list[Mapping[str, float]] = [{}, {}]
    bases: list[dict[str, Basis]] = [{}, {}]
    study: list[float | None] = [None, None]
    if estimates is not None:
        per_run = [{v.variant: v.usd_per_run for v in found.variants} for found in estimates]
        bases = [{v.variant: v.basis for v in found.variants} for found in estimates]
        study = [found.usd for found in estimates]
    return Comparison(
        a=names[0],
        b=names[1],
        cost_is="estimated",
        settings=settings_changed(*jobs),
        cost=_costs(per_run, study, bases) if estimates is not None else (),
        notes=tuple(_notes(names, jobs, bases)),
    )


def compare_runs(
    names: tuple[str, str], manifests: tuple[RunManifest, RunManifest], reports: tuple[Report, Report]
) -> Comparison:
    """Two runs, of one job or of two."""
    one, other = manifests
    stamps = [{k: v for k, v in report.stamp.items() if k not in _SAYS_WHICH_RUN} for report in reports]
    outcomes = [{verdict.variant: verdict.outcome for verdict in report.verdicts} for report in reports]
    prices: list[dict[str, JsonValue]] = [
        {f"prices.{name}": price.model_dump(mode="json") for name, price in manifest.prices.items()}
        for manifest in manifests
    ]
    return Comparison(
        a=names[0],
        b=names[1],
        cost_is="measured",
        settings=(*settings_changed(one.job, other.job), *_changed(flatten(prices[0]), flatten(prices[1]))),
        stamp=_changed(*stamps),
        cost=_costs(
            [usd_per_run(report) for report in reports],
            [report.study.usd if report.study else None for report in reports],
        ),
        verdicts=tuple(
            VerdictChange(variant=name, a=outcomes[0].get(name), b=outcomes[1].get(name))
            for name in dict.fromkeys([*outcomes[0], *outcomes[1]])
        ),
    )


def settings_changed(a: TrainingJob, b: TrainingJob) -> tuple[Changed, ...]:
    """The settings that differ, defaults included, by dotted path; lists count as one value."""
    ours, theirs = (flatten(job.model_dump(mode="json", by_alias=True, exclude_none=True)) for job in (a, b))
    return _changed(ours, theirs)


def usd_per_run(report: Report) -> dict[str, float]:
    """Mean over the runs of each variant that gave numbers."""
    levels = report.statistics.levels if report.statistics else ()
    return {row.variant: row.mean for row in levels if row.metric == "usd_per_run" and row.mean is not None}


def _changed(ours: Mapping[str, JsonValue], theirs: Mapping[str, JsonValue]) -> tuple[Changed, ...]:
    return tuple(
        Changed(path=path, a=ours.get(path), b=theirs.get(path))
        for path in sorted(ours.keys() | theirs.keys())
        if ours.get(path) != theirs.get(path)
    )


def _costs(
    per_run: list[Mapping[str, float]],
    study: list[float | None],
    bases: Sequence[Mapping[str, Basis]] = ({}, {}),
) -> tuple[CostChange, ...]:
    variants = dict.fromkeys([*per_run[0], *per_run[1]])
    return (
        *(
            CostChange(
                what=name,
                a_usd=per_run[0].get(name),
                b_usd=per_run[1].get(name),
                a_basis=bases[0].get(name),
                b_basis=bases[1].get(name),
            )
            for name in variants
        ),
        CostChange(what="study", a_usd=study[0], b_usd=study[1]),
    )


def _notes(
    names: tuple[str, str], jobs: tuple[TrainingJob, TrainingJob], bases: Sequence[Mapping[str, Basis]]
) -> Iterator[str]:
    """Where there is no history for an estimate, and where A's and B's are not on one footing."""
    for name, job, of_job in zip(names, jobs, bases, strict=True):
        for basis in ("declared", "bound"):
            if variants := [variant for variant, found in of_job.items() if found == basis]:
                yield (
                    f"{name}: no earlier run of {job.metadata.name} with the work of {', '.join(variants)}; "
                    f"estimated by {BASIS_WORDS[basis]}"
                )
    apart = [name for name in bases[0] if name in bases[1] and bases[0][name] != bases[1][name]]
    if apart:
        yield f"A and B are estimated from different things, so their ratio says little: {', '.join(apart)}"
