"""Builds the report of a run from what its stages wrote, or says what is missing for one."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.screening import Screening
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import Difference
from seedance_ops.quality.results import GateResults
from seedance_ops.quality.statistics import Statistics
from seedance_ops.reporting.answer import answers_of
from seedance_ops.reporting.auto_choices import AutoChoices
from seedance_ops.reporting.curves import curves_of
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.judged_run import JudgedRun
from seedance_ops.reporting.pareto import pareto_of
from seedance_ops.reporting.report_model import PriceUsed, Report, RunInOrder, StudyCost
from seedance_ops.reporting.run_table import RunTable
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.reporting.strategy_table import columns_of, effects_of, strategies_of

__all__ = ["Report", "build_report", "failed_report", "render_html"]


def build_report(  # noqa: PLR0917 - one argument per stage, in their order
    manifest: RunManifest,
    stamp: dict[str, str],
    tables: RunTables,
    table: RunTable,
    costs: pd.DataFrame,
    statistics: Statistics,
    gates: GateResults,
    *,
    ledger: pd.DataFrame | None = None,
    screening: Screening | None = None,
    auto: AutoChoices | None = None,
) -> Report:
    """The whole report of a run that was judged.

    Args:
        manifest: What was planned.
        stamp: The run's provenance.
        tables: Of ``steps`` only variant, seed, step, samples and train_loss are read.
        table: The completed runs, and what is missing.
        costs: What ``cost.run_cost.price_runs`` says.
        statistics: What ``summarise`` made of them.
        gates: What ``judge`` made of those.
        ledger: Rows of ``cost.ledger.ledger_of``; without it the report takes no bill apart.
        screening: What came before, where the job has phases.
        auto: What gradient compression chose by itself, where a variant lets it.
    """
    auto = auto or AutoChoices()
    run = JudgedRun(manifest, stamp, tables, table, costs, statistics, gates, ledger, screening)
    job = manifest.job
    columns = columns_of(job, statistics)
    quality = job.workload.quality
    return Report(
        job=job.metadata.name,
        description=job.metadata.description or None,
        owner=job.metadata.owner,
        run_id=manifest.run_id,
        source=manifest.source,
        status="judged",
        headline=headline_of(gates, screening),
        accept=gates.accept,
        accepted=gates.accepted,
        baseline=job.baseline,
        answers=answers_of(job, statistics, gates),
        verdicts=gates.verdicts,
        columns=columns,
        strategies=strategies_of(job, statistics, columns),
        effects=effects_of(job, statistics, gates.gates),
        pareto=pareto_of(job, statistics),
        bill=run.bill,
        owned=run.owned,
        curves=curves_of(tables, quality.metric if quality else None),
        differences=_differences(job),
        auto=auto.choices,
        gates=gates.gates,
        statistics=statistics,
        missing=table.missing,
        problems=(*gates.problems, *tables.problems, *auto.problems),
        screening=screening,
        reused=manifest.reused,
        order=_order(tables.launches, costs, manifest.reused),
        prices=_prices(costs),
        study=run.study,
        savings=run.savings,
        validity=run.validity,
        limits=run.limits,
        overrides=manifest.overrides,
        replaced=manifest.replaced,
        stamp=stamp,
    )


def failed_report(
    manifest: RunManifest,
    stamp: dict[str, str],
    problems: list[str],
    *,
    screening: Screening | None = None,
) -> Report:
    """A report that says why there is none, and what a screening has cost all the same."""
    job = manifest.job
    return Report(
        job=job.metadata.name,
        description=job.metadata.description or None,
        owner=job.metadata.owner,
        run_id=manifest.run_id,
        source=manifest.source,
        status="failed",
        headline="Not judged: a stage before the report failed",
        accept=job.accept,
        accepted=False,
        baseline=job.baseline,
        differences=_differences(job),
        problems=tuple(problems),
        screening=screening,
        study=StudyCost(
            usd=screening.usd,
            accelerator_hours=screening.accelerator_hours,
            queue_s=screening.queue_s,
        )
        if screening
        else None,
        overrides=manifest.overrides,
        replaced=manifest.replaced,
        stamp=stamp,
    )


def headline_of(gates: GateResults, screening: Screening | None = None) -> str:
    """The verdict line: what was accepted, what was not, and what was not tried in full."""
    words = {
        "accepted": "accepted",
        "needs_approval": "waiting for approval",
        "rejected": "rejected",
        "not_judgeable": "not judgeable",
    }
    parts = [
        f"{', '.join(names)} {word}"
        for outcome, word in words.items()
        if (names := [verdict.variant for verdict in gates.verdicts if verdict.outcome == outcome])
    ]
    if screening and (stopped := screening.stopped):
        parts.append(f"{', '.join(stopped)} stopped by the screening")
    return "; ".join(parts) or "No variant was judged"


def _differences(job: TrainingJob) -> dict[str, tuple[Difference, ...]]:
    baseline = job.resolve(job.baseline)
    return {
        name: tuple(job.resolve(name).difference_from(baseline))
        for name in job.variants
        if name != job.baseline
    }


def _order(launches: pd.DataFrame, costs: pd.DataFrame, reused: Collection[str]) -> tuple[RunInOrder, ...]:
    usd = costs.set_index(["variant", "seed"])["usd_per_run"].to_dict()
    runs = []
    for _, of_run in launches.groupby(["variant", "seed"], sort=False):
        newest = of_run.sort_values("submission").iloc[-1]
        started = of_run["started_at_s"].min()
        runs.append(
            RunInOrder(
                variant=newest["variant"],
                seed=int(newest["seed"]),
                planned_order=int(newest["order"]),
                state=newest["state"],
                reused=newest["variant"] in reused,
                submissions=len(of_run),
                started_at_s=float(started) if pd.notna(started) else None,
                run_s=float(of_run["run_s"].sum()),
                queue_s=float(of_run["queue_s"].sum()),
                usd=usd.get((newest["variant"], newest["seed"])),
            )
        )
    return tuple(sorted(runs, key=lambda run: (run.started_at_s or float("inf"), run.planned_order)))


def _prices(costs: pd.DataFrame) -> tuple[PriceUsed, ...]:
    columns = ["price_key", "usd_per_accelerator_hour", "price_source", "price_date", "price_basis"]
    used = []
    for _, of_price in costs.groupby(columns, sort=True):
        first = of_price.iloc[0]
        used.append(
            PriceUsed(
                key=first["price_key"],
                variants=tuple(of_price["variant"].unique()),
                usd_per_accelerator_hour=float(first["usd_per_accelerator_hour"]),
                source=first["price_source"],
                date=first["price_date"],
                basis=first["price_basis"],
            )
        )
    return tuple(used)
