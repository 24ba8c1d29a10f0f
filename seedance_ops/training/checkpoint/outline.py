"""A tree of tensors and plain values: the tensors by name, and JSON for the rest. Reading it runs no code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from seedance_ops.training.errors import CheckpointError

_TAG = "$"
_PLAIN = (str, int, bool, type(None))


@dataclass(frozen=True)
class Outline:
    """A tree taken apart."""

    tree: Any
    """JSON values; where a tensor was stands its name."""
    tensors: Mapping[str, torch.Tensor]
    """The live tensors, not copied; tied weights once."""

    @classmethod
    def of(cls, tree: Any, name: str) -> Outline:
        """Take a tree apart; tensors are named by their path, which starts with ``name``.

        Raises:
            CheckpointError: For anything but tensors, numbers, text, lists and mappings, with its path.
        """
        tensors: dict[str, torch.Tensor] = {}
        return cls(_Encoder(tensors).encode(tree, name), tensors)


def assemble(tree: Any, tensor: Callable[[str], torch.Tensor]) -> Any:
    """The tree of an outline again.

    Args:
        tree: As ``Outline.tree``, perhaps from a file that somebody forged.
        tensor: The tensor of a name; raises ``KeyError`` where there is none.

    Raises:
        CheckpointError: It is no outline, or names a tensor that is not there.
    """
    try:
        return _decode(tree, tensor)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise CheckpointError(f"the outline of its content is not valid: {error!r}") from error


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
        if tensor.layout != torch.strided or tensor.is_quantized or type(tensor) is not torch.Tensor:
            kind = "quantized" if tensor.is_quantized else f"{type(tensor).__name__}, {tensor.layout}"
            raise CheckpointError(f"{path} is a tensor of a kind that a checkpoint cannot hold: {kind}")
        identity = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device)
        if tensor.numel() and identity in self._names:
            return self._names[identity]
        while path in self._tensors:
            path += "'"  # keys that differ in kind alone, as 1 and "1"
        self._names[identity] = path
        self._tensors[path] = tensor
        return path


def _decode(value: Any, tensor: Callable[[str], torch.Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    match value[_TAG]:
        case "tensor":
            return tensor(value["name"])
        case "float":
            return float(value["text"])
        case "mapping":
            return {_decode(k, tensor): _decode(v, tensor) for k, v in value["items"]}
        case "list" | "tuple" as kind:
            items = [_decode(item, tensor) for item in value["items"]]
            return tuple(items) if kind == "tuple" else items
        case kind:
            raise ValueError(f"{kind!r} is no kind of value")
