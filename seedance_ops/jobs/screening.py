"""What the screening of a run found, and which variants it lets go on."""

from __future__ import annotations

from pydantic import Field

from seedance_ops.strict_model import StrictModel


class ScreenedVariant(StrictModel):
    """One variant in the screening."""

    variant: str
    usd_per_1k_samples: float | None
    """Sum of training time's cost over sum of samples, times 1000; none where no screening run ended well."""
    runs: int = Field(ge=0)
    """Screening runs that it rests on."""
    confirmed: bool
    """Whether the variant is trained in full."""
    reason: str
    """Why, or why not."""


class Screening(StrictModel):
    """``_run/screening.json``."""

    samples: int
    """Of one screening run."""
    variants: tuple[ScreenedVariant, ...]
    """The cheapest first; those without a figure last."""
    usd: float
    """What the screening cost: every launch of it."""
    accelerator_hours: float
    queue_s: float

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The variants that go on."""
        return tuple(row.variant for row in self.variants if row.confirmed)

    @property
    def stopped(self) -> tuple[str, ...]:
        """The variants that end here."""
        return tuple(row.variant for row in self.variants if not row.confirmed)
