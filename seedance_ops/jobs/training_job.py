"""``kind: TrainingJob``: train variants against each other, and accept what is cheaper and no worse."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, Literal

from pydantic import Field, model_validator

from seedance_ops.jobs.approval import ApprovalTerms
from seedance_ops.jobs.dotted import set_value
from seedance_ops.jobs.economy import Budget, Economics, PriceTerms
from seedance_ops.jobs.execution import Limits, Repeats
from seedance_ops.jobs.gates import Gate
from seedance_ops.jobs.metadata import Metadata, Schedule
from seedance_ops.jobs.names import Name
from seedance_ops.jobs.phases import Phases
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.variants import OVERRIDABLE, ResolvedVariant, Treatment, Variant
from seedance_ops.storage.config import StorageLocation


class TrainingJob(Treatment):
    """One workload, several variants of it, and the gates that decide between them."""

    api_version: Literal["seedance.ops/v1"] = Field(alias="apiVersion")
    """Version of the job language."""
    kind: Literal["TrainingJob"]
    """What the file describes."""
    metadata: Metadata
    """What the job is called and whose it is."""
    schedule: Schedule | None = None
    """When it runs by itself; absent: when triggered."""
    variants: dict[Name, Variant] = Field(min_length=1, max_length=100)
    """What is tried, by name, in the order of the report; ``{}`` is the workload as it stands."""
    repeats: Repeats = Repeats()
    """How often each variant runs."""
    phases: Phases | None = None
    """A cheap screening of all variants before the confirming runs of few; absent: every variant in full."""
    budget: Budget = Budget()
    """What finding out may cost."""
    prices: PriceTerms = PriceTerms()
    """What else is paid for: storage, requests, egress, energy; the accelerator's price is the launcher's."""
    economics: Economics | None = None
    """How often the workload runs in production; absent: the verdict states no money a month."""
    gates: tuple[Gate, ...] = Field(default=(), max_length=200)
    """What must hold of a variant."""
    approval: ApprovalTerms = ApprovalTerms()
    """How a person is asked, where a gate of ``severity: approval`` does not hold."""
    accept: Literal["any", "all", "report"] = "any"
    """``any``: the run succeeds when some variant passes its gates; ``all``; ``report``: never fails."""
    params: tuple[str, ...] = Field(default=(), max_length=100)
    """Dotted paths that the trigger form and ``--set`` may change for one run."""
    unequal_work: Literal["refused", "allowed"] = "refused"
    """Whether variants may do different amounts of work."""
    storage: StorageLocation | None = None
    """Where the runs' tables and checkpoints go; default: the deployment's own location."""
    limits: Limits = Limits()
    """Deadlines and retries of each launch."""

    @model_validator(mode="after")
    def _seeds_of_the_confirming_phase(self) -> TrainingJob:
        """``phases.confirm.seeds`` is the number of repeats; what contradicts it, ``check_phases`` finds."""
        if self.phases is None or "seeds" in self.repeats.model_fields_set:
            return self
        repeats = self.repeats.model_copy(update={"seeds": self.phases.confirm.seeds})
        return self.model_copy(update={"repeats": repeats})

    @property
    def baseline(self) -> str:
        """The variant others are described against: ``baseline``, else the first."""
        return "baseline" if "baseline" in self.variants else next(iter(self.variants))

    @property
    def asks_a_person(self) -> bool:
        """Whether some gate leaves the decision to a person."""
        return any(gate.severity == "approval" for gate in self.gates)

    def only(self, variants: Collection[str]) -> TrainingJob:
        """The same job with these of its variants, in its own order."""
        kept = {name: variant for name, variant in self.variants.items() if name in variants}
        return self.model_copy(update={"variants": kept})

    def resolve(self, variant: str) -> ResolvedVariant:
        """One variant with its overrides applied, and the direction of its best checkpoints filled in.

        Raises ``KeyError`` for an unknown name, and ``pydantic.ValidationError`` or ``DottedPathError``
        where an override does not fit; a job from the loader has been checked against the latter two.
        """
        chosen = self.variants[variant]
        settings = self.model_dump(mode="json", by_alias=True, exclude_unset=True, include=set(OVERRIDABLE))
        for path, value in chosen.overrides.items():
            set_value(settings, path, copy.deepcopy(value))
        resolved: dict[str, Any] = {**settings, "name": variant}
        if chosen.gradient_compression is not None:
            resolved["compression"] = chosen.gradient_compression.model_dump(mode="json")
        found = from_plain(ResolvedVariant, resolved)
        best = found.checkpoint.keep.best
        if best is None:
            return found
        directed = found.checkpoint.with_direction(found.workload.better(best.metric))
        return found.model_copy(update={"checkpoint": directed})
