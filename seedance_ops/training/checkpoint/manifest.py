"""The manifest: while it stands in a tier its checkpoint is committed there; it says what must be there."""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal, NamedTuple, Self

from blake3 import blake3
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.digests import CHUNK_BYTES, checksums, fingerprint
from seedance_ops.training.checkpoint.interval.observation import Pace
from seedance_ops.training.errors import CheckpointError

MANIFEST = "manifest.json"
LARGEST_MANIFEST_BYTES = 64 << 20
"""Enough for 30 TiB of shards; a larger one is not read into memory."""
ROOT = "checkpoints"
_COMMON = "common-"


class Writer(NamedTuple):
    """One start of a submission's processes; a later one has the greater one of both."""

    submission: int
    epoch: int
    """Counted in the object store, from 1: a clock cannot be trusted, and a launcher may start anew."""

    def __str__(self) -> str:
        return f"submission-{self.submission:03d}-epoch-{self.epoch:03d}"


class CheckpointFile(StrictModel):
    """One shard of a checkpoint."""

    name: str = Field(pattern=r"^(common|rank)-[0-9]{4,8}\.safetensors$")
    """File name below the checkpoint's folder; the pattern keeps a forged manifest inside it."""
    bytes: int = Field(ge=0, le=1 << 50)
    blake3: str = Field(pattern=r"^[0-9a-f]{64}$")
    crc32c: tuple[int, ...]
    """Of each chunk of ``chunk_bytes``; the last one is shorter."""
    chunk_bytes: Literal[8388608] = 8388608

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if len(self.crc32c) != -(-self.bytes // self.chunk_bytes):
            raise ValueError(f"{len(self.crc32c)} checksums for {self.bytes} bytes")
        return self

    @classmethod
    def describe(cls, name: str, data: memoryview) -> CheckpointFile:
        """Size and digests of a shard in memory."""
        return cls(name=name, bytes=len(data), blake3=fingerprint(data), crc32c=checksums(data))

    def check(self, data: memoryview) -> None:
        """Raise ``CheckpointError``, which names the first chunk that is not what was written."""
        for index, (found, written) in enumerate(zip_longest(checksums(data), self.crc32c)):
            if found != written:
                raise CheckpointError(
                    f"its bytes from {index * CHUNK_BYTES} on are not those that were written (CRC32C)"
                )


assert CheckpointFile.model_fields["chunk_bytes"].default == CHUNK_BYTES


def common_file(piece: int) -> str:
    """A piece of what is the same on every rank."""
    return f"{_COMMON}{piece:04d}.safetensors"


def rank_file(rank: int) -> str:
    """What a rank has of its own."""
    return f"rank-{rank:04d}.safetensors"


class CheckpointManifest(StrictModel):
    """One committed checkpoint."""

    schema_version: Literal[2] = 2
    job_hash: str
    step: int = Field(ge=0)
    samples_seen: int = Field(ge=0)
    world_size: int = Field(ge=1)
    submission: int = Field(ge=1)
    epoch: int = Field(ge=1)
    """Which start of the submission's processes wrote it."""
    final: bool
    train_elapsed_s: float
    """Training time up to here, over all submissions that led to it."""
    metrics: dict[str, float] = Field(default={})
    """What was evaluated at this very step; non-finite values are left out."""
    flops_per_sample: float | None = None
    flops_method: str | None = None
    pace: Pace | None = None
    """Its number, and how the interval was chosen when it was taken."""
    written_at_s: float
    files: tuple[CheckpointFile, ...]
    seal: str | None = None
    """BLAKE3 of all the other fields as JSON; computed where it is not given."""

    @model_validator(mode="after")
    def _sealed(self) -> Self:
        seal = str(blake3(self.model_dump_json(exclude={"seal"}).encode()).hexdigest())
        if self.seal is None:
            object.__setattr__(self, "seal", seal)  # frozen for everybody else
        elif self.seal != seal:
            raise ValueError("it is not as it was written: its seal is of other content")
        return self

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({file.name for file in self.files}) != len(self.files):
            raise ValueError("a file is named twice")
        return self

    def changed(self, **fields: object) -> CheckpointManifest:
        """The same but for some fields, under a seal of its own."""
        return type(self).model_validate({**dict(self), "seal": None, **fields})

    @property
    def folder(self) -> str:
        """Where its files lie, relative to the run's place in a tier."""
        return checkpoint_folder(self.step, self.writer)

    @property
    def writer(self) -> Writer:
        """Whose it is."""
        return Writer(self.submission, self.epoch)

    @property
    def age(self) -> tuple[int, Writer]:
        """Sorts checkpoints from old to new."""
        return self.step, self.writer

    @property
    def total_bytes(self) -> int:
        """Of all files of all ranks."""
        return sum(file.bytes for file in self.files)

    @property
    def common(self) -> tuple[CheckpointFile, ...]:
        """The pieces of what is the same on every rank, in order."""
        return tuple(
            sorted((each for each in self.files if each.name.startswith(_COMMON)), key=lambda each: each.name)
        )

    def file(self, name: str) -> CheckpointFile | None:
        """The file of that name."""
        return next((file for file in self.files if file.name == name), None)


class Abandoned(StrictModel):
    """What stands in a manifest's place where a later writer has given up an unfinished checkpoint.

    Whoever writes first under that key has decided whether the checkpoint counts, for good.
    """

    abandoned_by: str


def checkpoint_folder(step: int, writer: Writer) -> str:
    """A folder for each writer: one that was given up for lost cannot overwrite its successor."""
    return f"{ROOT}/step-{step:08d}/{writer}"


_DOCUMENT: TypeAdapter[CheckpointManifest | Abandoned] = TypeAdapter(CheckpointManifest | Abandoned)


def read_manifest(data: bytes) -> CheckpointManifest | Abandoned:
    """What stands under a manifest's key, perhaps forged.

    Raises:
        CheckpointError: It is neither, with the first thing that is wrong.
    """
    if len(data) > LARGEST_MANIFEST_BYTES:
        raise CheckpointError(f"its manifest has {len(data)} bytes or more: no checkpoint needs as many")
    try:
        return _DOCUMENT.validate_json(data)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"] if part != CheckpointManifest.__name__)
        raise CheckpointError(
            f"its manifest is not one of this version's: {where + ': ' if where else ''}{problem['msg']}"[
                :300
            ]
        ) from error
