"""Exits with 0 when ``auto`` decides once, switches, and gives up again without losing anything.

Two ranks. Time is told to it, so that what it finds does not depend on this machine.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from flat_bucket import Bucket
from torch import nn

from seedance_ops.training.compression.auto.candidates import CANDIDATES
from seedance_ops.training.compression.auto.decision import (
    DECISION_FILE,
    Decision,
    Document,
    Verdict,
)
from seedance_ops.training.compression.auto.reduction import GIVEN_UP_AFTER, PROBE_AFTER, TRIED_FOR, Auto
from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.factory import make_reduction

SHAPES = [(128, 96), (96,), (200, 64), (7, 3)]
NAMES = ["a", "b", "c", "d"]
CPU = torch.device("cpu")
LONG_S, SHORT_S = 60.0, 0.001
"""Of a step; against the first every exchange is fast."""


class Shared:
    """What is decided first counts, as in the object store."""

    def __init__(self) -> None:
        self.kept: dict[str, Document] = {}
        self.decided = 0

    def read(self, name: str, model: type[Document]) -> Document | None:
        del model
        return self.kept.get(name)

    def settle(self, name: str, document: Document) -> Document:
        self.decided += name not in self.kept
        return self.kept.setdefault(name, document)


class Run:
    """One training of a model of a few tensors."""

    def __init__(self, record: Shared, candidates: tuple[str, ...], author: str) -> None:
        self.parameters = [nn.Parameter(torch.zeros(shape)) for shape in SHAPES]
        self.reduction = Auto(
            lambda _: [candidates], lambda name: make_reduction(CANDIDATES[name]), record, author
        )
        names = {id(parameter): name for parameter, name in zip(self.parameters, NAMES, strict=True)}
        shapes = {name: parameter.shape for parameter, name in zip(self.parameters, NAMES, strict=True)}
        self.reduction.bind(Bound(names, CPU, shapes=shapes))
        self.generator = torch.Generator().manual_seed(dist.get_rank())
        self.given = torch.zeros(sum(shape.numel() for shape in shapes.values()))
        self.applied = torch.zeros_like(self.given)

    def step(self, took_s: float, waited: float = 0.5) -> tuple[torch.Tensor, int]:
        """The reduced gradient and the bytes sent for it; keeps account of what was put in and came out."""
        gradients = [torch.randn(shape, generator=self.generator) for shape in SHAPES]
        mine = torch.cat([gradient.view(-1) for gradient in gradients])
        mean = mine.clone()
        dist.all_reduce(mean.div_(dist.get_world_size()))
        self.given += mean
        started = self.reduction.reduce(Bucket(0, self.parameters, gradients))
        reduced = started.future.wait().clone()
        assert started.bytes_sent == self.reduction.declared_bytes(SHAPES, dist.get_world_size())
        self.applied += reduced
        self.reduction.end_step()
        self.reduction.observe(took_s, waited * took_s)
        return reduced, started.bytes_sent

    def overflow(self) -> None:
        """A step that a loss scaler skips on every rank."""
        gradients = [torch.full(shape, float("inf")) for shape in SHAPES]
        self.reduction.reduce(Bucket(0, self.parameters, gradients)).future.wait()
        self.reduction.end_step()


def main() -> None:
    dist.init_process_group("gloo")
    for check in (
        one_that_pays_stays,
        one_that_does_not_is_left,
        a_busy_minute_is_no_proof,
        nor_are_the_few_steps_after_a_resume,
        nothing_is_chosen_that_saves_nothing,
    ):
        check()
    dist.barrier()
    dist.destroy_process_group()


def one_that_pays_stays() -> None:
    """And a second seed, and a resume, go by it."""
    record = Shared()
    first = Run(record, ("topk_1",), "seed 0")
    sent = [first.step(LONG_S)[1] for _ in range(PROBE_AFTER)]
    assert all(bytes_sent == sent[0] for bytes_sent in sent)
    assert first.step(LONG_S / 2)[1] < sent[0] / 20, "top-k 1 % from here on"
    for _ in range(TRIED_FOR - 1):
        first.step(LONG_S / 2)
    checkpoint = saved(first)
    if dist.get_rank() == 0:
        decision, verdict = record.kept.values()
        assert isinstance(decision, Decision)
        assert isinstance(verdict, Verdict)
        assert (decision.chosen, decision.from_step) == ("topk_1", PROBE_AFTER)
        assert decision.bf16_step_s == LONG_S
        assert decision.predicted_step_s() < 0.95 * LONG_S
        assert verdict.kept
        assert verdict.actual_step_s == LONG_S / 2
        assert record.decided == 2
    second = Run(record, ("powersgd",), "seed 1")
    assert [second.step(SHORT_S)[1] for _ in range(PROBE_AFTER)] == sent
    assert second.step(SHORT_S)[1] == first.step(LONG_S)[1]
    for _ in range(TRIED_FOR + 3):
        second.step(1000 * LONG_S)
    assert second.step(SHORT_S)[1] == first.step(LONG_S)[1], "what stayed once stays"
    resumed = Run(Shared(), ("powersgd",), "seed 0, resumed")
    resumed.reduction.load_state_dict(checkpoint)
    again = Run(Shared(), ("powersgd",), "seed 0, resumed")
    again.reduction.load_state_dict(checkpoint)
    for _ in range(3):
        assert torch.equal(resumed.step(LONG_S)[0], again.step(LONG_S)[0])
    assert record.decided in {0, 2}
    for run in (first, second, resumed, again):
        run.reduction.close()


def one_that_does_not_is_left() -> None:
    """Where steps turn out slower. What it still carried goes into the next gradient, and nothing is lost."""
    for name in ("topk_1", "quantized", "powersgd"):
        record = Shared()
        run = Run(record, (name,), "seed 0")
        sent = run.step(LONG_S)[1]
        for _ in range(PROBE_AFTER - 1):
            run.step(LONG_S)
        for _ in range(GIVEN_UP_AFTER):
            run.step(1.06 * LONG_S)
        checkpoint = saved(run)
        assert any(key.startswith("owed.") for key in checkpoint)
        resumed = Run(record, (name,), "seed 0, resumed")
        resumed.generator.set_state(run.generator.get_state())
        resumed.reduction.load_state_dict(checkpoint)
        for each in (run, resumed):
            each.overflow()
        reduced, bytes_sent = run.step(LONG_S)
        assert torch.equal(resumed.step(LONG_S)[0], reduced)
        assert bytes_sent == sent
        # Of bf16 in 11 steps, whose rounding nothing carries.
        assert (run.applied - run.given).abs().max() < 12 * 2**-8 * 10, name
        assert (run.applied - run.given).pow(2).mean().sqrt() < 0.05, name
        assert run.step(LONG_S)[1] == sent
        other = Run(record, (name,), "seed 1")
        bytes_of_steps = [other.step(SHORT_S)[1] for _ in range(PROBE_AFTER + GIVEN_UP_AFTER + 2)]
        assert [one == sent for one in bytes_of_steps] == (
            [True] * PROBE_AFTER + [False] * GIVEN_UP_AFTER + [True] * 2
        ), "another seed has the same algorithm in the same step"
        for each in (run, resumed, other):
            each.reduction.close()


def a_busy_minute_is_no_proof() -> None:
    """The first ten steps were slow, most of thirty are not."""
    record = Shared()
    run = Run(record, ("topk_1",), "seed 0")
    sent = [run.step(LONG_S)[1] for _ in range(PROBE_AFTER)]
    for took_s in [1.06 * LONG_S] * TRIED_FOR + [LONG_S / 2] * (GIVEN_UP_AFTER - TRIED_FOR):
        assert not [each for each in record.kept.values() if isinstance(each, Verdict)], "not judged yet"
        assert run.step(took_s)[1] < sent[0] / 20
    assert run.step(LONG_S)[1] < sent[0] / 20
    if dist.get_rank() == 0:
        _, verdict = record.kept.values()
        assert isinstance(verdict, Verdict)
        assert verdict.kept
        assert verdict.actual_step_s == LONG_S / 2
    run.reduction.close()


def nor_are_the_few_steps_after_a_resume() -> None:
    """Late in the trial, of whose steps it has seen none."""
    record = Shared()
    first = Run(record, ("topk_1",), "seed 0")
    for took_s in [LONG_S] * PROBE_AFTER + [1.06 * LONG_S] * (GIVEN_UP_AFTER - 2):
        first.step(took_s)
    resumed = Run(record, ("topk_1",), "seed 0, resumed")
    resumed.reduction.load_state_dict(saved(first))
    for _ in range(8):
        resumed.step(1.06 * LONG_S)
    assert not [each for each in record.kept.values() if isinstance(each, Verdict)]
    for _ in range(20):
        resumed.step(LONG_S / 2)
    if dist.get_rank() == 0:
        (verdict,) = [each for each in record.kept.values() if isinstance(each, Verdict)]
        assert verdict.kept
    for each in (first, resumed):
        each.reduction.close()


def nothing_is_chosen_that_saves_nothing() -> None:
    """A step that never waits cannot become shorter."""
    record = Shared()
    run = Run(record, ("dense", "powersgd", "topk_1", "quantized"), "seed 0")
    sent = run.step(LONG_S, 0.0)[1]
    assert {run.step(LONG_S, 0.0)[1] for _ in range(PROBE_AFTER + TRIED_FOR)} == {sent}
    if dist.get_rank() == 0:
        assert list(record.kept) == [DECISION_FILE]
        assert record.kept[DECISION_FILE].chosen == "bf16"
    assert run.reduction.fits_any_world_size
    run.reduction.close()


def saved(run: Run) -> dict[str, torch.Tensor]:
    run.reduction.meet()
    return {name: value.clone() for name, value in run.reduction.state_dict().items()}


if __name__ == "__main__":
    main()
