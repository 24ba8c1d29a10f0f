"""The run's first steps in bf16; then whatever a probe has found to be fastest on this very link.

Every seed of a variant, and every resume, has the same algorithm in the same step: what is decided first is
kept in the object store, and all others go by it. So seeds stay comparable, and a slow minute of one run
does not make it another treatment.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.auto import debt
from seedance_ops.training.compression.auto.candidates import CANDIDATES, FALLBACK
from seedance_ops.training.compression.auto.debt import Debt
from seedance_ops.training.compression.auto.decision import (
    DECISION_FILE,
    Decision,
    Document,
    Record,
    Verdict,
)
from seedance_ops.training.compression.auto.prediction import is_slower
from seedance_ops.training.compression.auto.probe import BucketShape, Probe
from seedance_ops.training.compression.auto.rank_zero import from_rank_zero
from seedance_ops.training.compression.auto.survey import Candidates, Make, survey
from seedance_ops.training.compression.base import Bound, Bucket, Exchange, GradientReduction, Reduction
from seedance_ops.training.errors import ConfigurationError

PROBE_AFTER = 10
"""Steps in bf16 before the probe, the first of which are slow and do not count."""
TRIED_FOR = 10
"""Steps with what was chosen before it may be kept for good."""
GIVEN_UP_AFTER = 30
"""Steps with it before it may be given up: ten steps of a busy machine are no proof that it is slower."""
_ENOUGH = 20
"""Steps to have seen before it is given up: a resume has not seen those before it."""
_UNSETTLED = 3
_STEP, _DECISION, _VERDICT = "auto.step", "auto.decision", "auto.verdict"
_OWN = (_STEP, _DECISION, _VERDICT, debt.PREFIX)


class Auto:
    """Bf16, and from the decision on the candidate that was chosen, unless it is given up again."""

    name = "auto"
    fits_any_world_size = True

    def __init__(self, candidates: Candidates, make: Make, record: Record, author: str) -> None:
        """Nothing is decided yet.

        Args:
            candidates: Names of those that may be chosen, where ranks may step by themselves or not.
            make: One of them.
            record: Where decisions are kept.
            author: Who this run is, to the reader of a decision.
        """
        self._candidates, self._make = candidates, make
        self._record, self._author = record, author
        self._bf16 = make(FALLBACK)
        self._chosen: GradientReduction = self._bf16
        self._decision: Decision | None = None
        self._verdict: Verdict | None = None
        self._step = 0
        self._buckets: list[BucketShape] = []
        self._times_s: list[tuple[float, float]] = []
        self._debt = Debt()

    def bind(self, bound: Bound) -> None:
        """Take up what was decided in another run of the variant; a collective call."""
        self._bound = bound
        self._bf16.bind(bound)
        if not self._is_alone:
            self._adopt(self._known(DECISION_FILE, Decision))

    def close(self) -> None:
        """Close what was chosen."""
        self._chosen.close()

    def reduce(self, bucket: Bucket) -> Reduction:
        """By the one whose turn it is."""
        if bucket.index() == 0:
            self._buckets.clear()
        if self._decision is None:
            self._buckets.append(BucketShape.of(bucket))
        return self._debt.pay(bucket, self._bound, self._now) if self._debt else self._now.reduce(bucket)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Of the one whose turn it is."""
        return self._now.declared_bytes(shapes, world_size)

    def observe(self, step_s: float, wait_s: float) -> None:
        """What the step took that has just ended: its time without checkpoints, and its wait."""
        undecided = self._decision is None and not self._is_alone
        tried = self._on_trial and self._decision is not None and self._step > self._decision.from_step
        if undecided or tried:
            self._times_s.append((step_s, wait_s))

    def end_step(self) -> Exchange:
        """Of the one whose turn it is; then, when it is time, the probe and the judgement."""
        done = self._now.end_step()
        self._debt.end_step()
        self._step += 1
        if self._is_alone:
            return done
        if self._decision is None:
            if self._step >= PROBE_AFTER and len(self._times_s) > _UNSETTLED:
                done += self._decide()
        elif self._on_trial and self._is_time_to_judge(self._step - self._decision.from_step):
            done += self._judge(self._decision)
        return done

    def meet(self) -> Exchange:
        """Of the one whose turn it is."""
        return self._chosen.meet()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Steps done, what was decided, what is owed, and the state of what was chosen."""
        state = self._chosen.state_dict() | self._debt.state_dict() | {_STEP: torch.tensor(self._step)}
        if self._decision is not None:
            state[_DECISION] = _as_tensor(self._decision)
        if self._verdict is not None:
            state[_VERDICT] = _as_tensor(self._verdict)
        return state

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go on where it was; what it goes by is decided already."""
        self._step = int(state[_STEP])
        if _DECISION in state and not self._is_alone:
            self._go_by(Decision.model_validate_json(_as_bytes(state[_DECISION])))
        if _VERDICT in state:
            self._verdict = Verdict.model_validate_json(_as_bytes(state[_VERDICT]))
        self._debt.load_state_dict(state)
        if self._given_up or self._is_alone:
            self._debt.take_over(state)
            self._leave()
        else:
            own = {name: value for name, value in state.items() if not name.startswith(_OWN)}
            if own:  # none where it was saved before anything was decided
                self._chosen.load_state_dict(own)

    @property
    def _is_alone(self) -> bool:
        return dist.get_world_size(self._bound.group) == 1

    @property
    def _now(self) -> GradientReduction:
        """Whose turn the step under way is."""
        begun = self._decision is not None and self._step >= self._decision.from_step
        return self._chosen if begun else self._bf16

    @property
    def _on_trial(self) -> bool:
        kept = self._verdict is not None and self._verdict.kept
        return self._chosen is not self._bf16 and not kept

    @property
    def _given_up(self) -> bool:
        decision, verdict = self._decision, self._verdict
        return (
            decision is not None
            and verdict is not None
            and not verdict.kept
            and self._step >= decision.from_step + verdict.steps
        )

    @staticmethod
    def _is_time_to_judge(tried_for: int) -> bool:
        return tried_for == TRIED_FOR or tried_for >= GIVEN_UP_AFTER

    def _decide(self) -> Exchange:
        """Go by what another run has decided meanwhile, or probe; from here on it counts for all."""
        decision, sent = self._known(DECISION_FILE, Decision), 0
        if decision is None:
            probe = Probe(self._bound, self._buckets)
            found = survey(
                probe, self._medians(), self._candidates, self._make, step=self._step, author=self._author
            )
            decision, sent = self._settled(DECISION_FILE, found), probe.bytes_sent
        self._adopt(decision)
        self._buckets.clear()
        self._times_s.clear()
        return Exchange(sent, sent)

    def _judge(self, decision: Decision) -> Exchange:
        """Keep it where it is no slower than bf16; where it is at the last look, all seeds give it up."""
        verdict, last = self._verdict, self._step >= decision.from_step + GIVEN_UP_AFTER
        verdict = verdict or self._known(decision.verdict_file(), Verdict)
        if verdict is None:
            if len(self._times_s) <= _UNSETTLED:
                return Exchange()
            found = self._found(decision)
            if not (found.kept or (last and len(self._times_s) >= _ENOUGH)):
                return Exchange()
            verdict = self._settled(decision.verdict_file(), found)
        if not (verdict.kept or last):
            return Exchange()
        self._verdict = verdict
        self._times_s.clear()
        if verdict.kept:
            self._say(f"{decision.chosen} stays: {verdict.sentence()}")
            return Exchange()
        self._say(f"{decision.chosen} is given up, gradients are in bf16 again: {verdict.sentence()}")
        done = self._chosen.meet()
        self._debt.take_over(self._chosen.state_dict())
        self._leave()
        return done

    def _found(self, decision: Decision) -> Verdict:
        actual_s, _ = Probe(self._bound, ()).largest(self._medians())
        return Verdict(
            kept=not is_slower(actual_s, decision.bf16_step_s),
            steps=GIVEN_UP_AFTER,
            made_by=self._author,
            actual_step_s=actual_s,
            predicted_step_s=decision.predicted_step_s(),
            bf16_step_s=decision.bf16_step_s,
        )

    def _medians(self) -> list[float]:
        """Of the steps observed and of their waits, without the first, which are slow."""
        steps_s, waits_s = zip(*self._times_s[_UNSETTLED:], strict=True)
        return [statistics.median(steps_s), statistics.median(waits_s)]

    def _go_by(self, saved: Decision) -> None:
        """Of a checkpoint; where somebody deleted what was decided, this run's own still counts for it."""
        if saved != self._decision:
            self._leave()
            self._adopt(saved)

    def _adopt(self, decision: Decision | None) -> None:
        """Make what was chosen; a collective call."""
        if decision is None:
            return
        if decision.chosen not in CANDIDATES:
            raise ConfigurationError(
                f"{decision.made_by} decided for {decision.chosen}, which this version does not have: delete "
                f"{DECISION_FILE} of the variant, and its next run decides anew"
            )
        self._decision = decision
        self._verdict = self._known(decision.verdict_file(), Verdict)
        self._say(decision.sentence())
        if decision.chosen != FALLBACK:
            self._chosen = self._make(decision.chosen)
            self._chosen.bind(self._bound)

    def _leave(self) -> None:
        if self._chosen is not self._bf16:
            self._chosen.close()
            self._chosen = self._bf16

    def _known(self, name: str, model: type[Document]) -> Document | None:
        """From rank 0, which reads it; a collective call."""
        return from_rank_zero(lambda: self._record.read(name, model))

    def _settled(self, name: str, document: Document) -> Document:
        """What counts; a collective call."""
        return from_rank_zero(lambda: self._record.settle(name, document))

    @staticmethod
    def _say(text: str) -> None:
        if dist.get_rank() == 0:
            print(f"seedance: gradient compression: {text}", file=sys.stderr, flush=True)


def _as_tensor(document: Document) -> torch.Tensor:
    return torch.frombuffer(bytearray(document.model_dump_json().encode()), dtype=torch.uint8)


def _as_bytes(tensor: torch.Tensor) -> bytes:
    return tensor.cpu().numpy().tobytes()
