"""Writes a pulled checkpoint in formats that load without this project: safetensors, and torch's own."""

from __future__ import annotations

import mmap
import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import torch

from seedance_ops.training.checkpoint.manifest import CheckpointManifest
from seedance_ops.training.checkpoint.outline import assemble
from seedance_ops.training.checkpoint.pulling import refuse_non_empty
from seedance_ops.training.checkpoint.shard_format import ShardContent
from seedance_ops.training.errors import CheckpointError

Format = Literal["safetensors", "dcp"]
MODEL_FILE = "model.safetensors"


@dataclass(frozen=True)
class Exported:
    """What stands in the output folder, and what does not."""

    tensors: int
    bytes: int
    tied: Mapping[str, str]
    """Names left out, with the name under which the same tensor stands."""
    left_out: tuple[str, ...]


def export(manifest: CheckpointManifest, folder: Path, output: Path, to: Format) -> Exported:
    """Write a verified checkpoint's state; the output folder appears whole, or not at all.

    Memory: the shards are mapped, and read as they are written; ``safetensors`` holds the model once.

    Args:
        manifest: Of the checkpoint.
        folder: Its shards, verified.
        output: A new or an empty folder.
        to: ``safetensors`` is the model alone; ``dcp`` is ``{"model": …, "optimizer": …}``.

    Raises:
        CheckpointError: The output is not empty, or the checkpoint's content is of another shape.
        OSError: The disk is full, or refuses.
    """
    refuse_non_empty(output)
    state = _common_state(manifest, folder)
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f".{output.name}.{uuid4().hex[:8]}.draft")
    draft.mkdir()
    try:
        done = _safetensors(state, draft) if to == "safetensors" else _dcp(state, draft)
        os.replace(draft, output)  # noqa: PTH105 - over an empty folder too
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return done


def _common_state(manifest: CheckpointManifest, folder: Path) -> dict[str, Any]:
    tensors: dict[str, torch.Tensor] = {}
    tree: Any = None
    for number, file in enumerate(manifest.common):
        content = ShardContent.parse(_mapped(folder / file.name))
        tensors.update(content.tensors)
        tree = content.tree if number == 0 else tree
    state = assemble(tree, tensors.__getitem__)
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise CheckpointError(f"{folder} holds no model")
    return state


def _mapped(path: Path) -> memoryview:
    """A file's content; private, since torch warns of memory that it may not write."""
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def _safetensors(state: Mapping[str, Any], folder: Path) -> Exported:
    from safetensors.torch import save_file

    weights: dict[str, torch.Tensor] = {}
    tied: dict[str, str] = {}
    left_out = [str(name) for name in state if name != "model"]
    first: dict[int, str] = {}
    for name, value in sorted(state["model"].items(), key=lambda item: str(item[0])):
        if not isinstance(value, torch.Tensor) or not isinstance(name, str):
            left_out.append(f"model.{name} (no tensor)")
        elif id(value) in first:  # one tensor of the file under two names
            tied[name] = first[id(value)]
        else:
            first[id(value)] = name
            weights[name] = value
    save_file(weights, folder / MODEL_FILE, metadata={"format": "pt", **tied})
    return Exported(len(weights), sum(each.nbytes for each in weights.values()), tied, tuple(left_out))


def _dcp(state: Mapping[str, Any], folder: Path) -> Exported:
    from torch.distributed.checkpoint.state_dict_saver import save

    kept = {name: state[name] for name in ("model", "optimizer") if name in state}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")  # that is intended
        save(kept, checkpoint_id=folder, no_dist=True)
    size_bytes = sum(path.stat().st_size for path in folder.iterdir())
    left_out = tuple(str(name) for name in state if name not in kept)
    return Exported(_tensors_in(kept), size_bytes, {}, left_out)


def _tensors_in(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return 1
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return sum(_tensors_in(child) for child in children)
