"""Finds the trainings that a checkpoint command was asked about, and the place of each in the store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seedance_ops.jobs.manifest import RunManifest
    from seedance_ops.jobs.run_store import RunStore
    from seedance_ops.storage.client import ObjectStore
    from seedance_ops.training.checkpoint.config import KeepPolicy

RunArgument = Annotated[
    str | None,
    typer.Argument(help="JOB/RUN_ID, or JOB for its newest run.", metavar="RUN", show_default=False),
]
UriOption = Annotated[
    str | None,
    typer.Option("--uri", help="s3://bucket/prefix of one training, instead of RUN.", show_default=False),
]
VariantOption = Annotated[
    str | None, typer.Option("--variant", help="This variant only.", show_default=False)
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="This seed only.", show_default=False)]
TakeOption = Annotated[
    int | None,
    typer.Option("--take", help="This take; default: the newest; ls and gc: all.", show_default=False),
]
StepOption = Annotated[int | None, typer.Option("--step", help="Of this step.", show_default=False)]

_TAKE = re.compile(r"([^/]+)/seed-(\d{1,10})/take-(\d{1,9})/.*", re.DOTALL)
_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Asked:
    """What the options say."""

    run: str | None
    uri: str | None
    variant: str | None = None
    seed: int | None = None
    take: int | None = None
    all_takes: bool = False


@dataclass(frozen=True)
class Training:
    """One training's place."""

    store: ObjectStore
    variant: str | None
    seed: int | None
    take: int | None
    job_hash: str | None
    """Of the run; ``None`` where only its address is known."""
    keep: KeepPolicy | None

    def __str__(self) -> str:
        if self.variant is None:
            return self.store.location.uri
        return f"{self.variant} seed {self.seed} take {self.take}"


class NotChosen(LookupError):  # noqa: N818 - names what is wrong
    """The options name no training, or not exactly one; the message says which there are."""


@contextmanager
def errors_told() -> Iterator[None]:
    """End the command with 2 and one message for what can go wrong with a store, a disk or a checkpoint."""
    from seedance_ops.cli.finished_run import RunNotFound
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError
    from seedance_ops.training.errors import TrainingError

    try:
        yield
    except (RunNotFound, NotChosen, StorageError, EmbeddedStoreError, TrainingError, OSError) as error:
        typer.echo(f"error: {printable(str(error))}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def trainings(asked: Asked) -> Iterator[list[Training]]:
    """The trainings, by variant, seed and take, while their store is up.

    Raises ``NotChosen``, ``RunNotFound``, ``StorageError`` and ``EmbeddedStoreError``.
    """
    from seedance_ops.cli.finished_run import find_run, object_store

    if (asked.run is None) == (asked.uri is None):
        raise NotChosen("give either RUN (JOB/RUN_ID, or JOB) or --uri s3://bucket/prefix")
    if asked.uri is not None:
        yield [_at(asked.uri)]
        return
    assert asked.run is not None
    with object_store() as base:
        run = find_run(base, asked.run).store
        yield _of_run(run, run.planned(), asked)


def only(found: list[Training]) -> Training:
    """The one that was asked about; raises ``NotChosen`` with the others."""
    if len(found) == 1:
        return found[0]
    names = "; ".join(f"--variant {each.variant} --seed {each.seed}" for each in found[:6])
    raise NotChosen(f"{len(found)} trainings match, and this takes one: say which ({names} …)")


def printable(text: str) -> str:
    """Without characters that would steer a terminal: much of it was read from files of others."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def _at(uri: str) -> Training:
    from pydantic import ValidationError

    from seedance_ops.storage.client import ObjectStore
    from seedance_ops.storage.config import StorageLocation

    try:
        location = StorageLocation(uri=uri.rstrip("/").removesuffix("/checkpoints"))
    except ValidationError:
        raise NotChosen(f"--uri {uri!r} is no s3://bucket/prefix of a training") from None
    return Training(ObjectStore(location, patience_s=_PATIENCE_S), None, None, None, None, None)


def _of_run(run: RunStore, planned: RunManifest, asked: Asked) -> list[Training]:
    seeds: dict[str, set[int]] = {variant: set() for variant in planned.job.variants}
    for each in (*planned.screening_runs, *planned.runs):
        seeds[each.variant].add(each.seed)
    chosen = [asked.variant] if asked.variant is not None else list(seeds)
    if unknown := [variant for variant in chosen if variant not in seeds]:
        raise NotChosen(f"the run has no variant {unknown[0]!r}; it has {', '.join(seeds)}")
    takes = _takes(run)
    found = [
        _training(run, planned, variant, seed, take)
        for variant in chosen
        for seed in sorted(seeds[variant])
        if asked.seed in (None, seed)
        for take in _chosen_takes(takes.get((variant, seed), {1}), asked)
    ]
    for variant in chosen:
        if variant in planned.reused:
            name = f"{planned.job.metadata.name}/{planned.reused[variant].run_id}"
            typer.echo(f"note: {variant} was trained by an earlier run: see {name}", err=True)
    if not found:
        known = sorted(set().union(*(seeds[variant] for variant in chosen)))
        raise NotChosen(f"no training has that seed and take; seeds are {', '.join(map(str, known))}")
    return found


def _takes(run: RunStore) -> dict[tuple[str, int], set[int]]:
    takes: dict[tuple[str, int], set[int]] = {}
    for key in run.objects.list():
        if match := _TAKE.fullmatch(key):
            takes.setdefault((match[1], int(match[2])), set()).add(int(match[3]))
    return takes


def _chosen_takes(takes: set[int], asked: Asked) -> list[int]:
    if asked.take is not None:
        return [asked.take] if asked.take in takes else []
    return sorted(takes) if asked.all_takes else [max(takes)]


def _training(run: RunStore, planned: RunManifest, variant: str, seed: int, take: int) -> Training:
    keep = planned.job.resolve(variant).checkpoint.keep
    objects = run.training_objects(variant, seed, take)
    return Training(objects, variant, seed, take, planned.job_hash, keep)
