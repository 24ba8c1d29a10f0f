"""What the gates say: of each gate and variant, of each variant, and of the job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from seedance_ops.jobs.gates import Condition, Severity
from seedance_ops.stats.outcomes import Design
from seedance_ops.strict_model import StrictModel

Outcome = Literal["pass", "fail", "error", "not_judgeable"]
Decision = Literal["accepted", "rejected", "not_judgeable", "needs_approval"]
Scale = Literal["relative", "absolute", "level"]


class GateResult(StrictModel):
    """One gate on one variant."""

    gate: str
    """Identifies the gate in its job: position, metric and condition."""
    variant: str
    metric: str
    unit: str
    condition: Condition
    scale: Scale
    """``relative``: bound and estimate are shares of the compared variant's value."""
    bound: float
    compared_to: str | None
    severity: Severity
    outcome: Outcome
    """``error``: the check itself broke; ``not_judgeable``: the data do not allow a judgement."""
    n: int
    """Runs of this variant."""
    estimate: float | None = None
    low: float | None = None
    """Lower end of the interval that was held against the bound."""
    high: float | None = None
    design: Design | None = None
    p_value: float | None = None
    """One-sided, of this variant's test alone; none where counted."""
    p_adjusted: float | None = None
    """By Holm, over the variants that the gate tests; of a family of one the p value itself."""
    family: int = 1
    """How many variants the gate tests together; 1 also where it counts instead of testing."""
    exceeds_by: float | None = None
    """How far the interval reaches over the bound, of a failed gate."""
    reason: str | None = None
    """Why there is no judgement, or why an interval within the bound does not suffice."""

    @property
    def interval_is(self) -> str:
        """What the interval is, in words."""
        if self.design == "exact":
            return "over all runs"
        return "at 90 %" if self.condition in ("equivalent_within", "non_inferior_within") else "at 95 %"


class DataCheck(StrictModel):
    """One expectation of the suite on one variant's data."""

    check: str
    """Identifies the check in its suite: position and name."""
    variant: str
    severity: Literal["error", "warning"]
    outcome: Outcome
    """``error``: the check itself broke; ``not_judgeable``: there was nothing to look at."""
    checked: int
    """Things that were looked at: runs × ranks, cells, records, prices, comparisons."""
    violations: int
    example: str | None = None
    """One violation in words, or why there is no answer."""

    @property
    def name(self) -> str:
        """The check's name without its position."""
        return self.check.partition(":")[2]


class Verdict(StrictModel):
    """What becomes of one variant."""

    variant: str
    outcome: Decision
    of_baseline: bool = False
    """Whether the variant is what others are compared with: then it is judged, but never what is accepted."""
    reasons: tuple[str, ...] = ()
    """Which gates reject it, or why it cannot be judged."""
    asked: tuple[str, ...] = ()
    """Gates of severity ``approval`` that do not hold, where they alone stand in the way: with the outcome
    ``needs_approval`` a person has yet to answer, else one has, or the deadline has passed."""
    warnings: tuple[str, ...] = ()
    """Gates and data checks of severity ``warning`` that do not hold."""

    @property
    def is_accepted(self) -> bool:
        """Whether this is a variant that may replace the baseline."""
        return self.outcome == "accepted" and not self.of_baseline

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        words = "; ".join(self.reasons) or "every gate holds"
        warned = f" (warning: {'; '.join(self.warnings)})" if self.warnings else ""
        return f"{self.outcome.replace('_', ' ')}: {words}{warned}"


class GateResults(StrictModel):
    """``gates.json``."""

    accept: Literal["any", "all", "report"]
    accepted: bool
    """Whether the run succeeds under ``accept``."""
    verdicts: tuple[Verdict, ...]
    """Of every variant that a gate applies to, or that is not the baseline."""
    gates: tuple[GateResult, ...]
    data_checks: tuple[DataCheck, ...] = ()
    """Of the data that the gates rest on; none where the run was judged without a suite."""
    suite_sha256: str | None = None
    """Of the suite that they are from."""
    problems: tuple[str, ...] = ()
    """What was wrong with the validation itself; with one, no gate passes."""


def job_accepted(accept: Literal["any", "all", "report"], verdicts: Iterable[Verdict]) -> bool:
    """Whether a run succeeds: without a verdict nothing is accepted, and the baseline is no result."""
    accepted = [verdict.is_accepted for verdict in verdicts if not verdict.of_baseline]
    if accept == "report":
        return True
    return any(accepted) if accept == "any" else bool(accepted) and all(accepted)
