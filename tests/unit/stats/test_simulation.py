"""A smoke of the simulations: coverage, errors and power within what so few studies can tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulations.gates import PATHS, multi_variant_error, planned_power, type_one_error
from simulations.studies import TRUTHS, coverage

STUDIES = 300
CHECKOUT = Path(__file__).resolve().parents[3]


def error_of(share):
    """Three binomial standard errors."""
    return 3 * np.sqrt(share * (1 - share) / STUDIES)


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize(
    ("distribution", "estimand"), [("normal", "difference"), ("normal", "level"), ("lognormal", "ratio")]
)
def test_95_percent_intervals_cover_in_95_percent_of_studies(distribution, estimand, n):
    rates = coverage(TRUTHS[distribution], estimand, n, STUDIES, seed=n)
    assert rates.ours.value == pytest.approx(0.95, abs=error_of(0.95))


def test_the_bootstrap_t_covers_the_mean_of_lognormal_runs_oftener_than_students():
    rates = coverage(TRUTHS["lognormal"], "level", 30, 200, seed=1, peers=200)
    assert rates.ours.value > rates.peers["student"].value


@pytest.mark.parametrize(
    "gate", ["change_at_most", "change_at_least", "equivalent_within", "non_inferiority"]
)
def test_a_gate_passes_at_the_edge_of_its_bound_in_5_percent_of_studies_at_most(gate):
    rates = type_one_error(PATHS[gate], 10, STUDIES, seed=1)
    assert rates.ours.value <= 0.05 + error_of(0.05)


@pytest.mark.parametrize("gate", ["at_most", "at_least", "at_most_varied", "at_most_skewed"])
def test_so_does_a_bound_on_the_level(gate):
    rates = type_one_error(PATHS[gate], 10, STUDIES, seed=1)
    assert rates.ours.value <= 0.05 + error_of(0.05)


def test_any_of_four_variants_passes_in_5_percent_of_studies_at_most():
    rates = multi_variant_error(10, STUDIES, seed=1)
    assert rates.ours.value <= 0.05 + error_of(0.05)
    assert rates.peers["uncorrected"].value > rates.ours.value


@pytest.mark.parametrize(
    "gate", ["change_at_most", "change_at_least", "equivalent_within", "non_inferiority"]
)
def test_a_gate_has_the_power_that_was_planned(gate):
    plan, rates = planned_power(PATHS[gate], STUDIES, seed=2)
    assert plan.power >= 0.8
    assert rates.ours.value == pytest.approx(plan.power, abs=error_of(0.8))


def test_the_benchmark_does_not_hide_the_standard_librarys_statistics():
    code = "import statistics; print(statistics.median([1, 2, 9]))"
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'benchmarks'); {code}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "2"
