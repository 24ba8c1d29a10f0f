"""Between the two phases of a run: the screening decides which variants are trained in full."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.screening import Screening
from seedance_ops.orchestration.operators.block import mapped_arguments
from seedance_ops.orchestration.operators.stage import StageOperator


class SelectVariantsOperator(StageOperator):
    """Judge the cost of the screening runs, and nothing else of them."""

    def execute(self, context: Context) -> list[Any]:
        """Write ``screening.json`` and the screening's bill; returns the mapped arguments of ``train``.

        Raises where no variant but the baseline goes on: to train the baseline alone would buy no answer.
        """
        from seedance_ops.cost.ledger import ledger_of
        from seedance_ops.reporting.collecting import read_run_tables
        from seedance_ops.reporting.run_table import assemble
        from seedance_ops.reporting.screen import screen

        run = self.run_store(context)
        run.forget("screening.json", "tables/screening_ledger.parquet")
        if self.states(context, "check_environment").get("check_environment") != "success":
            raise AirflowFailException("nothing was screened: a stage before it failed")
        planned = run.planned()
        phase = planned.screening()
        tables = read_run_tables(run, phase)
        ledger = ledger_of(
            assemble(phase, tables).frame,
            tables.launches,
            tables.checkpoint_writes,
            phase.prices,
            other=phase.job.prices,
            usage=tables.usage,
        )
        screening = screen(phase, tables, ledger)
        run.write_frame("screening_ledger", ledger)
        run.write("screening.json", screening)
        self._log(screening)
        if not set(screening.confirmed) - {planned.job.baseline}:
            stopped = (row for row in screening.variants if not row.confirmed)
            reasons = "; ".join(f"{row.variant}: {row.reason}" for row in stopped)
            raise AirflowFailException(f"the screening leaves nothing to confirm: {reasons}")
        return mapped_arguments(planned.job, planned.confirming(screening.confirmed).to_train)

    def _log(self, screening: Screening) -> None:
        for row in screening.variants:
            figure = "no figure" if row.usd_per_1k_samples is None else f"{row.usd_per_1k_samples:.4g} USD"
            decision = "goes on" if row.confirmed else "stops here"
            self.log.info("%s: %s per 1,000 samples: %s, %s", row.variant, figure, decision, row.reason)
