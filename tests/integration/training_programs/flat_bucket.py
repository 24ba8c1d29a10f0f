"""Gradients in one buffer, as DDP hands them to its hook; not a program."""

from __future__ import annotations

import torch
from torch import nn


class Bucket:
    """Some of the parameters, with their gradients in one buffer."""

    def __init__(self, position: int, parameters: list[nn.Parameter], gradients: list[torch.Tensor]) -> None:
        self._position, self._parameters = position, parameters
        self._buffer = torch.cat([gradient.reshape(-1) for gradient in gradients])

    def index(self) -> int:
        return self._position

    def buffer(self) -> torch.Tensor:
        return self._buffer

    def gradients(self) -> list[torch.Tensor]:
        pieces = torch.split(self._buffer, [parameter.numel() for parameter in self._parameters])
        return [piece.view(p.shape) for piece, p in zip(pieces, self._parameters, strict=True)]

    def parameters(self) -> list[torch.Tensor]:
        return list(self._parameters)
