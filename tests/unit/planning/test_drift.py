"""Changes of level are found where they are, rarely where there is none, and lined up with what changed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seedance_ops.planning.causes import candidates
from seedance_ops.planning.change_points import change_points
from seedance_ops.planning.drift import drift_of
from seedance_ops.planning.history import HistoryRecord, Observation
from seedance_ops.stats.outcomes import NotJudgeable


def record(place: int, usd: float, *, accepted: bool = True, **stamp: str) -> HistoryRecord:
    return HistoryRecord(
        job="job",
        job_hash="same",
        run_id=f"run-{place}",
        ended_at_s=float(place),
        accepted=(),
        run_accepted=accepted,
        baseline="baseline",
        observations=(Observation(variant="baseline", metric="usd_per_run", values=(usd, usd)),),
        usd_per_accelerator_hour={"baseline": 1.0},
        stamp={"run_id": f"run-{place}", **stamp},
    )


def test_a_step_is_found_where_it_is() -> None:
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.normal(10, 0.2, 14), generator.normal(11, 0.2, 10)])
    (found,) = change_points(values)
    assert found.index == 14
    assert (found.before, found.after) == (pytest.approx(10, abs=0.2), pytest.approx(11, abs=0.2))


def test_two_steps_are_both_found() -> None:
    generator = np.random.default_rng(2)
    values = np.concatenate([generator.normal(level, 0.1, 10) for level in (5, 7, 4)])
    assert [point.index for point in change_points(values)] == [10, 20]


def test_without_a_change_few_series_have_one() -> None:
    generator = np.random.default_rng(3)
    found = sum(bool(change_points(generator.lognormal(0, 0.5, 20), alpha=0.05)) for _ in range(100))
    assert found <= 11  # binomial(100, 0.05): more than 11 in one of 200 sets


@pytest.mark.parametrize("values", [[1.0] * 7, [1.0] * 9 + [float("nan")], [1.0] * 9 + [float("inf")]])
def test_what_cannot_be_judged_is_not(values: list[float]) -> None:
    assert isinstance(change_points(np.array(values)), NotJudgeable)


def test_a_constant_history_has_not_changed() -> None:
    assert change_points(np.full(20, 3.0)) == ()


@given(arrays.arrays(np.float64, st.integers(8, 30), elements=st.floats(-1e6, 1e6, width=32)))
def test_segments_are_never_shorter_than_three_and_tile_the_series(values: np.ndarray) -> None:
    found = change_points(values)
    assert not isinstance(found, NotJudgeable)
    edges = [0, *(point.index for point in found), len(values)]
    assert all(later - earlier >= 3 for earlier, later in pairwise(edges))


def test_what_changed_once_and_there_is_the_likeliest_cause() -> None:
    history = [
        record(place, 1.0, git_commit=f"c{place}", version_torch="2.12" if place < 10 else "2.13")
        for place in range(20)
    ]
    first, second = candidates(history, 10)
    assert (first.what, first.before, first.after, first.score) == ("version_torch", "2.12", "2.13", 1.0)
    assert second.what == "git_commit"
    assert second.score == pytest.approx(1 / 19)
    assert candidates(history[:10], 3)[0].what == "git_commit"


def test_a_jobs_drift_names_run_size_and_cause() -> None:
    generator = np.random.default_rng(4)
    history = [
        record(
            place,
            float(generator.normal(2.0 if place < 12 else 2.6, 0.05)),
            cpu="old" if place < 12 else "new",
        )
        for place in range(24)
    ]
    report = drift_of("job", history)
    ((series, drift),) = report.findings
    assert (series.metric, drift.run_id) == ("usd_per_run", "run-12")
    assert drift.change == pytest.approx(0.3, abs=0.05)
    assert "cpu changed from old to new" in report.sentence(series, drift)


def test_runs_that_did_not_succeed_do_not_count() -> None:
    history = [record(place, 1.0, accepted=place % 2 == 0) for place in range(14)]
    report = drift_of("job", history)
    assert report.runs == 7
    assert isinstance(report.series[0].drifts, NotJudgeable)
