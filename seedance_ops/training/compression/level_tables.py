"""The levels of a few-bit quantiser for gradients: where they lie, and how symbols are packed into bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

LevelCount = Literal[3, 5, 7, 15, 255]

BLOCK = 256
"""Elements that share a scale."""


@dataclass(frozen=True)
class LevelTable:
    """An odd number of levels, symmetric about a level of zero."""

    half: tuple[float, ...]
    """The positive levels, ascending, in units of the block's scale."""
    group: int
    """Symbols that are packed together, as digits of one number."""
    group_bytes: int
    """Bytes of that number."""
    scale: Literal["rms", "max"]
    """What a block's scale is: the root mean square of its elements, or the largest magnitude."""

    @property
    def count(self) -> int:
        """Levels in all."""
        return 2 * len(self.half) + 1

    def ascending(self) -> npt.NDArray[np.float32]:
        """All levels, float32 ``[count]``, in units of the scale."""
        half = np.array(self.half, dtype=np.float32)
        return np.concatenate([-half[::-1], np.zeros(1, dtype=np.float32), half])

    @property
    def bits_per_element(self) -> float:
        """Of the symbols alone."""
        return 8.0 * self.group_bytes / self.group


_LAPLACE: dict[int, tuple[float, ...]] = {
    3: (1.41421356,),
    5: (0.83951148, 2.25372504),
    7: (0.59956086, 1.43907234, 2.8532859),
    15: (0.28085323, 0.60466435, 0.98699807, 1.45379991, 2.05336077, 2.89287225, 4.30708581),
}
"""Lloyd–Max levels of the Laplace distribution of variance 1 (Max 1960, IRE Trans. IT-6; Lloyd 1982, IEEE
Trans. IT-28): gradients, even in units of √v, have heavier tails than the normal distribution."""

TABLES: dict[int, LevelTable] = {
    3: LevelTable(_LAPLACE[3], group=5, group_bytes=1, scale="rms"),
    5: LevelTable(_LAPLACE[5], group=10, group_bytes=3, scale="rms"),
    7: LevelTable(_LAPLACE[7], group=8, group_bytes=3, scale="rms"),
    15: LevelTable(_LAPLACE[15], group=2, group_bytes=1, scale="rms"),
    255: LevelTable(tuple(n / 127 for n in range(1, 128)), group=1, group_bytes=1, scale="max"),
}
"""By number of levels: 1.6, 2.4, 3, 4 and 8 bits an element."""
