"""``algorithm: auto``: what is predicted, what is chosen, and who decides."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.compression.auto.candidates import CANDIDATES, FALLBACK, candidates_of
from seedance_ops.training.compression.auto.decision import (
    DECISION_FILE,
    Decision,
    InObjectStore,
    Prediction,
)
from seedance_ops.training.compression.auto.prediction import (
    Bf16Steps,
    LinkSpeed,
    Trial,
    fastest,
    is_slower,
    predicted_step_s,
)
from seedance_ops.training.compression.auto.probe import BucketShape, Probe
from seedance_ops.training.compression.base import Bound
from seedance_ops.training.errors import ConfigurationError

LINK = LinkSpeed(latency_s=0.001, bytes_per_s=25e6)  # 200 Mbit/s
BF16 = Bf16Steps(step_s=0.540, wait_s=0.300, exchange_s=0.340)  # 240 ms of computing hide 40 ms of exchange
seconds = st.floats(1e-4, 10.0)


@pytest.mark.parametrize(
    ("trial", "expected_s"),
    [
        # 1 MB takes 40 + 2 ms, of which 40 are hidden; the other 78 of its 120 ms are encoding.
        (Trial("powersgd", 0.120, 1_000_000, 2), 0.240 + 0.078 + 0.002),
        # It all goes on beside the next step's computing, but for 8 ms of copying.
        (Trial("local_updates", 0.050, 1_000_000, 2, beside_next_step=True), 0.240 + 0.008),
        # A shorter exchange than the link's speed allows was measured: then nothing of it is encoding.
        (Trial("topk_1", 0.020, 1_000_000, 2), 0.240),
    ],
)
def test_a_step_is_computing_encoding_and_what_is_not_hidden(trial: Trial, expected_s: float) -> None:
    assert predicted_step_s(trial, BF16, LINK) == pytest.approx(expected_s)


@given(seconds, st.floats(0.0, 1.0), seconds, seconds, st.integers(0, 10**9), st.booleans())
def test_a_prediction_lies_between_computing_alone_and_hiding_nothing(  # noqa: PLR0917
    step_s: float, waiting: float, bf16_exchange_s: float, exchange_s: float, sent: int, beside: bool
) -> None:
    bf16 = Bf16Steps(step_s, waiting * step_s, bf16_exchange_s)
    predicted_s = predicted_step_s(Trial("any", exchange_s, sent, 2, beside), bf16, LINK)
    assert bf16.compute_s <= predicted_s <= (bf16.compute_s + exchange_s) * (1 + 1e-9)


def test_a_candidate_must_save_a_twentieth_of_a_step() -> None:
    assert fastest([{"powersgd": 0.94, "local_updates": 0.96}], 1.0) == "powersgd"
    assert fastest([{"powersgd": 0.96, "local_updates": 0.951}], 1.0) is None
    assert fastest([], 1.0) is None
    assert fastest([{}], 1.0) is None


def test_one_of_worse_quality_must_save_a_twentieth_of_the_better_ones_step() -> None:
    assert fastest([{"local_updates": 0.50}, {"topk_1": 0.48}], 1.0) == "local_updates"
    assert fastest([{"local_updates": 0.50}, {"topk_1": 0.47}], 1.0) == "topk_1"


def test_what_costs_a_twentieth_more_is_given_up() -> None:
    assert is_slower(1.051, 1.0)
    assert not is_slower(1.049, 1.0)


def test_the_tiers_let_more_and_more_be_chosen() -> None:
    safe, equivalent, close, lossy = (
        candidates_of(tier, local_updates=True) for tier in ("safe", "equivalent", "close", "lossy")
    )
    assert lossy[:3] == close
    assert close[:2] == equivalent
    assert equivalent[:1] == safe
    assert {*chain(*lossy), FALLBACK} == set(CANDIDATES)
    assert set(chain(*equivalent)) == {"dense", "quantized"}
    assert "topk_1" not in chain(*close)
    sharded = candidates_of("close", local_updates=False)
    assert set(chain(*close)) - set(chain(*sharded)) == {"local_updates"}


@pytest.mark.parametrize(
    ("dtype", "loss_scale", "suits"),
    [(torch.float32, None, True), (torch.bfloat16, None, False), (torch.float32, lambda: 65536.0, False)],
    ids=["float32", "bfloat16", "a loss scaler"],
)
def test_ranks_step_by_themselves_only_in_float32_and_unscaled(
    dtype: torch.dtype, loss_scale: Callable[[], float] | None, suits: bool
) -> None:
    parameter = torch.zeros(3, 4, dtype=dtype)
    bucket = BucketShape(0, (parameter,), (parameter.shape,), dtype)
    bound = Bound({id(parameter): "weight"}, torch.device("cpu"), loss_scale=loss_scale)
    assert Probe(bound, [bucket]).suits_local_updates() is suits


def test_the_first_decision_counts_for_all(store: ObjectStore) -> None:
    first, second = InObjectStore(store), InObjectStore(store)
    assert first.read(DECISION_FILE, Decision) is None
    assert first.settle(DECISION_FILE, decided("powersgd", "seed 0")) == decided("powersgd", "seed 0")
    assert second.settle(DECISION_FILE, decided("bf16", "seed 1")) == decided("powersgd", "seed 0")
    assert second.read(DECISION_FILE, Decision) == decided("powersgd", "seed 0")


def test_a_decision_of_another_version_is_named(store: ObjectStore) -> None:
    store.put(DECISION_FILE, b'{"chosen": "powersgd"}')
    with pytest.raises(
        ConfigurationError, match=rf"s3://bucket/run/{DECISION_FILE} is no decision .* delete"
    ):
        InObjectStore(store).read(DECISION_FILE, Decision)


def test_a_decision_says_what_spoke_for_it() -> None:
    sentence = decided("powersgd", "seed 0").sentence()
    assert "powersgd from step 11 on, decided by seed 0" in sentence
    assert "bf16 540.0 measured (300.0 of it waiting)" in sentence
    assert "powersgd 320.0" in sentence
    assert "200 Mbit/s" in sentence


def decided(chosen: str, author: str) -> Decision:
    return Decision(
        chosen=chosen,
        from_step=10,
        made_by=author,
        world_size=2,
        bf16_step_s=BF16.step_s,
        bf16_wait_s=BF16.wait_s,
        bf16_exchange_s=BF16.exchange_s,
        latency_s=LINK.latency_s,
        bytes_per_s=LINK.bytes_per_s,
        predictions=(Prediction(algorithm="powersgd", step_s=0.320, exchange_s=0.120, bytes_on_wire=10**6),),
        probe_s=1.0,
    )
