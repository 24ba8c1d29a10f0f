"""From the tables that trainings left to gates that passed or did not: four stages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import Context

from seedance_ops.orchestration.operators.stage import StageOperator

_DERIVED = (
    "tables/runs.parquet",
    "tables/costs.parquet",
    "tables/ledger.parquet",
    "statistics.json",
    "gates.json",
    "expectations.json",
    "approvals.json",
    "report.json",
    "report.html",
)
"""What this pass will write anew: a cleared run must not be judged by what an earlier pass left."""


class CollectOperator(StageOperator):
    """Join what every training left into one row per run, and name what is missing."""

    def execute(self, context: Context) -> dict[str, int]:
        """Write the run's tables; returns how many runs are complete and how many are missing."""
        from seedance_ops.quality.missing import MissingRuns
        from seedance_ops.reporting.collecting import read_run_tables
        from seedance_ops.reporting.run_table import assemble

        run = self.run_store(context)
        manifest = self.manifest_of(run)
        run.forget(*_DERIVED)
        tables = read_run_tables(run, manifest)
        tables.write(run)
        table = assemble(manifest, tables)
        run.write_frame("runs", table.frame)
        run.write("missing.json", MissingRuns(runs=table.missing))
        for problem in tables.problems:
            self.log.warning("%s", problem)
        for gone in table.missing:
            self.log.warning("%s seed %d is missing: %s", gone.variant, gone.seed, gone.reason)
        return {"complete": len(table.frame), "missing": len(table.missing)}


class CostOperator(StageOperator):
    """Price every run by the prices that were fixed when it was planned."""

    def execute(self, context: Context) -> None:
        """Write the costs of every run, and the ledger whose rows add up to them."""
        from seedance_ops.cost.ledger import check_against, ledger_of
        from seedance_ops.cost.price_checks import age_findings
        from seedance_ops.cost.run_cost import price_runs
        from seedance_ops.reporting.run_tables import stored_usage

        run = self.run_store(context)
        manifest = run.manifest()
        runs, launches, terms = run.frame("runs"), run.frame("launches"), manifest.job.prices
        costs = price_runs(runs, launches, manifest.prices)
        writes = run.frame("checkpoint_writes")
        ledger = ledger_of(runs, launches, writes, manifest.prices, other=terms, usage=stored_usage(run))
        check_against(ledger, costs)
        run.write_frame("costs", costs)
        run.write_frame("ledger", ledger)
        if terms.max_age_days is not None:
            planned = datetime.fromtimestamp(manifest.planned_at_s, UTC).date()
            for finding in age_findings(manifest.prices.values(), terms.max_age_days, planned):
                self.log.warning("%s", finding.message)


class StatisticsOperator(StageOperator):
    """Compare every variant with the baseline. The unit is the run."""

    def execute(self, context: Context) -> None:
        """Write ``statistics.json``."""
        from seedance_ops.cost.run_cost import with_costs
        from seedance_ops.quality.statistics import summarise

        run = self.run_store(context)
        runs = with_costs(run.frame("runs"), run.frame("costs"))
        run.write("statistics.json", summarise(run.manifest().job, runs))


class QualityGateOperator(StageOperator):
    """Judge data and gates. Records, and never raises on a rejection: the verdict is a task of its own.

    Args:
        project: The project's root on this machine: its ``include/expectations/`` are the suite that the
            data are held to; default: the built-in suite.
    """

    def __init__(self, *, project: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.project = project

    def execute(self, context: Context) -> dict[str, str]:
        """Write ``gates.json`` and the job's history; returns each variant's verdict."""
        from seedance_ops.cost.run_cost import with_costs
        from seedance_ops.planning.history import History
        from seedance_ops.planning.recording import record_of
        from seedance_ops.quality.data.of_run import data_of_run
        from seedance_ops.quality.judge import judge
        from seedance_ops.quality.missing import MissingRuns
        from seedance_ops.quality.statistics import Statistics

        run = self.run_store(context)
        run.forget("approvals.json")  # an answer is about findings, and these are new
        manifest = run.manifest()
        job = manifest.job
        runs = with_costs(run.frame("runs"), run.frame("costs"))
        missing = run.read("missing.json", MissingRuns).runs
        statistics = run.read("statistics.json", Statistics)
        project = Path(self.project) if self.project else None
        data = data_of_run(run, manifest, runs, statistics, project=project)
        screening = run.screening()
        stopped = screening.stopped if screening else ()
        results = judge(job, runs, statistics, missing, data=data, stopped=stopped)
        run.write("gates.json", results)
        History(self.base, job.metadata.name).append(record_of(manifest, run.stamp(), results, runs))
        return {verdict.variant: verdict.outcome for verdict in results.verdicts}
