"""Compute, memory, network and storage coupled (R2.1): what contention does to a step's critical path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Literal, get_args

from pydantic import Field

from seedance_ops.cost.errors import BadQuantity
from seedance_ops.cost.quantities import not_negative
from seedance_ops.strict_model import StrictModel

Resource = Literal["compute", "memory", "network", "storage"]
RESOURCES: tuple[Resource, ...] = get_args(Resource)


class Factor(StrictModel):
    """How much slower one operation on a resource is under contention."""

    resource: Resource
    base_s: float = Field(gt=0.0)
    """Seconds, alone."""
    contended_s: float = Field(gt=0.0)
    """Seconds, with the neighbours at work."""
    source: Literal["measured", "published"]

    @property
    def amplification(self) -> float:
        """Contended ÷ base; below 1 where a probe's noise exceeds the effect."""
        return self.contended_s / self.base_s


PUBLISHED: dict[Resource, Factor] = {
    "compute": Factor(resource="compute", base_s=5e-9, contended_s=7e-9, source="published"),
    "memory": Factor(resource="memory", base_s=80e-9, contended_s=210e-9, source="published"),
    "network": Factor(resource="network", base_s=120e-6, contended_s=480e-6, source="published"),
    "storage": Factor(resource="storage", base_s=150e-6, contended_s=890e-6, source="published"),
}
"""The evaluation report's table (R2.1): claims about somebody's cluster, for want of measurements."""


UNCHANGED: dict[Resource, Factor] = {
    resource: Factor(resource=resource, base_s=1.0, contended_s=1.0, source="measured")
    for resource in RESOURCES
}
"""For times that were measured under load: contention is in them already."""


@dataclass(frozen=True)
class Operation:
    """Something a step does on one resource, once what it waits for has ended."""

    name: str
    resource: Resource
    duration_s: float
    """Seconds without contention."""
    after: tuple[str, ...] = ()
    """Names of the operations that it waits for."""


@dataclass(frozen=True)
class Split:
    """Where a step's time and money went; each mapping has ``RESOURCES`` and ``idle``, and sums up."""

    seconds: Mapping[str, float]
    usd: Mapping[str, float]
    critical_path: tuple[str, ...]
    base_path_s: float
    """Length of the critical path without contention; it may be another path."""
    contended_path_s: float
    sources: Mapping[Resource, Literal["measured", "published"]]

    @property
    def amplification(self) -> float:
        """Contended ÷ base critical path: overlap hides part of the resources' own factors."""
        return self.contended_path_s / self.base_path_s if self.base_path_s > 0.0 else 1.0


def factors_from(measured: Iterable[Factor]) -> dict[Resource, Factor]:
    """Measured factors, with the published one, tagged as such, where a resource was not measured."""
    return PUBLISHED | {factor.resource: factor for factor in measured}


def measured_step(
    *, compute_s: float, communication_wait_s: float, checkpoint_stall_s: float
) -> tuple[Operation, ...]:
    """A training step as its record has it: exposed times in sequence. Split it with ``UNCHANGED``.

    The record does not tell memory from compute: ``memory`` stays 0, and ``compute`` holds both.

    Args:
        compute_s: ``steps.compute_s``, with what overlaps it.
        communication_wait_s: ``steps.communication_wait_s``, exposed.
        checkpoint_stall_s: ``steps.checkpoint_stall_s``.
    """
    return (
        Operation("checkpoint", "storage", checkpoint_stall_s),
        Operation("compute", "compute", compute_s, ("checkpoint",)),
        Operation("communication", "network", communication_wait_s, ("compute",)),
    )


def split_step(
    trace: Sequence[Operation],
    factors: Mapping[Resource, Factor],
    *,
    step_time_s: float | None = None,
    usd: float = 0.0,
) -> Split:
    """Split a step's time and cost along its critical path.

    Every operation is stretched by its resource's amplification, and the longest chain of operations that
    wait for each other is the step. Operations beside it cost no time: they overlap. What the step took
    beyond that chain is ``idle``.

    Args:
        trace: The step's operations, in any order.
        factors: One for every resource in the trace.
        step_time_s: What the step really took; without it, nothing was idle.
        usd: What the step cost; shared out by time.

    Raises:
        BadQuantity: A name is doubled or unknown, the waiting is circular, a duration is negative, a factor
            is lacking, or the step was shorter than its critical path.
    """
    operations = _by_name(trace)
    lacking = {operation.resource for operation in trace} - factors.keys()
    if lacking:
        raise BadQuantity(
            f"no factor for {', '.join(sorted(lacking))}; factors_from() fills in published ones"
        )
    order = _in_order(operations)
    contended = {o.name: o.duration_s * factors[o.resource].amplification for o in trace}
    path = _longest_chain(operations, order, contended)
    length = sum(contended[name] for name in path)
    base = {o.name: o.duration_s for o in trace}
    base_length = sum(base[name] for name in _longest_chain(operations, order, base))
    idle = _idle(step_time_s, length)
    seconds: dict[str, float] = dict.fromkeys((*RESOURCES, "idle"), 0.0) | {"idle": idle}
    for name in path:
        seconds[operations[name].resource] += contended[name]
    whole = length + idle
    not_negative(usd, "usd")
    return Split(
        seconds=seconds,
        usd={part: value / whole * usd if whole > 0.0 else 0.0 for part, value in seconds.items()},
        critical_path=path,
        base_path_s=base_length,
        contended_path_s=length,
        sources={resource: factors[resource].source for resource in sorted({o.resource for o in trace})},
    )


def _by_name(trace: Sequence[Operation]) -> dict[str, Operation]:
    operations = {operation.name: operation for operation in trace}
    if len(operations) != len(trace):
        raise BadQuantity("two operations of the trace have the same name")
    for operation in trace:
        not_negative(operation.duration_s, f"duration_s of {operation.name}")
        if unknown := set(operation.after) - operations.keys():
            raise BadQuantity(f"{operation.name} waits for {', '.join(sorted(unknown))}: not in the trace")
    return operations


def _in_order(operations: Mapping[str, Operation]) -> tuple[str, ...]:
    try:
        return tuple(TopologicalSorter({name: o.after for name, o in operations.items()}).static_order())
    except CycleError as error:
        raise BadQuantity(f"operations wait for each other: {' → '.join(error.args[1])}") from None


def _longest_chain(
    operations: Mapping[str, Operation], order: Sequence[str], duration_s: Mapping[str, float]
) -> tuple[str, ...]:
    """The critical path: earliest ends in topological order, then back from the latest."""
    ends: dict[str, float] = {}
    before: dict[str, str | None] = {}
    for name in order:
        last = max(operations[name].after, key=lambda other: ends[other], default=None)
        before[name] = last
        ends[name] = duration_s[name] + (ends[last] if last is not None else 0.0)
    name_or_none = max(ends, key=lambda name: ends[name], default=None)
    path: list[str] = []
    while name_or_none is not None:
        path.append(name_or_none)
        name_or_none = before[name_or_none]
    return tuple(reversed(path))


def _idle(step_time_s: float | None, length_s: float) -> float:
    if step_time_s is None:
        return 0.0
    idle = not_negative(step_time_s, "step_time_s") - length_s
    if idle < -1e-9 * max(1.0, length_s):
        raise BadQuantity(
            f"the step took {step_time_s} s, its critical path {length_s} s: the factors are too large for "
            "this machine; measure them"
        )
    return max(0.0, idle)
