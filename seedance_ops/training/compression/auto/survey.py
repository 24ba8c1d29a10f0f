"""The whole probe: the link, every candidate, and what follows from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch.distributed as dist

from seedance_ops.training.compression.auto.candidates import CANDIDATES, FALLBACK
from seedance_ops.training.compression.auto.decision import Decision, Prediction
from seedance_ops.training.compression.auto.prediction import (
    Bf16Steps,
    LinkSpeed,
    Trial,
    fastest,
    predicted_step_s,
)
from seedance_ops.training.compression.auto.probe import Probe
from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.config import LocalUpdatesConfig

Make = Callable[[str], GradientReduction]
Candidates = Callable[[bool], Sequence[Sequence[str]]]


def survey(
    probe: Probe, medians_s: Sequence[float], candidates: Candidates, make: Make, *, step: int, author: str
) -> Decision:
    """Probe everything, and choose; a collective call.

    Args:
        probe: With the buckets of the step that has just ended.
        medians_s: This rank's step and wait so far, with gradients in bf16.
        candidates: Names of those that may be chosen, where ranks may step by themselves or not.
        make: One of them.
        step: Steps done.
        author: Who this run is, to the reader of the decision.
    """
    began_s = time.perf_counter()
    # A rank that waits for a slower one does not wait for the link: what the slowest computes is what counts.
    own_step_s, own_wait_s = medians_s
    step_s, compute_s = probe.largest([own_step_s, own_step_s - own_wait_s])
    wait_s = max(0.0, step_s - compute_s)
    link = probe.link()
    room = probe.has_room()
    exchange_s = probe.exchange(FALLBACK, make(FALLBACK)).exchange_s if room else wait_s
    bf16 = Bf16Steps(step_s, wait_s, exchange_s)
    tiers = candidates(probe.suits_local_updates()) if room else ()
    found = [[_predicted(probe, name, make, bf16, link) for name in names] for names in tiers]
    chosen = fastest([{each.algorithm: each.step_s for each in tier} for tier in found], bf16.step_s)
    return Decision(
        chosen=chosen or FALLBACK,
        from_step=step,
        made_by=author,
        world_size=dist.get_world_size(),
        bf16_step_s=bf16.step_s,
        bf16_wait_s=bf16.wait_s,
        bf16_exchange_s=bf16.exchange_s,
        latency_s=link.latency_s,
        bytes_per_s=link.bytes_per_s,
        predictions=tuple(each for tier in found for each in tier),
        probe_s=time.perf_counter() - began_s,
    )


def _predicted(probe: Probe, name: str, make: Make, bf16: Bf16Steps, link: LinkSpeed) -> Prediction:
    trial = _trial(probe, name, make)
    return Prediction(
        algorithm=name,
        step_s=predicted_step_s(trial, bf16, link),
        exchange_s=trial.exchange_s,
        bytes_on_wire=trial.bytes_sent,
    )


def _trial(probe: Probe, name: str, make: Make) -> Trial:
    config = CANDIDATES[name]
    if isinstance(config, LocalUpdatesConfig):
        assert config.values == "bf16", "the probe exchanges a slice in bfloat16"
        return probe.slice_exchange(name, config.exchange_every)
    return probe.exchange(name, make(name))
