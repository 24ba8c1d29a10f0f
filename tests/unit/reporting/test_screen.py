"""The screening ranks variants by the cost of their training time, and says why each goes on or stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.cost.unit_prices import OtherPrices, UnitPrice
from seedance_ops.jobs.manifest import plan_screening
from seedance_ops.reporting.report import headline_of
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.screen import repriced, screen
from seedance_ops.reporting.study_cost import study_cost_of
from tests.unit.reporting.conftest import JOB, PRICE, manifest_of, tables_of

PHASED = (
    JOB.replace("repeats: {seeds: 5}\n", "")
    .replace("batch: {per_rank: 2}", "batch: {per_rank: 2}\n  args: {lr: 1}")
    .replace("stop: {steps: 6}", "stop: {samples: 96}")
    .replace("gates:\n", "phases: {screen: {samples: 24}, confirm: {top: 1, seeds: 5}}\ngates:\n")
)


@pytest.fixture
def phased():
    manifest = manifest_of(PHASED)
    return manifest.model_copy(
        update={
            "screening_runs": plan_screening(manifest.job, manifest.run_id),
            "prices": dict.fromkeys(manifest.job.variants, PRICE),
        }
    )


def faster(tables, variant, factor):
    """The variant's training time times ``factor``; its launch stays as long, so start-up fills the rest."""
    steps = tables.steps.copy()
    steps.loc[steps["variant"] == variant, "step_time_s"] *= factor
    return replace(tables, steps=steps)


def bill_of(phase, tables):
    return ledger_of(assemble(phase, tables).frame, tables.launches, None, phase.prices)


def screened(phase, tables):
    return screen(phase, tables, bill_of(phase, tables))


def by_variant(screening):
    return {row.variant: row for row in screening.variants}


def test_screening_seeds_are_used_by_no_confirming_run(phased):
    assert {run.seed for run in phased.screening_runs} == {5}
    assert {run.seed for run in phased.runs} == set(range(5))
    assert {run.variant for run in phased.screening_runs} == {"baseline", "bf16", "topk"}


def test_the_cheapest_per_sample_goes_on_with_the_baseline(phased):
    phase = phased.screening()
    found = screened(phase, faster(faster(tables_of(phase), "topk", 0.5), "bf16", 2.0))
    assert [row.variant for row in found.variants] == ["topk", "baseline", "bf16"]
    assert found.confirmed == ("topk", "baseline")
    rows = by_variant(found)
    assert rows["bf16"].reason == "not the cheapest"
    # 6 steps × 0.5 s × 0.5 on 2 accelerators at 0.36 USD/h, for 24 samples
    assert rows["topk"].usd_per_1k_samples == pytest.approx(1000 * 1.5 * 2 * 0.36 / 3600 / 24, rel=1e-9)


def test_start_up_does_not_decide(phased):
    """A launch that took ten times as long, with the same training time, ranks the same."""
    phase = phased.screening()
    tables = faster(tables_of(phase), "topk", 0.5)
    launches = tables.launches.copy()
    launches.loc[launches["variant"] == "topk", "run_s"] *= 10
    slow = screened(phase, replace(tables, launches=launches))
    assert slow.confirmed == screened(phase, tables).confirmed
    assert by_variant(slow)["topk"].usd_per_1k_samples == pytest.approx(
        by_variant(screened(phase, tables))["topk"].usd_per_1k_samples
    )
    assert slow.usd > screened(phase, tables).usd


def test_a_variant_that_did_not_finish_stops_with_its_reason(phased):
    phase = phased.screening()
    tables = tables_of(phase)
    launches = tables.launches.copy()
    launches.loc[launches["variant"] == "topk", "state"] = "failed"
    found = by_variant(screened(phase, replace(tables, launches=launches)))
    assert found["topk"].usd_per_1k_samples is None
    assert not found["topk"].confirmed
    assert "failed" in found["topk"].reason
    assert found["bf16"].confirmed


def test_what_a_gate_compares_with_goes_on_too(phased):
    text = PHASED.replace(
        "compared_to: baseline, equivalent_within", "compared_to: bf16, variants: [topk], equivalent_within"
    )
    manifest = manifest_of(text)
    phase = phased.screening()
    phase = phase.model_copy(update={"job": phase.job.model_copy(update={"gates": manifest.job.gates})})
    found = screened(phase, faster(tables_of(phase), "topk", 0.5))
    assert set(found.confirmed) == {"topk", "baseline", "bf16"}
    assert by_variant(found)["bf16"].reason == "a gate compares topk with it"


def test_only_the_confirmed_are_judged_and_the_study_pays_for_all(phased):
    phase = phased.screening()
    found = screened(phase, faster(tables_of(phase), "topk", 0.5))
    confirming = phased.confirming(found.confirmed)
    assert list(confirming.job.variants) == ["baseline", "topk"]
    assert len(confirming.runs) == 10
    tables = tables_of(confirming)
    costs = price_runs(assemble(confirming, tables).frame, tables.launches, confirming.prices)
    alone = study_cost_of(costs, tables.earlier_launches)
    whole = study_cost_of(costs, tables.earlier_launches, screening=found)
    assert whole.usd == pytest.approx(alone.usd + found.usd)
    reused = study_cost_of(costs, tables.earlier_launches, reused={"baseline"})
    assert reused.usd == pytest.approx(costs.loc[costs["variant"] == "topk", "usd_per_run"].sum())


def test_the_headline_names_what_was_stopped(phased, judged):
    phase = phased.screening()
    found = screened(phase, faster(tables_of(phase), "topk", 0.5))
    assert headline_of(judged.gates, found).endswith("bf16 stopped by the screening")


def test_other_prices_change_what_the_screening_cost_and_not_what_it_decided(phased):
    phase = phased.screening()
    tables = tables_of(phase)
    found = screened(phase, tables)
    dearer = PRICE.model_copy(update={"usd_per_accelerator_hour": 2 * PRICE.usd_per_accelerator_hour})
    again = repriced(found, bill_of(phase, tables), dict.fromkeys(phase.job.variants, dearer))
    assert again.usd == pytest.approx(2 * found.usd)
    assert again.variants == found.variants


def test_the_study_costs_all_that_is_priced(phased):
    phase = phased.screening()
    tables = tables_of(phase)
    node = UnitPrice(usd=36.0, key="node")
    frame = assemble(phase, tables).frame
    bill = ledger_of(
        frame, tables.launches, None, phase.prices, other=OtherPrices(host_usd_per_node_hour=node)
    )
    alone, whole = screened(phase, tables).usd, screen(phase, tables, bill).usd
    assert whole - alone == pytest.approx(36.0 * tables.launches["run_s"].sum() / 3600)
