"""Whether the prices that a job's launchers name are in the catalogue, where a run would stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seedance_ops.jobs.errors import JobError, Place
from seedance_ops.jobs.loader import LoadedJob
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob

if TYPE_CHECKING:
    from seedance_ops.cost.catalogue import PriceCatalogue

_LAUNCHER = "launcher"


@dataclass(frozen=True)
class PriceKeys:
    """What was found."""

    errors: tuple[JobError, ...] = ()
    """Keys that the catalogue lacks, and a catalogue that cannot be read."""
    warnings: tuple[JobError, ...] = ()
    """There is no catalogue to look in."""


def check_price_keys(loaded: LoadedJob) -> PriceKeys:
    """Look for the price of each variant's launcher."""
    from seedance_ops.cost.catalogue import CatalogueError, PriceMissing
    from seedance_ops.jobs.catalog import price_catalogue

    project = ProjectContext.around(loaded.source)
    if project is None or not isinstance(loaded.job, TrainingJob):
        return PriceKeys()
    path, place = _place(loaded, loaded.job.baseline)
    if not project.prices_file.is_file():
        message = f"there is no price catalogue {project.prices_file}: prices cannot be looked up"
        step = "create it with the key prices: a run stops without it"
        return PriceKeys(warnings=(JobError(message, place, path=path, suggestion=step),))
    try:
        catalogue = price_catalogue(project)
    except (CatalogueError, PriceMissing) as error:
        return PriceKeys(errors=(JobError(str(error), place, path=path),))
    return PriceKeys(errors=tuple(_missing(loaded, loaded.job, project, catalogue)))


def _missing(
    loaded: LoadedJob, job: TrainingJob, project: ProjectContext, catalogue: PriceCatalogue
) -> Iterator[JobError]:
    """One error for each place that chooses a launcher, since variants share it."""
    from seedance_ops.jobs.catalog import launcher_profile
    from seedance_ops.jobs.findings import listed, nearest

    files = f"{catalogue.file}{' or the overlay' if catalogue.overlaid else ''}"
    seen: set[tuple[str, str]] = set()
    for variant in job.variants:
        choice = job.resolve(variant).launcher
        key = launcher_profile(choice, project).price
        path, place = _place(loaded, variant)
        if key in catalogue.entries or (path, key) in seen:
            continue
        seen.add((path, key))
        profile = f"launcher profile {choice}" if isinstance(choice, str) else "the launcher"
        yield JobError(
            f"{profile} is priced by {key}, which is not in {files}",
            place,
            path=path,
            value=key,
            allowed=listed(sorted(catalogue.entries)) or "nothing: it is empty",
            suggestion=nearest(key, catalogue.entries),
        )


def _place(loaded: LoadedJob, variant: str) -> tuple[str, Place]:
    """Where the variant's launcher is chosen, or its price written: in its ``set``, or in the job."""
    of_variant = f"variants.{variant}.set.{_LAUNCHER}"
    candidates = (f"{of_variant}.price", of_variant, f"{_LAUNCHER}.price", _LAUNCHER)
    for path in candidates:
        if path in loaded.positions:
            return path, loaded.positions[path]
    return _LAUNCHER, Place(loaded.source, 1, 1)
