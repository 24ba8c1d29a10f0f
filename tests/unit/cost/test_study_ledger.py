"""Both phases of a study are one bill: rows say which they are of, in FOCUS too, and sum to what was paid."""

from __future__ import annotations

import pandas as pd
import pytest

from seedance_ops.cost.focus import Billing, focus_of, ledger_from, read_focus, write_focus
from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.ledger_table import LEDGER
from seedance_ops.cost.study_ledger import EARLIER_TAKE, study_ledger

BILLING = Billing(account_id="1", provider="p")


@pytest.fixture
def phases(runs, launches, price):
    """Screening: a and b, 360 s of eight accelerators at 2 USD an hour; then a alone, for an hour."""
    short = [{"seed": 5, "run_s": 360.0}, {"variant": "b", "seed": 5, "run_s": 360.0}]
    trained = [{"seed": 5, "train_elapsed_s": 180.0}, {"variant": "b", "seed": 5, "train_elapsed_s": 180.0}]
    prices = {"a": price(2.0), "b": price(2.0)}
    screening = ledger_of(runs(*trained), launches(*short), None, prices)
    return screening, ledger_of(runs(), launches(), None, prices), prices


def test_rows_are_of_the_phase_of_their_table_and_sum_to_the_study(phases):
    screening, main, _ = phases
    study = study_ledger(screening, main, has_phases=True)
    by_phase = study.groupby("phase", sort=False)["cost_usd"].sum()
    # 2 × 8 × 0.1 h × 2 USD, then 8 × 1 h × 2 USD.
    assert by_phase.to_dict() == pytest.approx({"screen": 3.2, "confirm": 16.0})
    assert list(by_phase.index) == ["screen", "confirm"]
    assert study.dtypes.astype(str).to_dict() == LEDGER


def test_a_job_without_phases_has_none(phases):
    study = study_ledger(None, phases[1], has_phases=False)
    assert set(study["phase"]) == {""}
    pd.testing.assert_frame_equal(study, phases[1])


def test_a_study_that_ended_with_its_screening_has_that_alone(phases):
    assert set(study_ledger(phases[0], None, has_phases=True)["phase"]) == {"screen"}
    assert study_ledger(None, None, has_phases=True).empty


def test_a_table_that_an_older_version_stored_gets_its_phase(phases):
    screening, main, _ = phases
    old = study_ledger(screening.drop(columns="phase"), main.drop(columns="phase"), has_phases=True)
    pd.testing.assert_frame_equal(old, study_ledger(screening, main, has_phases=True))


def test_what_an_earlier_study_has_paid_for_is_left_out_and_what_was_cleared_is_not(phases, launches):
    screening, main, prices = phases
    cleared = launches({"run_s": 1800.0, "queue_s": 0.0})
    study = study_ledger(screening, main, has_phases=True, earlier_launches=cleared, prices=prices)
    row = study[(study["stage"] == EARLIER_TAKE)].iloc[0]
    assert (row["phase"], row["quantity"], row["cost_usd"]) == ("confirm", 4.0, 8.0)
    assert study["cost_usd"].sum() == pytest.approx(3.2 + 16.0 + 8.0)
    assert "a" not in set(study_ledger(None, main, has_phases=False, reused={"a"})["variant"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_phase_goes_out_as_focus_and_comes_back(suffix, phases, tmp_path):
    screening, main, _ = phases
    for study in (
        study_ledger(screening, main, has_phases=True),
        study_ledger(None, main, has_phases=False),
    ):
        focus = focus_of(study, BILLING, job="tiny", run_id="r")
        write_focus(focus, tmp_path / f"f{suffix}")
        back = read_focus(tmp_path / f"f{suffix}")
        assert list(back["x_phase"].fillna("")) == list(study["phase"])
        assert list(ledger_from(back)["phase"]) == list(ledger_from(focus)["phase"])
    assert back["x_phase"].isna().all()  # a job without phases: null, and not a word


def test_an_export_of_an_older_version_has_no_phase(phases, tmp_path):
    focus = focus_of(phases[1], BILLING, job="tiny", run_id="r").drop(columns="x_phase")
    assert set(ledger_from(focus)["phase"]) == {""}
