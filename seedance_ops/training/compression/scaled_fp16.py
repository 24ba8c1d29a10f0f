"""Rows as float16 in units of a power of two, so that no finite value overflows and few underflow."""

from __future__ import annotations

import torch

FP16_BYTES = 2
SCALE_BYTES = 2

_LARGEST = 2.0**15 - 16
_EXPONENT = 14
_SMALLEST_EXPONENT = -126


def to_scaled_fp16(rows: torch.Tensor) -> torch.Tensor:
    """Float32 ``[r, columns]`` as uint8 ``[r, SCALE_BYTES + FP16_BYTES · columns]``.

    A row's scale, in bfloat16, brings its largest magnitude to between 2¹⁴ and 2¹⁵, where float16 ends at
    65,504: what is smaller than the largest by less than 2²⁸ keeps all 11 bits. A row that holds a value
    that is not finite gets a scale of NaN.
    """
    largest = rows.abs().amax(dim=1)
    # frexp's mantissa is from 1/2 to 1, so that its exponent is one more than that of the number.
    exponents = (torch.frexp(largest).exponent - 1 - _EXPONENT).clamp(min=_SMALLEST_EXPONENT)
    scales = torch.ldexp(torch.ones_like(largest), exponents)
    finite = torch.isfinite(largest)
    units = (rows / scales.unsqueeze(1)).clamp(-_LARGEST, _LARGEST).half()
    units = torch.where(finite.unsqueeze(1), units, 0.0)
    scales = torch.where(finite, scales, torch.nan).bfloat16().unsqueeze(1)
    return torch.cat([scales.view(torch.uint8), units.view(torch.uint8)], dim=1)


def from_scaled_fp16(payload: torch.Tensor) -> torch.Tensor:
    """Float32 ``[r, columns]`` of contiguous rows that ``to_scaled_fp16`` gave."""
    halves = payload.view(torch.int16)
    return halves[:, 1:].view(torch.float16).float() * halves[:, :1].view(torch.bfloat16).float()
