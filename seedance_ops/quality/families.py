"""The variants that one gate tests together, and Holm's correction for their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from seedance_ops.jobs.gates import Condition
from seedance_ops.quality.evidence import Evidence
from seedance_ops.stats.multiplicity import Adjusted, holm
from seedance_ops.stats.outcomes import NotJudgeable

_MARGINS = ("equivalent_within", "non_inferior_within")


def alpha_of(condition: Condition) -> float:
    """One-sided α of a gate's test: 0.05 where it judges the 90 % interval, 0.025 for one end of the 95 %."""
    return 0.05 if condition in _MARGINS else 0.025


def corrected(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with Holm's adjusted p of each test, over the variants that its gate tests.

    A family is what one gate judges, together with gates that ask the same of other variants: a copy for each
    variant makes no test easier. Counted metrics are exact, no test: they are in no family. A variant that
    cannot be judged counts as p = 1, so that one that broke makes it no easier for the others. In a family of
    one the p value stays as it is.
    """
    measured = [item for item in evidence if item.metric.nature == "measured"]
    key_of = _keys(measured)
    families: dict[Hashable, list[Evidence]] = {}
    for item in measured:
        families.setdefault(key_of[item.gate_id], []).append(item)
    adjusted = {key: _adjusted(members) for key, members in families.items()}
    return [
        replace(
            item,
            p_adjusted=adjusted[key_of[item.gate_id]].get(item.variant),
            family=len(families[key_of[item.gate_id]]),
        )
        if item.gate_id in key_of
        else item
        for item in evidence
    ]


def _keys(measured: Sequence[Evidence]) -> dict[str, Hashable]:
    """The family of each gate: what it asks, unless gates that ask the same share a variant."""
    question = {
        item.gate_id: (item.gate.metric, item.gate.condition, item.gate.compared_to) for item in measured
    }
    asked = Counter((question[item.gate_id], item.variant) for item in measured)
    twice = {about for (about, _), times in asked.items() if times > 1}
    return {gate: gate if about in twice else about for gate, about in question.items()}


def _adjusted(members: Sequence[Evidence]) -> Mapping[str, float]:
    if len(members) == 1:
        return {item.variant: item.p_value for item in members if item.p_value is not None}
    tests = holm({item.variant: _p_value(item) for item in members})
    return {name: test.adjusted_p_value for name, test in tests.items() if isinstance(test, Adjusted)}


def _p_value(item: Evidence) -> float | NotJudgeable:
    if item.p_value is not None:
        return item.p_value
    return (
        item.interval if isinstance(item.interval, NotJudgeable) else NotJudgeable(reason="it has no p value")
    )
