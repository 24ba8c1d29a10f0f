"""The bill shows what runs used beside accelerators: in lines where priced, else by name; energy per unit."""

from __future__ import annotations

import pytest

from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.unit_prices import OtherPrices, UnitPrice
from seedance_ops.reporting.bill import bill_of
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.run_tables import USAGE, frame_of
from tests.unit.reporting.conftest import PRICE
from tests.unit.reporting.test_report import report_of

KWH = {"baseline": 0.5, "bf16": 0.4, "topk": 0.6}


@pytest.fixture
def used(tables, manifest):
    """The made-up run, of which every training sent 2,000 requests and 3 GB and drew a known energy."""
    rows = []
    for planned in manifest.runs:
        drawn = KWH[planned.variant] * (1 + 0.01 * planned.seed)
        for stage, component, tier, quantity in (
            ("run", "requests", "put", 500.0),
            ("checkpoint", "requests", "put", 1500.0),
            ("checkpoint", "egress", "-", 3.0),
            ("run", "energy", "-", drawn),
        ):
            row = {"variant": planned.variant, "seed": planned.seed, "submission": 1, "rank": 0, "at_s": 0.0}
            named = {"stage": stage, "component": component, "tier": tier, "quantity": quantity}
            rows.append(row | named | {"method": "x"})
    return frame_of(rows, USAGE)


def test_lines_sum_to_the_total_and_what_has_no_price_is_named(used, tables, manifest, judged):
    terms = OtherPrices(requests_usd_per_1000={"put": UnitPrice(usd=0.01, key="put")})
    prices = dict.fromkeys(manifest.job.variants, PRICE)
    ledger = ledger_of(judged.table.frame, tables.launches, None, prices, other=terms, usage=used)
    bill = bill_of(
        manifest.job.variants, ledger, runs=judged.table.frame, costs=judged.costs,
        checkpoint_writes=tables.checkpoint_writes, usage=used,
    )  # fmt: skip
    lines = {line.label: line.usd_per_run["bf16"] for line in bill.lines}
    assert lines["requests (put)"] == pytest.approx(0.005)
    assert lines["requests while saving (put)"] == pytest.approx(0.015)
    assert sum(lines.values()) == pytest.approx(bill.total_usd["bf16"])
    reasons = {gone.component: gone.reason for gone in bill.not_priced}
    assert reasons["egress"].startswith("45 GB were sent")
    assert reasons["energy"].startswith("7.65 kWh were measured")  # 5 × 1.5 kWh × 1.02


def test_energy_is_a_unit_cost_and_a_column_without_a_tariff(used, tables, manifest, judge_tables):
    tables = tables.__class__(**{**vars(tables), "usage": used})
    assert assemble(manifest, tables).frame["energy_kwh"].notna().all()
    report = report_of(judge_tables(manifest, tables), {})
    costs = {cost.name: cost for cost in report.bill.unit_costs["baseline"]}
    # Five runs of 0.50 … 0.52 kWh and 24 samples each.
    assert costs["energy_kwh_per_run"].estimate == pytest.approx(0.51)
    assert costs["energy_kwh_per_sample"].estimate == pytest.approx(0.51 / 24)
    assert "Energy" in [column.title for column in report.columns]
    assert "kWh" in render_html(report)
