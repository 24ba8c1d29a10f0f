"""Parameters whose optimiser has second moments, alike on all ranks; not a program."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


def stepped(shapes: Sequence[Sequence[int]]) -> tuple[list[nn.Parameter], torch.optim.Optimizer]:
    """Parameters of these shapes and AdamW after a step, with moments that differ between elements."""
    parameters = [nn.Parameter(torch.zeros(torch.Size(shape))) for shape in shapes]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    for parameter in parameters:
        parameter.grad = torch.rand(parameter.shape, generator=torch.Generator().manual_seed(0)) + 0.01
    optimizer.step()
    return parameters, optimizer
