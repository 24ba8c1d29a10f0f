"""What each expectation of a suite finds in each variant's data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seedance_ops.cost.hardware import HardwareCatalogue
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.quality.data.complete import complete, strangers_in
from seedance_ops.quality.data.f_p import f_p_consistent
from seedance_ops.quality.data.fact import DataFact
from seedance_ops.quality.data.finite import finite
from seedance_ops.quality.data.monotone import monotone_steps
from seedance_ops.quality.data.prices import price_sane
from seedance_ops.quality.data.tables import DataTables
from seedance_ops.quality.data.utilisation import utilisation_in_range
from seedance_ops.quality.data.wire_bytes import bytes_consistent
from seedance_ops.quality.statistics import Statistics
from seedance_ops.quality.suite import (
    BytesToBeConsistent,
    Expectation,
    FAndPToBeConsistent,
    PricesToBeSane,
    RunsToBeComplete,
    StepsToBeFinite,
    StepsToBeMonotone,
    Suite,
    UtilisationToBeInRange,
)


@dataclass(frozen=True)
class FoundFact:
    """One expectation of the suite on one variant, with what its check counted."""

    position: int
    """Of the expectation in its suite."""
    expectation: Expectation
    fact: DataFact

    @property
    def check_id(self) -> str:
        """Identifies the check in its suite: position and name."""
        return f"{self.position}:{self.fact.check}"


@dataclass(frozen=True)
class DataEvidence:
    """A suite, and what it found; with ``problems`` there is none that could be trusted."""

    suite: Suite | None
    facts: tuple[FoundFact, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def unusable(cls, *problems: str) -> DataEvidence:
        """Of a suite that cannot be read or applied: every gate is an error, nothing is accepted."""
        return cls(suite=None, problems=problems)


def gather_data(
    suite: Suite,
    manifest: RunManifest,
    tables: DataTables,
    statistics: Statistics,
    *,
    hardware: HardwareCatalogue | None = None,
) -> DataEvidence:
    """What the suite finds, in its order, for the variants in theirs.

    A check that cannot apply to a variant is absent: of step records where the program keeps none, of F and p
    where none is stated. One that does apply and has nothing to look at counts 0 and does not pass.

    Args:
        suite: The expectations.
        manifest: What was planned.
        tables: What was recorded.
        statistics: What ``summarise`` made of it.
        hardware: Bounds of prices, where the project has them.
    """
    strangers = strangers_in(tables, manifest.job.variants)
    parts = [
        _Part(manifest, manifest.job.resolve(name), tables.of(name), statistics, hardware, strangers)
        for name in manifest.job.variants
    ]
    return DataEvidence(
        suite,
        tuple(
            FoundFact(position, expectation, fact)
            for position, expectation in enumerate(suite.expectations)
            for part in parts
            for fact in part.facts(expectation)
        ),
    )


@dataclass(frozen=True)
class _Part:
    """Everything that is known about one variant's data."""

    manifest: RunManifest
    variant: ResolvedVariant
    tables: DataTables
    statistics: Statistics
    hardware: HardwareCatalogue | None
    strangers: list[str]

    @property
    def _keeps_steps(self) -> bool:
        return self.variant.workload.runtime == "session"

    def facts(self, expectation: Expectation) -> Iterator[DataFact]:
        """The fact, if the expectation applies to the variant."""
        name, tables = self.variant.name, self.tables
        if isinstance(expectation, RunsToBeComplete):
            yield self._complete()
        elif isinstance(expectation, PricesToBeSane):
            yield price_sane(name, self.manifest.prices.get(name), hardware=self.hardware)
        elif isinstance(expectation, FAndPToBeConsistent):
            stated = f_p_consistent(name, self.statistics)
            yield from () if stated is None else (stated,)
        elif isinstance(expectation, UtilisationToBeInRange):
            found = utilisation_in_range(name, tables.steps, tables.launches)
            yield from (found,) if self._keeps_steps or found.checked else ()
        elif self._keeps_steps:
            yield from self._of_steps(expectation)

    def _of_steps(
        self, expectation: StepsToBeFinite | StepsToBeMonotone | BytesToBeConsistent
    ) -> Iterator[DataFact]:
        name, steps = self.variant.name, self.tables.steps
        if isinstance(expectation, StepsToBeFinite):
            found = finite(name, steps, columns=expectation.kwargs.columns)
            # Columns of which none is ever measured are no gap: no loss reported, no GPU.
            yield from (found,) if found.checked or steps.empty else ()
        elif isinstance(expectation, StepsToBeMonotone):
            yield monotone_steps(name, steps)
        else:
            yield bytes_consistent(
                name,
                steps,
                compression=self.variant.compression,
                world_size=self.variant.world_size,
                ranks_per_node=self.variant.processes_per_node,
                gradient_bytes=expectation.kwargs.gradient_bytes,
                tensors=expectation.kwargs.tensors,
            )

    def _complete(self) -> DataFact:
        name = self.variant.name
        return complete(
            name,
            self.tables,
            seeds=[run.seed for run in self.manifest.runs if run.variant == name],
            ranks=self.variant.world_size if self._keeps_steps else None,
            strangers=self.strangers,
        )
