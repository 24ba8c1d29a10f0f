"""From what a probe measured to the step time of each candidate, and to the choice; nothing is run here.

A step is computing, then waiting for what of the exchange the backward pass does not hide. The probe times
every exchange by itself. What of it goes over the link follows from its bytes and the link's speed; the rest
is encoding and decoding, of which nothing counts as hidden: it competes with the backward pass for the same
processor. So predictions err to the side of leaving things as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEAST_GAIN = 0.05
"""Share of a step that a candidate must be predicted to save: what follows from a probe is no closer."""
MOST_LOSS = 0.05
"""A candidate that turns out to cost this share more than bf16 is given up."""


@dataclass(frozen=True)
class LinkSpeed:
    """Between ranks, as a collective sees it."""

    latency_s: float
    """Of a collective of next to nothing."""
    bytes_per_s: float
    """That one rank sends."""

    def transfer_s(self, bytes_sent: int, collectives: int) -> float:
        """How long it takes to send so much."""
        return self.latency_s * collectives + bytes_sent / self.bytes_per_s


@dataclass(frozen=True)
class Bf16Steps:
    """What training took so far, with gradients in bf16: medians, of the slowest rank."""

    step_s: float
    wait_s: float
    exchange_s: float
    """The same exchange by itself, with nothing to hide behind."""

    @property
    def compute_s(self) -> float:
        """The step without its wait."""
        return self.step_s - self.wait_s

    @property
    def hidden_s(self) -> float:
        """What of the exchange went on behind the backward pass."""
        return max(0.0, self.exchange_s - self.wait_s)


@dataclass(frozen=True)
class Trial:
    """One candidate's exchange by itself."""

    name: str
    exchange_s: float
    bytes_sent: int
    """By one rank."""
    collectives: int
    beside_next_step: bool = False
    """Whether it has a whole step to hide behind."""


def predicted_step_s(trial: Trial, bf16: Bf16Steps, link: LinkSpeed) -> float:
    """Seconds of a step with this candidate."""
    transfer_s = min(trial.exchange_s, link.transfer_s(trial.bytes_sent, trial.collectives))
    coding_s = trial.exchange_s - transfer_s
    hidden_s = bf16.compute_s if trial.beside_next_step else bf16.hidden_s
    return bf16.compute_s + coding_s + max(0.0, transfer_s - hidden_s)


def fastest(tiers: Sequence[Mapping[str, float]], bf16_s: float) -> str | None:
    """The name with the shortest step; none where it does not save enough.

    Args:
        tiers: Seconds a step by name; those of worse quality must save enough against those before.
        bf16_s: A step as it is.
    """
    best, best_s = None, bf16_s
    for tier in tiers:
        for name, step_s in sorted(tier.items(), key=lambda each: each[1])[:1]:
            if step_s < (1 - LEAST_GAIN) * best_s:
                best, best_s = name, step_s
    return best


def is_slower(actual_s: float, bf16_s: float) -> bool:
    """Whether what was chosen costs too much after all."""
    return actual_s > (1 + MOST_LOSS) * bf16_s
