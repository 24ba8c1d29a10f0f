"""How numbers and gates are put into words, the same in the verdict, the report and the terminal."""

from __future__ import annotations

from seedance_ops.quality.results import DataCheck, GateResult

_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, *, signed: bool = False) -> str:
    """A number with four significant digits."""
    sign = "+" if signed else ""
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        factor, suffix = next(pair for pair in _SCALES if abs(value) >= pair[0])
        return f"{_digits(value / factor, sign)} {suffix}".replace("-", "−")
    return _digits(value, sign).replace("-", "−")


def percent(share: float, *, signed: bool = True) -> str:
    """A share in percent: -0.45 is −45 %."""
    value = 100 * share
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    value = round(value, digits) or 0.0
    text = f"{value:{'+' if signed and value else ''}.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %".replace("-", "−")


def interval(low: float, high: float, *, as_percent: bool = False, signed: bool = False) -> str:
    """Both ends of an interval."""
    if as_percent:
        return f"[{percent(low)}, {percent(high)}]"
    return f"[{number(low, signed=signed)}, {number(high, signed=signed)}]"


def bound_of(gate: GateResult) -> str:
    """A gate's bound: ``≤ −45 %``, ``within ±0.05``, ``≥ 0.6``, ``≤ +5 % (not worse)``."""
    signed = gate.scale != "level"
    if gate.condition == "equivalent_within":
        share = gate.scale == "relative"
        return f"within ±{percent(gate.bound, signed=False) if share else number(gate.bound)}"
    value = percent(gate.bound) if gate.scale == "relative" else number(gate.bound, signed=signed)
    if gate.condition == "non_inferior_within":
        return f"{'≤' if gate.bound > 0 else '≥'} {value} (not worse)"
    return f"{'≤' if gate.condition.endswith('at_most') else '≥'} {value}"


def finding_of(gate: GateResult) -> str:
    """What the runs say: ``+1.2 % [−0.4 %, +2.8 %] at 95 %``."""
    if gate.estimate is None or gate.low is None or gate.high is None:
        return "—"
    relative, signed = gate.scale == "relative", gate.scale == "absolute"
    shown = percent(gate.estimate) if relative else number(gate.estimate, signed=signed)
    if gate.low == gate.high:
        return f"{shown} in every run"
    ends = interval(gate.low, gate.high, as_percent=relative, signed=signed)
    return f"{shown} {ends} {gate.interval_is}"


def excess_of(gate: GateResult) -> str:
    """By how much a failed gate's interval reaches over the bound."""
    if gate.exceeds_by is None:
        return ""
    if gate.scale == "relative":
        return f"{100 * gate.exceeds_by:.3g} percentage points"
    return number(gate.exceeds_by)


def sentence_of(gate: GateResult) -> str:
    """A gate that does not hold, in one sentence."""
    if gate.outcome == "fail":
        sentence = f"{gate.metric} {finding_of(gate)}, wanted {bound_of(gate)}"
        why = f"over by {excess_of(gate)}" if gate.exceeds_by else gate.reason
        return f"{sentence}: {why}" if why else sentence
    verb = "could not be checked" if gate.outcome == "error" else "is not judgeable"
    return f"{gate.metric} {verb}: {gate.reason}"


def data_sentence_of(check: DataCheck) -> str:
    """A data check that does not hold, in one sentence."""
    what = f"data of {check.variant}: {check.name}"
    if check.outcome == "fail":
        return f"{what} fails, {check.violations} violations in {check.checked} checked ({check.example})"
    verb = "could not be checked" if check.outcome == "error" else "is not judgeable"
    return f"{what} {verb}: {check.example or 'there is nothing to look at'}"


def _digits(value: float, sign: str) -> str:
    magnitude = abs(value)
    if magnitude < 1e-4:
        return f"{value:{sign}.2e}"
    decimals = 0 if magnitude >= 1000 else 1 if magnitude >= 100 else 2 if magnitude >= 10 else 3
    decimals = decimals if magnitude >= 1 else 4 if magnitude >= 0.1 else 5 if magnitude >= 0.01 else 6
    text = f"{value:{sign}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
