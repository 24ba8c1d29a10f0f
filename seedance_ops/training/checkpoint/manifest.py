"""The manifest: while it stands in the store its checkpoint is committed; it says what must be there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

MANIFEST = "manifest.json"
ROOT = "checkpoints"


class CheckpointFile(StrictModel):
    """One file of a checkpoint."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*\.safetensors$")
    """File name below the checkpoint's folder; the pattern keeps a forged manifest inside it."""
    bytes: int = Field(ge=0)
    sha256: str

    @classmethod
    def describe(cls, path: Path) -> CheckpointFile:
        """Size and digest of a file on disk."""
        return cls(name=path.name, bytes=path.stat().st_size, sha256=_sha256(path))

    def matches(self, path: Path) -> bool:
        """Whether a file on disk is this one."""
        return path.is_file() and path.stat().st_size == self.bytes and _sha256(path) == self.sha256


class CheckpointManifest(StrictModel):
    """One committed checkpoint."""

    schema_version: Literal[1] = 1
    job_hash: str
    step: int = Field(ge=0)
    samples_seen: int = Field(ge=0)
    world_size: int = Field(ge=1)
    submission: int = Field(ge=1)
    final: bool
    train_elapsed_s: float
    """Training time up to here, over all submissions that led to it."""
    metrics: dict[str, float] = Field(default={})
    """What was evaluated at this very step; non-finite values are left out."""
    flops_per_sample: float | None = None
    flops_method: str | None = None
    written_at_s: float
    files: tuple[CheckpointFile, ...]

    @property
    def folder(self) -> str:
        """Where its files lie, relative to the run's location and to the local workspace."""
        return checkpoint_folder(self.step, self.submission)

    @property
    def age(self) -> tuple[int, int]:
        """Sorts checkpoints from old to new."""
        return self.step, self.submission

    @property
    def total_bytes(self) -> int:
        """Of all files of all ranks."""
        return sum(file.bytes for file in self.files)

    def file(self, name: str) -> CheckpointFile | None:
        """The file of that name."""
        return next((file for file in self.files if file.name == name), None)


def checkpoint_folder(step: int, submission: int) -> str:
    """A folder for each submission: one that was given up for lost cannot overwrite its successor."""
    return f"{ROOT}/step-{step:08d}/submission-{submission:03d}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
