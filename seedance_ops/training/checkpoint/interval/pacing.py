"""When checkpoints are due, alike on all ranks: rank 0 decides where they meet, all know the next step."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.config import CheckpointConfig
from seedance_ops.training.checkpoint.interval.adaptive import BUSY_SAMPLES
from seedance_ops.training.checkpoint.interval.config import ReportInterval
from seedance_ops.training.checkpoint.interval.measuring import CostMeter
from seedance_ops.training.checkpoint.interval.observation import (
    Decision,
    IntervalState,
    Observation,
    Pace,
)
from seedance_ops.training.checkpoint.interval.policies import policy_of
from seedance_ops.training.checkpoint.interval.sampling import Sampler
from seedance_ops.training.metrics.records import CheckpointIntervalRecord, CheckpointWriteRecord

Outcome = Literal["begun", "postponed", "skipped"]


class Inputs(StrictModel):
    """What a decision was made from; the column ``inputs``, as JSON."""

    state: IntervalState
    seen: Observation


@dataclass(frozen=True)
class Proposal:
    """Rank 0's, as all ranks hear it."""

    inputs: Inputs
    state: IntervalState
    decision: Decision


class Pacing:
    """Every rank has one and calls it alike; rank 0's measures and decides.

    Args:
        config: What the job asks for.
        rank: Of this process.
    """

    def __init__(self, config: CheckpointConfig, rank: int) -> None:
        self._config, self._rank = config, rank
        self._policy = policy_of(config)
        self._state = self._policy.start()
        self._number = self._last_step = 0
        self._next_step = self._policy.first_step(0, self._state)
        self._meter = CostMeter()
        self._sampler: Sampler | None = None
        self._rows: deque[CheckpointIntervalRecord] = deque()

    @property
    def adapts(self) -> bool:
        """Whether anything is decided while training runs."""
        return self._config.interval.policy != "fixed"

    @property
    def pace(self) -> Pace:
        """What a checkpoint keeps of it."""
        return Pace(number=self._number, state=self._state)

    def watch(self, sampler: Sampler) -> None:
        """Take a disk into account, on rank 0."""
        self._sampler = sampler
        sampler.start()

    def resume(self, step: int, pace: Pace | None) -> None:
        """Go on where a checkpoint stands; one without a pace was written at a fixed interval."""
        self._number = -(-step // self._config.interval_steps) if pace is None else pace.number
        self._state = self._policy.start() if pace is None else pace.state
        self._last_step = step
        self._next_step = self._policy.first_step(step, self._state)

    def due(self, step: int) -> bool:
        """Whether ranks meet after this step."""
        return step >= self._next_step

    def step(self, step_s: float, stall_s: float, *, writing: bool) -> None:
        """See ``CostMeter``."""
        if self._rank == 0:
            self._meter.step(step_s, stall_s, writing=writing)

    def committed(self, writes: Sequence[CheckpointWriteRecord]) -> None:
        """See ``CostMeter``."""
        self._meter.committed(writes)

    def propose(self, step: int) -> Proposal | None:
        """Rank 0's decision, for all to hear; none of any other rank."""
        if self._rank != 0:
            return None
        inputs = Inputs(state=self._state, seen=self._observe(step))
        return Proposal(inputs, *self._policy.decide(inputs.state, inputs.seen))

    def follow(self, proposal: Proposal, *, free: bool) -> Outcome:
        """What is done at this step, the same on every rank.

        Args:
            proposal: Rank 0's.
            free: Whether no rank still writes the checkpoint before.
        """
        decision = proposal.decision
        outcome: Outcome = "postponed" if not decision.begins else "begun" if free else "skipped"
        self._next_step = decision.retry_step if outcome == "skipped" else decision.next_step
        self._state = proposal.state
        if self._rank == 0 and self.adapts:
            self._tell(proposal)
            self._rows.append(self._row(proposal, outcome))
        return outcome

    def begin(self, step: int) -> int:
        """Count a checkpoint, as it is staged; its number, from 1."""
        self._number += 1
        self._last_step = step
        if self._rank == 0:
            self._meter.began()
        return self._number

    def rows(self) -> list[CheckpointIntervalRecord]:
        """Decisions since the last call, of rank 0; any thread may ask."""
        rows = []
        while self._rows:
            rows.append(self._rows.popleft())
        return rows

    def close(self) -> None:
        """Watch no longer."""
        if self._sampler is not None:
            self._sampler.close()

    def _observe(self, step: int) -> Observation:
        measured = self._meter.take()
        interval = self._config.interval
        count = interval.consecutive if isinstance(interval, ReportInterval) else BUSY_SAMPLES
        return Observation(
            step=step,
            steps_since_last=step - self._last_step,
            **measured._asdict(),
            busy_shares=self._sampler.busy_shares(count) if self._sampler else (),
            others_shares=self._sampler.others_shares(count) if self._sampler else (),
        )

    def _tell(self, proposal: Proposal) -> None:
        before, decision = proposal.inputs.state.interval_steps, proposal.decision
        if decision.interval_steps != before:
            print(
                f"seedance: checkpoint interval {before} -> {decision.interval_steps} steps after step "
                f"{proposal.inputs.seen.step}: {decision.reason}",
                file=sys.stderr,
                flush=True,
            )

    def _row(self, proposal: Proposal, outcome: Outcome) -> CheckpointIntervalRecord:
        return CheckpointIntervalRecord(
            step=proposal.inputs.seen.step,
            at_s=time.time(),
            policy=self._config.interval.policy,
            outcome=outcome,
            interval_steps=proposal.decision.interval_steps,
            next_step=self._next_step,
            inputs=proposal.inputs.model_dump_json(),
            reason=proposal.decision.reason,
        )
