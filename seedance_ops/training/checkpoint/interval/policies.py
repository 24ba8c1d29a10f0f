"""The policy that a job asks for, and the proof that its log explains what it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seedance_ops.training.checkpoint.config import CheckpointConfig
from seedance_ops.training.checkpoint.interval.adaptive import Adaptive
from seedance_ops.training.checkpoint.interval.config import AdaptiveInterval, ReportInterval
from seedance_ops.training.checkpoint.interval.fixed import Fixed
from seedance_ops.training.checkpoint.interval.observation import (
    Decision,
    IntervalState,
    Observation,
    Policy,
)
from seedance_ops.training.checkpoint.interval.report import Report


def policy_of(config: CheckpointConfig) -> Policy:
    """For the interval that a job's ``checkpoint`` block asks for."""
    match config.interval:
        case ReportInterval() as report:
            return Report(report, config.interval_steps)
        case AdaptiveInterval() as adaptive:
            return Adaptive(adaptive, config.interval_steps, config.cadence.object)
        case _:
            return Fixed(config.interval_steps)


def replay(policy: Policy, state: IntervalState, seen: Iterable[Observation]) -> Iterator[Decision]:
    """The decisions on a sequence of observations, from a state on: what was logged says why it was done."""
    for each in seen:
        state, decision = policy.decide(state, each)
        yield decision
