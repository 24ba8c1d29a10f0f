"""How many seeds a gate needs follows from what earlier runs showed."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.planning.history import HistoryRecord, Observation
from seedance_ops.planning.seeds import seeds_needed
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.power import SeedPlan
from tests.unit.reporting.conftest import JOB, manifest_of


def history(**losses: tuple[float, ...]) -> list[HistoryRecord]:
    return [
        HistoryRecord(
            job="tiny",
            job_hash="h",
            run_id="earlier",
            ended_at_s=1.0,
            accepted=(),
            run_accepted=False,
            baseline="baseline",
            observations=tuple(
                Observation(variant=variant, metric="val_loss", values=values)
                for variant, values in losses.items()
            ),
            seeds={variant: tuple(range(len(values))) for variant, values in losses.items()},
            usd_per_accelerator_hour={},
            stamp={},
        )
    ]


BASELINE = (2.90, 2.95, 2.85, 2.92, 2.88)


def test_an_equivalence_is_planned_from_the_differences_within_seeds() -> None:
    """Differences of ±0.01 against a margin of 0.05 need few runs, differences of ±0.1 many."""
    near = tuple(
        value + shift for value, shift in zip(BASELINE, (0.01, -0.01, 0.01, -0.01, 0.0), strict=True)
    )
    far = tuple(value + 10 * (n - value) for value, n in zip(BASELINE, near, strict=True))
    found = {
        row.variant: row
        for row in seeds_needed(manifest_of().job, history(baseline=BASELINE, bf16=near, topk=far))
        if row.gate.startswith("val_loss")
    }
    few, many = found["bf16"], found["topk"]
    assert isinstance(few.plan, SeedPlan)
    assert isinstance(many.plan, SeedPlan)
    assert few.plan.spread.design == "paired"
    assert few.plan.spread.sd == pytest.approx(0.01, rel=1e-6)
    assert (few.enough, many.enough) == (True, False)
    # (t₀.₉₇₅ + t₀.₉)² · (0.1 ÷ 0.05)² ≈ (2.02 + 1.30)² · 4 = 44 runs: TOST, both tails at 0.05, and half of
    # it for Holm's strictest step, since the gate tests two variants.
    assert many.plan.n_per_variant == pytest.approx(44, abs=2)


def test_counted_metrics_and_bounds_on_a_level_need_no_planning() -> None:
    gates = {row.gate for row in seeds_needed(manifest_of().job, history(baseline=BASELINE, bf16=BASELINE))}
    assert "bytes_on_wire change_at_most" not in gates
    level = JOB + "  - {metric: cpu_utilisation_mean, at_least: 0.1}\n"
    assert len(seeds_needed(manifest_of(level).job, [])) == len(seeds_needed(manifest_of().job, []))


def test_without_a_pilot_it_is_not_known() -> None:
    rows = seeds_needed(manifest_of().job, [])
    assert rows
    assert all(isinstance(row.plan, NotJudgeable) and row.enough is None for row in rows)


def test_a_non_inferiority_is_planned_at_its_own_one_tail() -> None:
    """One tail at power 0.8, where nothing differs in truth."""
    near = (0.01, -0.01, 0.01, -0.01, 0.0)
    far = tuple(value + 10 * shift for value, shift in zip(BASELINE, near, strict=True))
    job = load_job_text(
        JOB.replace("equivalent_within: {absolute", "non_inferior_within: {absolute"),
        Path("j.yaml"),
        project=None,
    ).job
    (found,) = [
        row
        for row in seeds_needed(job, history(baseline=BASELINE, topk=far))
        if row.gate == "val_loss non_inferior_within" and row.variant == "topk"
    ]
    assert isinstance(found.plan, SeedPlan)
    # Half of α for the two variants: (z₀.₉₇₅ + z₀.₈)² = (1.960 + 0.842)² = 7.85, times (0.1 ÷ 0.05)² is 31.4,
    # and z²₀.₉₇₅ ÷ 2 = 1.9 more for t
    assert found.plan.n_per_variant == pytest.approx(33, abs=1)
    assert found.enough is False
