"""The report as data: everything that ``report.html`` shows, and ``report.json`` itself."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.cost.owned_over_runs import OwnedOverRuns
from seedance_ops.jobs.reuse import ReusedRuns
from seedance_ops.jobs.screening import Screening
from seedance_ops.jobs.variants import Difference
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.results import GateResult, Verdict
from seedance_ops.quality.statistics import Statistics
from seedance_ops.reporting.answer import Answer
from seedance_ops.reporting.auto_choices import AutoChoice
from seedance_ops.reporting.bill import Bill
from seedance_ops.reporting.economics import MonthlySaving
from seedance_ops.reporting.pareto import Pareto
from seedance_ops.reporting.validity import Validity
from seedance_ops.strict_model import StrictModel


class Cell(StrictModel):
    """One metric of one variant: its level over runs, and its change against the baseline."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    change: float | None = None
    """Relative, or absolute where the column says so; none for the baseline."""
    change_low: float | None = None
    change_high: float | None = None
    reason: str | None = None
    """Why there is no interval, or no change."""


class Column(StrictModel):
    """A column of the strategy table (R1.5)."""

    metric: str
    title: str
    unit: str
    change_scale: Literal["relative", "absolute"] = "relative"
    exact: bool = False
    """Counted: the interval is the range over runs."""


class StrategyRow(StrictModel):
    """One variant in the strategy table: its cells in the order of the columns."""

    variant: str
    baseline: bool
    cells: tuple[Cell, ...]


class Effect(StrictModel):
    """One line of the forest plot: a metric's relative change in one variant."""

    metric: str
    variant: str
    change: float
    low: float
    high: float
    n: int
    exact: bool
    bound: float | None = None
    """Of a gate that asks for a change, or that it is not worse; an absolute margin as a share, as below."""
    margin: float | None = None
    """Half width of an equivalence gate's band; an absolute margin as a share of the baseline's mean."""
    gated: bool = False
    """Whether any gate judges this metric in this variant."""


class Curve(StrictModel):
    """A loss over the samples of one run."""

    metric: str
    variant: str
    seed: int
    samples: tuple[float, ...]
    values: tuple[float, ...]


class RunInOrder(StrictModel):
    """One launched training, in the order of start."""

    variant: str
    seed: int
    planned_order: int
    reused: bool = False
    """Whether it was trained, and paid for, by an earlier run of the job."""
    state: str
    submissions: int
    started_at_s: float | None
    run_s: float
    queue_s: float
    usd: float | None


class PriceUsed(StrictModel):
    """A price that the figures rest on."""

    key: str
    variants: tuple[str, ...]
    usd_per_accelerator_hour: float
    source: str
    date: str
    basis: str


class StudyCost(StrictModel):
    """What finding out cost: every launch of every take, those that failed or were cancelled included."""

    usd: float
    accelerator_hours: float
    queue_s: float


class Report(StrictModel):
    """``report.json``."""

    schema_version: Literal[1] = 1
    job: str
    description: str | None
    owner: str | None = None
    run_id: str
    source: str
    status: Literal["judged", "failed"]
    """``failed``: an earlier stage did not write what the report needs; ``problems`` says which."""
    headline: str
    accept: Literal["any", "all", "report"]
    accepted: bool
    baseline: str
    answers: tuple[Answer, ...] = ()
    """The verdict line of each variant, what was accepted first."""
    verdicts: tuple[Verdict, ...] = ()
    columns: tuple[Column, ...] = ()
    strategies: tuple[StrategyRow, ...] = ()
    effects: tuple[Effect, ...] = ()
    pareto: Pareto | None = None
    bill: Bill | None = None
    """None where no run was completed, or the run is of a version that kept no ledger."""
    owned: tuple[OwnedOverRuns, ...] = ()
    """Each variant on the machine of ``economics.owned``, beside the rented price; empty without one."""
    curves: tuple[Curve, ...] = ()
    differences: dict[str, tuple[Difference, ...]] = Field(default={})
    """Of each variant from the baseline."""
    auto: tuple[AutoChoice, ...] = ()
    """What ``algorithm: auto`` chose, in the variants that have it."""
    gates: tuple[GateResult, ...] = ()
    statistics: Statistics | None = None
    missing: tuple[MissingRun, ...] = ()
    problems: tuple[str, ...] = ()
    screening: Screening | None = None
    """What a screening found before these runs; none where the job has no phases."""
    reused: dict[str, ReusedRuns] = Field(default={})
    """Variants whose runs are those of an earlier run of the job."""
    order: tuple[RunInOrder, ...] = ()
    prices: tuple[PriceUsed, ...] = ()
    study: StudyCost | None = None
    savings: tuple[MonthlySaving, ...] = ()
    """What each variant is worth in production, where the job says how often it runs."""
    validity: Validity | None = None
    limits: tuple[str, ...] = ()
    """What a reader must keep in mind."""
    overrides: dict[str, str | int | float | bool | None] = Field(default={})
    """What was changed for this run."""
    replaced: dict[str, str | int | float | bool | None] = Field(default={})
    """What the job's file says there; empty where it is not known."""
    stamp: dict[str, str]

    def as_json(self) -> str:
        """The report as JSON text."""
        return self.model_dump_json(indent=2)
