"""The panel warns of what would make a reader doubt, and of nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.validity import drift_of
from tests.unit.reporting.conftest import PRICE
from tests.unit.reporting.test_report import STAMP, report_of


def runs_with(usd):
    return pd.DataFrame(
        {"variant": ["a", "b"] * (len(usd) // 2), "started_at_s": np.arange(len(usd)), "usd_per_run": usd}
    )


def test_a_cost_that_rises_with_time_is_a_drift_whatever_the_variant():
    rising = runs_with([1.0, 10.0, 1.1, 11.0, 1.2, 12.0, 1.3, 13.0])
    found = drift_of(rising)
    assert found.spearman_rho > 0.9
    assert found.p_value < 0.01


@pytest.mark.parametrize("usd", [[1.0, 2.0] * 2, [1.0, 2.0] * 4])
def test_too_few_runs_or_no_spread_give_no_drift(usd):
    assert drift_of(runs_with(usd)) is None


def test_variants_of_different_cost_are_no_drift():
    assert abs(drift_of(runs_with([1.0, 5.0, 1.1, 5.5, 1.1, 5.5, 1.0, 5.0])).spearman_rho) < 0.3


def warnings(judged, **changes):
    return report_of(replace(judged, **changes)).validity.warnings


def test_a_run_in_good_order_has_no_warning(judged):
    assert not any("Price" in w or "submission" in w or "commit" in w for w in warnings(judged))


def test_an_old_price_is_a_warning(judged):
    job = judged.manifest.job
    manifest = judged.manifest.model_copy(
        update={
            "job": job.model_copy(update={"prices": job.prices.model_copy(update={"max_age_days": 30})}),
            "prices": dict.fromkeys(job.variants, PRICE),
            "planned_at_s": datetime(2026, 3, 1, tzinfo=UTC).timestamp(),
        }
    )
    found = [warning for warning in warnings(judged, manifest=manifest) if warning.startswith("Price")]
    assert len(found) == 1  # one price, three variants
    assert "58 days old; the job allows 30" in found[0]


def test_resubmissions_and_uncommitted_code_are_warnings(judged):
    launches = pd.concat([judged.tables.launches, judged.tables.launches.iloc[:1]], ignore_index=True)
    tables = replace(judged.tables, launches=launches)
    assert any("1 of 15 runs needed more than one submission" in w for w in warnings(judged, tables=tables))
    assert any(
        "no commit holds" in w for w in report_of(judged, STAMP | {"git_dirty": "yes"}).validity.warnings
    )


def test_missing_runs_are_named_at_the_top_and_in_the_panel(judged):
    from seedance_ops.quality.missing import MissingRun

    gone = (MissingRun(variant="topk", seed=2, reason="it was <never> launched"),)
    text = render_html(report_of(replace(judged, table=replace(judged.table, missing=gone))))
    assert "1 planned run is missing:" in text[: text.index("<h2>")]
    assert "it was &lt;never&gt; launched" in text[text.index('id="validity"') :]


def test_a_block_that_was_torn_apart_is_a_warning(judged):
    job = judged.manifest.job
    repeats = job.repeats.model_copy(update={"block": "allocation"})
    manifest = judged.manifest.model_copy(update={"job": job.model_copy(update={"repeats": repeats})})
    launches = judged.tables.launches.assign(nodes="a")
    together = replace(judged.tables, launches=launches)
    assert not any("block" in warning for warning in warnings(judged, manifest=manifest, tables=together))
    launches.loc[(launches["seed"] == 3) & (launches["variant"] == "topk"), "nodes"] = "b"
    apart = replace(judged.tables, launches=launches)
    assert any("seeds 3" in warning for warning in warnings(judged, manifest=manifest, tables=apart))
