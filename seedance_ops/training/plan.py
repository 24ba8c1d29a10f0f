"""What a launcher hands to a launched job: one file, complete, without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from seedance_ops.storage.config import StorageLocation
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.config import CheckpointConfig
from seedance_ops.training.compression.config import CompressionConfig, DenseConfig
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.config import BatchConfig, QualityConfig, StopCondition

PLAN_VARIABLE = "SEEDANCE_PLAN"
"""Environment variable that holds the path of the plan's JSON file."""


class LaunchPlan(StrictModel):
    """Everything one launched process group needs to know; no strategy block means that it is off."""

    schema_version: Literal[1] = 1
    job: str
    job_hash: str
    run_id: str
    variant: str
    seed: int = Field(ge=0, lt=2**31)
    submission: int = Field(ge=1)
    """The launcher's own counter: 1 for the first submission of this variant and seed, 2 after a retry."""
    batch: BatchConfig
    stop: StopCondition
    quality: QualityConfig | None = None
    compression: CompressionConfig = DenseConfig()
    device_profiles: tuple[DeviceProfile, ...] = ()
    """For ``mixed_precision``: of the ranks' devices, as the hardware catalogue had them."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    storage: StorageLocation
    """``…/<job>/<run>/<variant>/seed-<n>/take-<m>``: records, evaluations and checkpoints go below it."""
    decisions: StorageLocation | None = None
    """Where ranks keep what is decided once for all seeds of the variant; none where each run decides."""
    stamp: dict[str, str] = Field(default={})
    """Provenance (git commit, cluster-id, versions) that every table carries in its metadata."""

    def write(self, path: Path) -> None:
        """Write the plan as JSON, readable by its owner only."""
        path.touch(mode=0o600)
        path.write_text(self.model_dump_json(indent=2), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> LaunchPlan:
        """Read a plan; raises ``pydantic.ValidationError`` where the file is not one."""
        return cls.model_validate_json(path.read_text(encoding="utf-8"))
