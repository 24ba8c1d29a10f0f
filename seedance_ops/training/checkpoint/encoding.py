"""A tree of tensors and plain values as one safetensors file: loading one runs no code, unlike a pickle."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from seedance_ops.training.errors import CheckpointError

_TREE = "seedance.tree"
_TAG = "$"
_PLAIN = (str, int, bool, type(None))


def write_tree(path: Path, tree: Any) -> None:
    """Write a tree durably: under its name stands either the whole file or nothing."""
    tensors: dict[str, torch.Tensor] = {}
    outline = _Encoder(tensors).encode(tree, path.stem)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, draft, metadata={_TREE: json.dumps(outline)})
    publish(draft, path)


def read_tree(path: Path) -> Any:
    """Read what ``write_tree`` wrote, on the CPU; raises ``CheckpointError``."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            return _decode(json.loads(metadata[_TREE]), {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path.name} is not a readable checkpoint file: {error}") from error


def publish(draft: Path, path: Path) -> None:
    """Give a finished draft its name, so that both survive a power cut."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class _Encoder:
    """Turns a tree into JSON values; tensors go to ``tensors`` and leave their name behind."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self._tensors = tensors
        self._names: dict[tuple[object, ...], str] = {}

    def encode(self, value: Any, path: str) -> Any:
        if isinstance(value, torch.Tensor):
            return {_TAG: "tensor", "name": self._keep(value.detach(), path)}
        if isinstance(value, float):
            return value if math.isfinite(value) else {_TAG: "float", "text": repr(value)}
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, Mapping):
            pairs = [[self.encode(k, path), self.encode(v, f"{path}.{k}")] for k, v in value.items()]
            return {_TAG: "mapping", "items": pairs}
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{path}.{index}") for index, item in enumerate(value)]
            return {_TAG: type(value).__name__, "items": items} if type(value) in (list, tuple) else items
        raise CheckpointError(
            f"{path} is a {type(value).__name__}; a checkpoint holds tensors, numbers, text, lists, mappings"
        )

    def _keep(self, tensor: torch.Tensor, path: str) -> str:
        """The name a tensor is stored under; tied weights are stored once."""
        identity = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device)
        if tensor.numel() and identity in self._names:
            return self._names[identity]
        self._names[identity] = path
        host = tensor.cpu().contiguous()
        # safetensors refuses two names on one storage: views of a larger tensor are copied out.
        self._tensors[path] = host.clone() if host.untyped_storage().nbytes() != host.nbytes else host
        return path


def _decode(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    match value[_TAG]:
        case "tensor":
            return tensors[value["name"]]
        case "float":
            return float(value["text"])
        case "mapping":
            return {_decode(k, tensors): _decode(v, tensors) for k, v in value["items"]}
        case kind:
            items = [_decode(item, tensors) for item in value["items"]]
            return tuple(items) if kind == "tuple" else items
