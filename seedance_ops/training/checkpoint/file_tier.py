"""Checkpoints in files of one node: on its disk, or in its memory below ``/dev/shm``."""

from __future__ import annotations

import logging
import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blake3 import blake3
from pydantic import ValidationError

from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.direct_file import read_fully, sync_folder, write_durably
from seedance_ops.training.checkpoint.manifest import MANIFEST, ROOT, CheckpointManifest
from seedance_ops.training.errors import CheckpointError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_DRAFT = ".draft"

_log = logging.getLogger(__name__)


class _Record(StrictModel):
    """``manifest.json``: the manifest, and what must agree for it to be believed."""

    run: str
    """The run's place in the object store."""
    boot_id: str
    manifest_blake3: str
    manifest: str
    """As JSON."""


class FileTier:
    """A folder of this node. Every rank of the node stores there; one of them commits and deletes.

    Args:
        name: ``local`` or ``memory``.
        root: Of this run alone; created.
        run: What tells the run from any other that might have used the folder.
        job_hash: Of the job; another version's checkpoints are passed over.
    """

    def __init__(self, name: str, root: Path, run: str, job_hash: str) -> None:
        self.name = name
        self._root, self._run, self._job_hash = root, run, job_hash

    @property
    def root(self) -> Path:
        """Its folder; there from the first checkpoint on."""
        return self._root

    def store(self, folder: str, name: str, data: memoryview) -> None:
        """Under its name stands either the whole shard or nothing; names are durable once it is committed."""
        path = self._root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{name}{_DRAFT}")
        write_durably(draft, data)
        draft.replace(path)

    def commit(self, manifest: CheckpointManifest) -> None:
        """Raise ``CheckpointError`` where another one stands there already."""
        text = manifest.model_dump_json()
        record = _Record(run=self._run, boot_id=_boot_id(), manifest_blake3=_digest(text), manifest=text)
        path = self._root / manifest.folder / MANIFEST
        draft = path.with_name(f".{MANIFEST}{_DRAFT}")
        write_durably(draft, memoryview(record.model_dump_json(indent=1).encode()))
        try:
            os.link(draft, path)  # unlike a rename it fails where there is one
        except FileExistsError:
            raise CheckpointError(f"{path} is committed already") from None
        draft.unlink()
        # One sync for the names of all ranks' shards as well. Should a power cut come before it, and keep the
        # manifest's name but not a shard's, then the shard is missed when this is restored.
        for folder in (path.parent, path.parent.parent, self._root / ROOT):
            sync_folder(folder)

    def committed(self) -> list[CheckpointManifest]:
        """Those of this run, job and boot whose manifest is whole; others are named in the log."""
        found = [self._load(path) for path in (self._root / ROOT).glob(f"step-*/*/{MANIFEST}")]
        return sorted((manifest for manifest in found if manifest), key=lambda manifest: manifest.age)

    def size(self, folder: str, name: str) -> int | None:
        """Of the file."""
        try:
            return (self._root / folder / name).stat().st_size
        except OSError:
            return None

    def read(self, folder: str, name: str, into: memoryview) -> None:
        """Raise ``CheckpointError`` where it is shorter."""
        try:
            read_fully(self._root / folder / name, into)
        except EOFError as error:
            raise CheckpointError(f"{folder}/{name}: {error}") from error

    @contextmanager
    def view(self, folder: str, name: str) -> Iterator[memoryview]:
        """A shard's content, read where it is looked at."""
        with (self._root / folder / name).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = memoryview(content)
        try:
            yield data
        finally:
            with suppress(BufferError):  # while an error's traceback still holds a part of it
                data.release()
                content.close()

    def delete(self, manifest: CheckpointManifest) -> None:
        """The manifest first."""
        self._remove(self._root / manifest.folder)

    def sweep(self) -> None:
        """Delete what nothing is committed of: drafts, and shards of checkpoints that were never finished.

        At the start of a submission only, when no other is alive on this node.
        """
        for folder in (self._root / ROOT).glob("step-*/*"):
            if self._load(folder / MANIFEST) is None:
                self._remove(folder)

    def clear(self) -> None:
        """Delete everything: a run that has ended well has its last checkpoint in the object store."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _load(self, path: Path) -> CheckpointManifest | None:
        try:
            record = _Record.model_validate_json(path.read_bytes())
            manifest = CheckpointManifest.model_validate_json(record.manifest)
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _log.error("checkpoint manifest %s is not readable and is passed over: %s", path, error)
            return None
        for problem in self._distrust(record, manifest, path):
            _log.warning("checkpoint %s is passed over: %s", path.parent, problem)
            return None
        return manifest

    def _distrust(self, record: _Record, manifest: CheckpointManifest, path: Path) -> Iterator[str]:
        if record.manifest_blake3 != _digest(record.manifest):
            yield "its manifest is not the one that was committed"
        if record.run != self._run or manifest.job_hash != self._job_hash:
            yield "it belongs to another run, or to another version of the job"
        if record.boot_id != _boot_id():
            yield "the node was started anew since, or it is another node"
        if self._root / manifest.folder != path.parent:
            yield f"its manifest says that it is {manifest.folder}"

    def _remove(self, folder: Path) -> None:
        with suppress(FileNotFoundError):
            (folder / MANIFEST).unlink()
            sync_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()  # where it was the step's last


def _boot_id() -> str:
    return _BOOT_ID.read_text(encoding="ascii").strip()


def _digest(text: str) -> str:
    return str(blake3(text.encode()).hexdigest())
