"""One rank of ``benchmarks/compression.py decide``: trains with ``auto``, then with bf16; prints both."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compression_study.tasks import example
from pydantic import TypeAdapter

from seedance_ops.training.compression.auto.decision import DECISION_FILE, Document
from seedance_ops.training.compression.auto.reduction import PROBE_AFTER, TRIED_FOR, Auto
from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 4, 256, 4, 96, 8


class Kept:
    """What this run decides, to be printed."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, object]] = {}

    def read(self, name: str, model: type[Document]) -> Document | None:
        """Nothing was decided before."""
        del name, model
        return None

    def settle(self, name: str, document: Document) -> Document:
        """It counts."""
        self.documents[name] = document.model_dump()
        return document


def main(tier: str, steps: int) -> None:
    torch.set_num_threads(1)
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    kept = Kept()
    chosen = make_reduction(_config({"algorithm": "auto", "quality_tier": tier}), record=kept)
    auto_ms = steps_ms(group, chosen, PROBE_AFTER + TRIED_FOR + steps)
    bf16_ms = steps_ms(group, make_reduction(_config({"algorithm": "bf16"})), PROBE_AFTER + steps)
    if group.rank == 0:
        found = {
            "decision": kept.documents[DECISION_FILE],
            "verdict": next((kept.documents[name] for name in kept.documents if name != DECISION_FILE), None),
            "auto_ms": auto_ms[-steps:],
            "bf16_ms": bf16_ms[-steps:],
        }
        print(json.dumps(found))
    dist.barrier()
    ProcessGroup.leave()


def steps_ms(group: ProcessGroup, reduction: GradientReduction, steps: int) -> list[float]:
    torch.manual_seed(0)
    own = example().CharGPT(LAYERS, WIDTH, HEADS, CONTEXT)
    optimizer = torch.optim.AdamW(own.parameters(), lr=1e-3)
    model, measured = group.wrap(own, reduction, optimizer)
    tokens = torch.randint(0, 256, (BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(group.rank))
    found = []
    for _ in range(steps):
        began_s = time.perf_counter()
        optimizer.zero_grad()
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        optimizer.step()
        measured.end_step()
        step_s = time.perf_counter() - began_s
        wait_s = measured.take().wait_s
        if isinstance(reduction, Auto):
            reduction.observe(step_s, min(wait_s, step_s))
        found.append(1e3 * step_s)
    reduction.close()
    return found


def _config(fields: dict[str, str]) -> CompressionConfig:
    config: CompressionConfig = TypeAdapter(CompressionConfig).validate_python(fields)
    return config


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
