"""Judges a finished run anew from its raw tables: other gates, other prices, no training."""

from __future__ import annotations

from seedance_ops.cost.catalogue import PriceCatalogue
from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.run_cost import price_runs, with_costs
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.jobs.screening import Screening
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import OVERRIDABLE
from seedance_ops.quality.approvals import answered, answers_in
from seedance_ops.quality.data.gather import DataEvidence, gather_data
from seedance_ops.quality.data.of_run import suite_of_run
from seedance_ops.quality.data.tables import DataTables
from seedance_ops.quality.judge import judge
from seedance_ops.quality.statistics import summarise
from seedance_ops.reporting.auto_choices import auto_choices
from seedance_ops.reporting.report import build_report
from seedance_ops.reporting.report_model import Report
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.reporting.screen import repriced


class DifferentRuns(ValueError):  # noqa: N818 - names what is wrong
    """The job given does not describe the trainings that were run."""


def judge_again(
    run: RunStore,
    manifest: RunManifest,
    *,
    job: TrainingJob | None = None,
    catalogue: PriceCatalogue | None = None,
) -> Report:
    """The report that the run would have, had its gates or prices been others.

    Its data are held to the suite by which the run was judged; of prices only what no accelerator can cost is
    found, because a run does not keep the hardware catalogue. What a person has answered holds where
    gates and findings are those that it was about.

    Args:
        run: Its objects; nothing is written to them.
        manifest: What was planned.
        job: Where gates, ``accept`` and economics come from; default: as planned.
        catalogue: Prices; default: those fixed when the run was planned.

    Raises:
        DifferentRuns: ``job`` trains something else than the run did.
        PriceMissing: The catalogue lacks a price.
        ObjectMissing: The run left no tables.
    """
    if job is not None:
        if manifest.job.phases and job.phases:  # what the screening stopped was not trained in full
            job = job.only(manifest.job.variants)
        _require_same_trainings(manifest.job, job)
        manifest = manifest.model_copy(update={"job": job})
    if catalogue is not None:
        prices = {
            variant: catalogue.price(profile.price, variant=variant)
            for variant, profile in manifest.profiles.items()
        }
        manifest = manifest.model_copy(update={"prices": prices})
    tables = RunTables.read(run)
    table = assemble(manifest, tables)
    costs = price_runs(table.frame, tables.launches, manifest.prices)
    runs = with_costs(table.frame, costs)
    statistics = summarise(manifest.job, runs)
    recorded = DataTables(
        runs=runs, launches=tables.launches, steps=tables.steps, evaluations=tables.evaluations
    )
    suite = suite_of_run(run)
    data = (
        gather_data(suite, manifest, recorded, statistics)
        if suite
        else DataEvidence.unusable("the run's data expectations could not be read when it was judged")
    )
    screening = _screening_of(run, manifest) if catalogue else run.screening()
    stopped = screening.stopped if screening else ()
    gates = judge(manifest.job, runs, statistics, table.missing, data=data, stopped=stopped)
    if job is None:  # to other gates nobody has consented
        gates = answered(gates, answers_in(run))
    ledger = ledger_of(
        table.frame,
        tables.launches,
        tables.checkpoint_writes,
        manifest.prices,
        other=manifest.job.prices,
        usage=tables.usage,
    )
    return build_report(
        manifest,
        run.stamp(),
        tables,
        table,
        costs,
        statistics,
        gates,
        ledger=ledger,
        screening=screening,
        auto=auto_choices(run, manifest),
    )


def _screening_of(run: RunStore, manifest: RunManifest) -> Screening | None:
    """By the manifest's prices: a study must not be billed by two lists."""
    screening = run.screening()
    return screening and repriced(screening, run.frame("screening_ledger"), manifest.prices)


def _require_same_trainings(planned: TrainingJob, given: TrainingJob) -> None:
    """Gates may differ; what was trained may not: its results would be called another's."""
    if planned.metadata.name != given.metadata.name:
        raise DifferentRuns(f"the run is of job {planned.metadata.name}, the file of {given.metadata.name}")
    if list(planned.variants) != list(given.variants) or planned.repeats.seeds != given.repeats.seeds:
        raise DifferentRuns("the file has other variants or another number of seeds than the run")
    trained = {*OVERRIDABLE, "name", "compression"}
    for name in planned.variants:
        ours, theirs = (job.resolve(name).model_dump(include=trained) for job in (planned, given))
        if changed := sorted(key for key in ours if ours[key] != theirs[key]):
            raise DifferentRuns(
                f"variant {name} was trained with another {', '.join(changed)} than the file has"
            )
