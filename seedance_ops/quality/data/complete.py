"""Whether every planned run and rank reported, once, and nothing else did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from seedance_ops.quality.data.fact import DataFact
from seedance_ops.quality.data.tables import DataTables

CHECK = "complete"


def complete(
    variant: str,
    tables: DataTables,
    *,
    seeds: Sequence[int],
    ranks: int | None,
    strangers: Sequence[str] = (),
) -> DataFact:
    """One row a planned run, records of every rank, no row twice, no row of a run that was not planned.

    Args:
        variant: Whose tables they are.
        tables: This variant's rows alone.
        seeds: Those that were planned.
        ranks: How many ranks each run has; ``None`` where the program keeps no step records.
        strangers: What ``strangers_in`` found: nobody knows whose runs they were mixed with, so they count
            against every variant.
    """
    violations = [
        *_of_runs(tables.runs, seeds),
        *_unplanned(tables, seeds),
        *(() if ranks is None else _of_ranks(tables, seeds, ranks)),
        *_doubled(tables.launches, ["seed", "submission"]),
        *strangers,
    ]
    return DataFact.of(CHECK, variant, len(seeds) * (ranks or 1), violations)


def strangers_in(tables: DataTables, variants: Collection[str]) -> list[str]:
    """Rows of variants that the run does not have: its tables are mixed with another run's."""
    return [
        f"the table {name} has rows of variant {stranger}, which this run does not have"
        for name, frame in tables.named().items()
        for stranger in sorted(set(frame["variant"].unique()) - set(variants), key=str)
    ]


def _of_runs(runs: pd.DataFrame, seeds: Sequence[int]) -> Iterator[str]:
    rows = runs["seed"].value_counts().to_dict()
    for seed in seeds:
        found = rows.get(seed, 0)
        if found == 0:
            yield f"seed {seed} has no row in the run table"
        elif found > 1:
            yield f"seed {seed} has {found} rows in the run table"


def _of_ranks(tables: DataTables, seeds: Sequence[int], ranks: int) -> Iterator[str]:
    """Of the completed runs: what a failed one left is no measure of anything."""
    steps = tables.steps
    by_seed = steps.groupby("seed")["rank"].unique()
    for seed in sorted({int(seed) for seed in tables.runs["seed"]} & set(seeds)):
        found = {int(rank) for rank in by_seed.get(seed, [])}
        for rank in sorted(set(range(ranks)) - found):
            yield f"seed {seed} has no step records of rank {rank}"
        for rank in sorted(found - set(range(ranks))):
            yield f"seed {seed} has step records of rank {rank}, but {ranks} ranks were planned"
    other_sizes = steps[steps["world_size"] != ranks]
    for (of_seed, size), _ in other_sizes.groupby(["seed", "world_size"]):
        yield f"seed {of_seed} has step records of a world of {size} ranks, but {ranks} were planned"
    yield from _doubled(steps, ["seed", "rank", "step"])
    yield from _doubled(tables.evaluations, ["seed", "metric", "step"])


def _doubled(frame: pd.DataFrame, keys: list[str]) -> Iterator[str]:
    """One sentence for all that is doubled in one place: there may be millions."""
    *place, last = keys
    for where, doubled in frame[frame.duplicated(keys)].groupby(place):
        named = ", ".join(f"{key} {value}" for key, value in zip(place, where, strict=True))
        yield f"{named}: {last} {doubled[last].iloc[0]} and {len(doubled) - 1} more stand more than once"


def _unplanned(tables: DataTables, seeds: Sequence[int]) -> Iterator[str]:
    for name, frame in tables.named().items():
        for seed in sorted(set(frame["seed"].unique()) - set(seeds)):
            yield f"the table {name} has rows of seed {seed}, which was not planned"
