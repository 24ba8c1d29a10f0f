"""How a rank's kind of device takes part in mixed-precision compression (R3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

_DIGITS = 6


class DeviceProfile(StrictModel):
    """One kind of device, as the hardware catalogue had it when the run was planned."""

    device: str = Field(min_length=1, max_length=63)
    """Its key there, or what the job calls it."""
    vendor: str | None = Field(default=None, max_length=50)
    """None where the catalogue does not have it."""
    threshold_scale: float = Field(default=1.0, gt=0.0, le=2.0)
    """What the threshold by which it selects is multiplied by: below 1 it selects more."""
    k_range: tuple[float, float] = (0.001, 0.05)
    """Least and largest share of the elements that it sends."""
    top_k: bool = True
    """Whether it selects at all; else it sends every element."""
    basis: Literal["published", "measured", "none"] = "none"
    """Where the figures come from; ``none``: neutral ones, since nobody has published or measured any."""

    def k_of(self, k_ratio: float) -> float | None:
        """Share of the elements that this device sends where others send ``k_ratio``; none for all.

        ``k ** threshold_scale``, kept within ``k_range``. Selection is by an exact number, so that bytes are
        a formula; a scaled threshold has to become a number. Of a Laplace distribution the share beyond a
        threshold t is ``exp(-t/b)``, and so that beyond s·t is ``k ** s``: 1 % becomes 1.8 % at 0.87. (Of a
        normal distribution it would be 2.5 %; gradients have the heavier tails of the former, see
        ``level_tables``.) Rounded to six digits, the same on every machine.
        """
        if not self.top_k:
            return None
        low, high = self.k_range
        scaled: float = k_ratio**self.threshold_scale
        return round(min(max(scaled, low), high), _DIGITS)


def device_of(devices: Sequence[DeviceProfile], rank: int, ranks: int) -> DeviceProfile:
    """A rank's device: each stands for an equal stretch of neighbouring ranks, to within one."""
    return devices[rank * len(devices) // ranks]


def mixed_vendors(devices: Sequence[DeviceProfile]) -> tuple[str, ...]:
    """The vendors of the devices where they are several, else none."""
    vendors = tuple(dict.fromkeys(device.vendor or f"the vendor of {device.device}" for device in devices))
    return vendors if len(vendors) > 1 else ()
