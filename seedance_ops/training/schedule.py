"""How many optimiser steps a stop condition means, and which samples each of them takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seedance_ops.training.config import StopCondition
from seedance_ops.training.errors import ConfigurationError


@dataclass(frozen=True)
class Step:
    """One optimiser step as the user's loop sees it."""

    number: int
    """1-based."""
    sample_offset: int
    """Index of this rank's first sample in the run's order; the next ``batch`` ones are its own too."""
    batch: int
    """Samples of this rank."""
    last: bool
    """Whether training stops after it."""

    @property
    def samples(self) -> range:
        """The indices of this rank's samples."""
        return range(self.sample_offset, self.sample_offset + self.batch)


@dataclass(frozen=True)
class Schedule:
    """The steps of a run: every rank takes ``batch`` samples a step, in rank order."""

    stop: StopCondition
    batch: int
    world_size: int
    tokens_per_sample: int | None = None
    steps_before: int = 0
    """Done by an earlier submission, perhaps with another number of ranks."""
    samples_before: int = 0
    """Which these steps took."""

    def resumed(self, steps: int, samples: int) -> Schedule:
        """The same run, continued after ``steps`` that took ``samples``."""
        return replace(self, steps_before=steps, samples_before=samples)

    @property
    def samples_per_step(self) -> int:
        """Over all ranks."""
        return self.batch * self.world_size

    def whole_steps(self) -> int:
        """Steps until the next one would exceed the stop condition; 0 where the first one would."""
        if self.stop.steps is not None:
            return self.stop.steps
        return self.steps_before + (self._budget() - self.samples_before) // self.samples_per_step

    def total_steps(self) -> int:
        """``whole_steps``, of which there must be one."""
        total = self.whole_steps()
        if total == 0:
            raise ConfigurationError(
                f"stop allows {self._budget()} samples, less than one step of "
                f"{self.world_size} × {self.batch}; raise workload.stop or lower workload.batch.per_rank"
            )
        return total

    def step(self, number: int, rank: int) -> Step:
        """Step ``number`` as ``rank`` sees it."""
        offset = self.samples_after(number - 1) + rank * self.batch
        return Step(number, offset, self.batch, number == self.total_steps())

    def samples_after(self, steps: int) -> int:
        """Samples over all ranks that the run has seen after ``steps``, at least ``steps_before``."""
        return self.samples_before + (steps - self.steps_before) * self.samples_per_step

    def _budget(self) -> int:
        """Samples that the stop condition allows."""
        if self.stop.samples is not None:
            return self.stop.samples
        if self.tokens_per_sample is None:
            raise ConfigurationError(
                "stop.tokens needs to know how many tokens a sample has: give prepare() tokens_per_sample, "
                "or stop by samples or steps"
            )
        assert self.stop.tokens is not None
        return self.stop.tokens // self.tokens_per_sample
