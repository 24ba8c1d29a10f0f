"""A state of a wanted size: parameters and AdamW's two moments, a third each."""

from __future__ import annotations

import torch
from torch import nn

MIB = 1 << 20
_WIDTH = 1024
_LARGEST_ROWS = 4096
"""A tensor of 16 MiB; real models have few larger ones."""


def model_and_optimizer(total_mib: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Random, so that nothing along the way can compress it."""
    rows = total_mib * MIB // 3 // (4 * _WIDTH)
    shapes = [min(_LARGEST_ROWS, rows - begin) for begin in range(0, rows, _LARGEST_ROWS)]
    model = nn.ParameterList([torch.rand(size, _WIDTH) for size in shapes])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for parameter in model.parameters():
        optimizer.state[parameter] = {
            "step": torch.tensor(1.0),
            "exp_avg": torch.rand_like(parameter),
            "exp_avg_sq": torch.rand_like(parameter),
        }
    return model, optimizer


def state_dict(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, object]:
    """As other savers want it."""
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
