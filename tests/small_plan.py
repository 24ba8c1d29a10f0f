"""A plan for a few steps: what a test of ranks says nothing about, filled in."""

from __future__ import annotations

from typing import Any

from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.plan import LaunchPlan


def small_plan(**fields: Any) -> LaunchPlan:
    """The first submission of seed 3, for two steps; its store is never reached."""
    filled_in = {
        "job": "tiny",
        "job_hash": "hash",
        "run_id": "r",
        "variant": "v",
        "seed": 3,
        "submission": 1,
        "batch": {"per_rank": 4},
        "stop": {"steps": 2},
        "storage": StorageLocation(uri="s3://the-bucket/run", region="us-east-1"),
    }
    return LaunchPlan.model_validate(filled_in | fields)
