"""Downloads a checkpoint to a folder, verified on the way; the manifest is the last file to get its name."""

from __future__ import annotations

import os
from pathlib import Path

from seedance_ops.training.checkpoint.direct_file import sync_folder
from seedance_ops.training.checkpoint.manifest import MANIFEST, CheckpointFile, CheckpointManifest
from seedance_ops.training.checkpoint.shard_header import ShardHeader
from seedance_ops.training.checkpoint.shard_source import ShardSource
from seedance_ops.training.checkpoint.survey import missing_parts
from seedance_ops.training.checkpoint.verifying import Advance, check_content, stream
from seedance_ops.training.errors import CheckpointError


def pull(manifest: CheckpointManifest, source: ShardSource, folder: Path, advance: Advance) -> None:
    """Write the shards and then the manifest to a folder, flat.

    What fails leaves the shards that were whole, and no manifest: no command takes such a folder.

    Args:
        manifest: Of the checkpoint.
        source: Its shards.
        folder: Created; must be empty.
        advance: Told of every so many bytes.

    Raises:
        CheckpointError: The folder is not empty, or a shard is missing or damaged, with its name.
        StorageError: The store does not answer.
        OSError: The disk is full, or refuses.
    """
    refuse_non_empty(folder)
    if problems := missing_parts(manifest):
        raise CheckpointError(f"the manifest of step {manifest.step} is not complete: {problems[0]}")
    folder.mkdir(parents=True, exist_ok=True)
    headers = {file.name: _pull_shard(file, source, folder, advance) for file in manifest.files}
    for damage in check_content(manifest, headers):
        raise CheckpointError(f"{damage.file} of step {manifest.step}: {damage.problem}")
    draft = _draft(folder, MANIFEST)
    with draft.open("wb") as file:
        file.write(manifest.model_dump_json(indent=1).encode())
        os.fsync(file.fileno())
    draft.replace(folder / MANIFEST)
    for each in (folder, folder.parent):
        sync_folder(each)


def refuse_non_empty(folder: Path) -> None:
    """Raise ``CheckpointError`` for what is neither absent nor an empty folder."""
    if folder.is_dir() and any(folder.iterdir()):
        raise CheckpointError(f"{folder} is not empty; give a new folder, or empty it")
    if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
        raise CheckpointError(f"{folder} is no folder; give a new one")


def _pull_shard(file: CheckpointFile, source: ShardSource, folder: Path, advance: Advance) -> ShardHeader:
    draft = _draft(folder, file.name)
    try:
        with draft.open("wb") as target:
            header = stream(file, source, advance, target.write)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(folder / file.name)
    except CheckpointError as error:
        raise CheckpointError(f"{file.name}: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return header


def _draft(folder: Path, name: str) -> Path:
    return folder / f".{name}.draft"
