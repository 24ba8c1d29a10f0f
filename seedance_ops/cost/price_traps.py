"""Known traps of public price lists, each with where it was seen."""

from __future__ import annotations

SENTINEL_PRICES_USD = frozenset({700.0, 9999.0})
"""Figures that lists write where they have no price; 700.0 in SkyPilot's GCP catalogue."""

OPENCOST_DEFAULT_GPU_USD_PER_HOUR = 0.95
"""What OpenCost charges an hour of any GPU that it has no price for (its default pricing file)."""

_ACCELERATORS_OF_INSTANCE = {
    "standard_nd96isr_h100_v5": 8,
    "standard_nd96is_h100_v5": 8,
    "standard_nd96isr_h200_v5": 8,
    "standard_nd96isr_mi300x_v5": 8,
    "standard_nd96asr_v4": 8,
    "standard_nd96amsr_a100_v4": 8,
    "p5.48xlarge": 8,
    "p5e.48xlarge": 8,
    "p5en.48xlarge": 8,
    "p4d.24xlarge": 8,
    "p4de.24xlarge": 8,
    "a3-highgpu-8g": 8,
    "a3-megagpu-8g": 8,
    "a2-ultragpu-8g": 8,
    "a2-highgpu-8g": 8,
}
"""By the vendors' own pages; SkyPilot's Azure catalogue listed the first two with 12."""


_GPU_HOST_FAMILIES = ("a2-", "a3-", "a4-", "g2-")
"""GCP machine families that exist only with GPUs: a row of one without accelerators is the host alone."""

_HARDWARE_KEYS = {
    "a100": "a100-40gb",
    "a100-80gb": "a100-80gb",
    "a100-80gb-sxm": "a100-80gb",
    "h100": "h100",
    "h100-sxm": "h100",
    "h100-mega": "h100",
    "h200": "h200",
    "h200-sxm": "h200",
    "mi250x": "mi250x",
    "mi300x": "mi300x",
    "l40s": "l40s",
    "l4": "l4",
    "t4": "t4",
    "v100": "v100",
    "v100-32gb": "v100",
}


def hardware_key(accelerator_name: str) -> str | None:
    """Key in ``hardware.yaml`` for a name as SkyPilot and providers spell it; none for one not known here."""
    return _HARDWARE_KEYS.get(accelerator_name.strip().lower())


def is_gpu_host_alone(instance_type: str) -> bool:
    """Whether a row of this type without accelerators lacks the accelerators' price."""
    return instance_type.lower().startswith(_GPU_HOST_FAMILIES)


def accelerators_of_instance(instance_type: str | None) -> int | None:
    """How many accelerators a node of a known type has; none where it is not known here."""
    if instance_type is None:
        return None
    return _ACCELERATORS_OF_INSTANCE.get(instance_type.strip().lower())


def is_sentinel(usd: float | None) -> bool:
    """Whether a figure is a placeholder."""
    return usd in SENTINEL_PRICES_USD
