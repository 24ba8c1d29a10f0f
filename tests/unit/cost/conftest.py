"""Made-up launches, runs and prices with known totals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from seedance_ops.cost.catalogue import Price

Rows = list[dict[str, Any]]


@pytest.fixture(scope="session")
def price() -> Callable[..., Price]:
    def make(usd: float = 2.0, **more: object) -> Price:
        fields = {"key": "k", "usd_per_accelerator_hour": usd, "source": "a list", "date": "2026-01-02"}
        return Price.model_validate(fields | {"basis": "list"} | more)

    return make


@pytest.fixture(scope="session")
def launches() -> Callable[..., pd.DataFrame]:
    """One launch of eight accelerators for an hour, a quarter of an hour in the queue."""

    def make(*rows: dict[str, Any]) -> pd.DataFrame:
        one = {
            "variant": "a",
            "seed": 0,
            "num_nodes": 1,
            "accelerators_per_node": 8,
            "run_s": 3600.0,
            "queue_s": 900.0,
            "started_at_s": 1_767_312_000.0,  # 2026-01-02T00:00:00Z
            "ended_at_s": 1_767_315_600.0,
        }
        return pd.DataFrame([one | row for row in (rows or ({},))])

    return make


@pytest.fixture(scope="session")
def runs() -> Callable[..., pd.DataFrame]:
    """One run that trained for half an hour, of which three minutes stood still for checkpoints."""

    def make(*rows: dict[str, Any]) -> pd.DataFrame:
        one = {
            "variant": "a",
            "seed": 0,
            "model_flops": 8 * 312e12 * 1800,
            "samples": 2000.0,
            "train_elapsed_s": 1800.0,
            "target_elapsed_s": math.nan,
            "checkpoint_stall_s": 180.0,
        }
        return pd.DataFrame([one | row for row in (rows or ({},))])

    return make
