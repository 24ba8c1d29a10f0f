"""A run after every stage, and the parts of its report that several stages have a share in."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from seedance_ops.cost.ledger import run_totals
from seedance_ops.cost.owned_over_runs import OwnedOverRuns, owned_over_runs
from seedance_ops.cost.run_cost import KEYS
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.screening import Screening
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.results import GateResults
from seedance_ops.quality.statistics import Statistics
from seedance_ops.reporting.bill import Bill, bill_of
from seedance_ops.reporting.economics import MonthlySaving, savings_of
from seedance_ops.reporting.limits import limits_of
from seedance_ops.reporting.report_model import StudyCost
from seedance_ops.reporting.run_table import RunTable, peak_of
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.reporting.study_cost import study_cost_of
from seedance_ops.reporting.validity import Validity, validity_of


@dataclass(frozen=True)
class JudgedRun:
    """What the stages found; see ``build_report``."""

    manifest: RunManifest
    stamp: dict[str, str]
    tables: RunTables
    table: RunTable
    costs: pd.DataFrame
    statistics: Statistics
    gates: GateResults
    ledger: pd.DataFrame | None
    screening: Screening | None

    @property
    def job(self) -> TrainingJob:
        """The job as it was run."""
        return self.manifest.job

    @property
    def bill(self) -> Bill | None:
        """Where the money went; none without a ledger, or without a completed run."""
        if self.ledger is None:
            return None
        return bill_of(
            self.job.variants,
            self.ledger,
            runs=self.table.frame,
            costs=self.costs,
            checkpoint_writes=self.tables.checkpoint_writes,
            usage=self.tables.usage,
        )

    @property
    def study(self) -> StudyCost:
        """What finding out cost."""
        return study_cost_of(
            self.costs,
            self.tables.earlier_launches,
            reused=self.manifest.reused,
            screening=self.screening,
            ledger=self.ledger,
        )

    @property
    def savings(self) -> tuple[MonthlySaving, ...]:
        """What each variant is worth in production."""
        hourly = dict(zip(self.costs["variant"], self.costs["usd_per_accelerator_hour"], strict=True))
        totals = None
        if self.ledger is not None:
            totals = run_totals(self.ledger).merge(self.table.frame[KEYS], on=KEYS)
        return savings_of(
            self.job,
            self.statistics,
            usd_per_accelerator_hour=hourly,
            study_usd=self.study.usd,
            totals=totals,
        )

    @property
    def owned(self) -> tuple[OwnedOverRuns, ...]:
        """The job's own machine beside what was rented; empty where the job states none."""
        machine = self.job.economics.owned if self.job.economics else None
        if machine is None or self.table.frame.empty:
            return ()
        kinds = {name: self.job.resolve(name).resources.accelerator for name in self.job.variants}
        on_it = {name for name, kind in kinds.items() if kind == kinds[self.job.baseline]}
        found = owned_over_runs(self.table.frame, self.costs, machine, on_the_machine=on_it)
        return tuple(found[name] for name in self.job.variants if name in found)

    @property
    def validity(self) -> Validity:
        """How far to trust the rest."""
        return validity_of(
            self.manifest,
            self.stamp,
            runs=self.table.frame,
            launches=self.tables.launches,
            earlier_launches=self.tables.earlier_launches,
            costs=self.costs,
            statistics=self.statistics,
            gates=self.gates,
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """What a reader must keep in mind."""
        peaks = {name: peak_of(self.manifest, name) for name in self.job.variants}
        return limits_of(self.job, self.statistics, self.table.frame, self.manifest.reused, peaks)
