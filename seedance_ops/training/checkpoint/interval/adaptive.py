"""The interval that costs least, from what is measured, and a quiet moment for each checkpoint.

A checkpoint every T seconds costs C/T of the time, and a failure, every M seconds, loses T/2 on average:
C/T + T/(2M) is least at T = sqrt(2 C M) (Young 1974; the first order of Daly 2006). Since writing goes on
beside training, C is what training loses by it, not how long it takes; that, W, bounds T from below: a
checkpoint does not begin before the last one is durable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median

from seedance_ops.training.checkpoint.interval.config import AdaptiveInterval
from seedance_ops.training.checkpoint.interval.observation import Decision, IntervalState, Observation

BUSY_SAMPLES = 3
"""Whose mean tells whether the disk is busy: one alone may be an accident."""
_LOOKS = 20
"""In an interval, while a checkpoint waits: each is a meeting of all ranks."""
_ROUNDING = 1e-9


def least_cost_interval_s(cost_s: float, mtbf_s: float, durable_s: float) -> float:
    """``T* = max(W, sqrt(2 C M))``, in seconds.

    Args:
        cost_s: C, what training loses by one checkpoint.
        mtbf_s: M, the mean time between failures.
        durable_s: W, from a checkpoint's beginning until it is durable.
    """
    return max(durable_s, math.sqrt(2.0 * cost_s * mtbf_s))


@dataclass(frozen=True)
class Adaptive:
    """Asked when the interval is over, and while a checkpoint waits."""

    config: AdaptiveInterval
    base_steps: int
    object_every: int
    """One in how many checkpoints goes to the object store."""

    def start(self) -> IntervalState:
        """The base, within the bounds."""
        low, high = self.config.bounds(self.base_steps)
        return IntervalState(interval_steps=min(max(self.base_steps, low), high))

    def first_step(self, step: int, state: IntervalState) -> int:
        """After the interval in force."""
        return step + state.interval_steps

    def decide(self, state: IntervalState, seen: Observation) -> tuple[IntervalState, Decision]:
        """The interval first; then whether now is the moment."""
        known = state.learn(seen)
        interval, why = self._interval(known)
        missing = interval - seen.steps_since_last
        look = max(1, interval // _LOOKS)
        begins, then = True, seen.step + interval
        if missing > 0:
            begins, then = False, seen.step + missing
        elif patience := self._patience(interval, seen):
            begins, then = False, seen.step + min(look, patience)
            why = f"waits, others keep the disk busy {self._others(seen):.0%} of the time; {why}"
        decision = Decision(begins, interval, then, seen.step + look, why)
        return known.model_copy(update={"interval_steps": interval}), decision

    def durable_s(self, state: IntervalState) -> float:
        """W: how far apart checkpoints must begin for each to be durable before its successor begins.

        Of the newest few the slowest: one that is too early is skipped. Where the object store takes one in
        k, the way there has k intervals.
        """
        near_s, far_s = max(state.near_s, default=0.0), max(state.far_s, default=0.0)
        return max(near_s, (near_s + far_s) / self.object_every)

    def _interval(self, state: IntervalState) -> tuple[int, str]:
        low, high = self.config.bounds(self.base_steps)
        current = min(max(state.interval_steps, low), high)
        if state.step_s is None or not state.costs_s:
            return current, "no checkpoint's cost is known yet"
        cost_s, durable_s, step_s = median(state.costs_s), self.durable_s(state), state.step_s
        extra_s = self.config.price.extra_cost_s if self.config.price else 0.0
        best_s = least_cost_interval_s(cost_s + extra_s, self.config.mtbf_h * 3600.0, durable_s)

        def steps(seconds: float) -> int:
            return max(low, math.ceil(min(float(high), seconds / step_s) - _ROUNDING))

        best = steps(best_s)
        why = (
            f"T* {best_s:.3g} s = {best} steps, by C {cost_s:.3g} s, W {durable_s:.3g} s, "
            f"a step {step_s:.3g} s, MTBF {self.config.mtbf_h:g} h"
        )
        close = abs(best - current) <= self.config.hysteresis * current
        if close and current >= steps(durable_s):
            return current, why
        return best, why

    def _patience(self, interval: int, seen: Observation) -> int:
        """For how many steps more it may wait; 0 where the disk is quiet, or nobody knows."""
        if self._others(seen) < self.config.busy_threshold:
            return 0
        _, high = self.config.bounds(self.base_steps)
        longest = min(high, interval + int(self.config.max_delay * interval))
        return max(0, longest - seen.steps_since_last)

    @staticmethod
    def _others(seen: Observation) -> float:
        newest = seen.others_shares[-BUSY_SAMPLES:]
        return fmean(newest) if newest else 0.0
