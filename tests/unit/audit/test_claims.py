"""Each kind of claim against cases worked out by hand."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("start", "end", "stated", "outcome"),
    [
        ("4.27", "2.41", "-43.6", "agrees"),  # −43.559…
        ("2140", "386", "-81.9", "disagrees"),  # −81.963…
        ("2140", "386", "-82.0", "agrees"),
        ("0", "386", "-82.0", "not_checkable"),
    ],
)
def test_percent_changes(finding_of, start: str, end: str, stated: str, outcome: str) -> None:
    claim = {"kind": "percent_change", "from": "before", "to": "after", "stated": stated}
    assert finding_of(claim, before=start, after=end).outcome == outcome


def test_a_disagreement_says_what_is_right_and_whether_rounding_could_excuse_it(finding_of) -> None:
    claim = {"kind": "percent_change", "from": "before", "to": "after", "stated": "-81.9"}
    found = finding_of(claim, before="2140", after="386")
    assert found.right == "-82.0 %"
    assert found.within_input_rounding is True  # 100 × (386.5 − 2139.5) ÷ 2139.5 = −81.935
    assert finding_of(claim | {"stated": "-80.0"}, before="2140", after="386").within_input_rounding is False


@pytest.mark.parametrize(("stated", "outcome"), [("1.50", "agrees"), ("1.51", "disagrees")])
def test_ratios(finding_of, stated: str, outcome: str) -> None:
    claim = {"kind": "ratio", "of": "two", "to": "one", "stated": stated}
    assert finding_of(claim, two="12650", one="8420").outcome == outcome  # 1.5024


@pytest.mark.parametrize(("total", "outcome"), [("222", "agrees"), ("223", "disagrees")])
def test_sums(finding_of, total: str, outcome: str) -> None:
    found = finding_of({"kind": "sum", "terms": ["a", "b"], "stated": "t"}, a="128", b="94", t=total)
    assert (found.outcome, found.right) == (outcome, "222")


def test_what_the_named_causes_explain(finding_of) -> None:
    claim = {
        "kind": "explained_by",
        "from": "ours",
        "factors": {"pue": ["theirs", "mine"]},
        "stated": "other",
    }
    figures = {"ours": "0.47", "theirs": "1.24", "mine": "1.08"}
    assert finding_of(claim, **figures, other="0.73").right == "0.54"  # 0.5396
    assert finding_of(claim, **figures, other="0.54").outcome == "agrees"


def test_a_factor_made_from_what_it_normalises_cancels(finding_of) -> None:
    claim = {"kind": "calibration_factor", "values": ["a", "b"], "factors": ["fa", "fb"]}
    own = finding_of(claim, a="8420", b="12650", fa="1.00", fb="1.50")
    assert own.outcome == "disagrees"
    assert "8420, 8433" in own.explanation
    assert finding_of(claim, a="8420", b="12650", fa="1.00", fb="1.07").outcome == "agrees"


def test_a_price_a_thousand_times_the_hardwares(finding_of) -> None:
    claim = {
        "kind": "unit_price",
        "figures": ["usd"],
        "usd_per_accelerator_hour": 1.39,
        "peak_tflops": 312,
        "source": "list price",
    }
    found = finding_of(claim, usd="4.27")
    assert found.outcome == "disagrees"
    assert "USD per PFLOPS·h" in found.explanation
    assert finding_of(claim, usd="0.0111").outcome == "agrees"  # 40 % of the peak


@pytest.mark.parametrize(
    ("formula", "symbols", "unit", "outcome"),
    [
        (
            "cost / 3600 * rate * 1000",
            {"cost": "USD/hour", "rate": "request/second"},
            "USD/request",
            "disagrees",
        ),
        ("cost / rate", {"cost": "USD/hour", "rate": "request/hour"}, "USD/request", "agrees"),
        ("cost / rate", {"cost": "USD/hour", "rate": "request/second"}, "USD/request", "disagrees"),
        ("0.6 * share + 0.1 * traffic", {"share": "1", "traffic": "GB"}, "1", "disagrees"),
        ("max(1.0, p99 / limit)", {"p99": "ms", "limit": "ms"}, "1", "agrees"),
        ("share * unknown", {"share": "1"}, "1", "not_checkable"),
        ("__import__('os').getcwd()", {"share": "1"}, "1", "not_checkable"),
        ("share ** 99999999", {"share": "1"}, "1", "not_checkable"),
        ("share", {"share": "furlongs_of_gold"}, "1", "not_checkable"),
    ],
)
def test_the_units_of_formulas(
    finding_of, formula: str, symbols: dict[str, str], unit: str, outcome: str
) -> None:
    found = finding_of({"kind": "formula_unit", "formula": formula, "symbols": symbols, "unit": unit})
    assert found.outcome == outcome, found.explanation


@pytest.mark.parametrize(
    ("f_value", "p_value", "groups", "outcome"),
    [
        ("4.82", "0.012", 2, "disagrees"),  # R5.3: fits three groups of together 60, never two
        ("0.91", "0.408", 2, "disagrees"),
        ("4.82", "0.012", 3, "agrees"),
        ("5.59", "0.05", 2, "agrees"),  # F(1, 7) at p 0.05, from a table of quantiles
    ],
)
def test_f_with_its_p(finding_of, f_value: str, p_value: str, groups: int, outcome: str) -> None:
    claim = {"kind": "f_test", "f_value": f_value, "p_value": p_value, "groups": groups}
    found = finding_of(claim)
    assert found.outcome == outcome, found.explanation
