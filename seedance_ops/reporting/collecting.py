"""Collects what a run's trainings left in the object store: records of submissions, steps, evaluations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from seedance_ops.jobs.manifest import PlannedRun, RunManifest, training_prefix
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.reporting.reported_metrics import reported_evaluations
from seedance_ops.reporting.run_tables import LAUNCHES, RunTables, frame_of
from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.metrics.reading import (
    read_checkpoint_writes,
    read_evaluations,
    read_steps,
    read_usage,
)
from seedance_ops.training.metrics.tables import CHECKPOINT_WRITES, EVALUATIONS, STEPS, USAGE

_LAUNCH = re.compile(r"/take-(\d+)/launches/submission-\d+\.json$")
_REPORTED = re.compile(r"^evaluations/submission-(\d+)/metrics\.jsonl$")
_OF_THE_RUN = ["job", "run_id"]


def read_run_tables(this_run: RunStore, manifest: RunManifest) -> RunTables:
    """The tables of every planned training, of its newest take; of earlier takes the launches alone.

    Reused runs are read where the earlier run left them.
    """
    steps, evaluations, writes = [STEPS.empty_table()], [EVALUATIONS.empty_table()], []
    usage = [USAGE.empty_table()]
    launches: list[dict[str, object]] = []
    earlier: list[dict[str, object]] = []
    problems: list[str] = []
    accelerators = {name: manifest.job.resolve(name).resources.count for name in manifest.job.variants}
    stores = {variant: this_run.of(reused.run_id) for variant, reused in manifest.reused.items()}
    for planned in manifest.runs:
        run = stores.get(planned.variant, this_run)
        takes = _takes(run, planned)
        if not takes:
            continue
        *old, take = takes
        for number in old if run is this_run else ():
            old_store = run.training_objects(planned.variant, planned.seed, number)
            earlier += [_row(record, accelerators[planned.variant]) for record in _records(old_store)]
        place = training_prefix(planned.variant, planned.seed, take)
        store = run.training_objects(planned.variant, planned.seed, take)
        launches += [_row(record, accelerators[planned.variant]) for record in _records(store)]
        steps.append(read_steps(store))
        evaluations.append(read_evaluations(store))
        writes.append(read_checkpoint_writes(store))
        usage.append(read_usage(store))
        reported, troubles = _reported(store, planned)
        evaluations.append(reported)
        problems += [f"{place}/{trouble}" for trouble in troubles]
    return RunTables(
        steps=pa.concat_tables(steps).drop_columns(_OF_THE_RUN).to_pandas(),
        evaluations=pa.concat_tables(evaluations).drop_columns(_OF_THE_RUN).to_pandas(),
        checkpoint_writes=pa.concat_tables([CHECKPOINT_WRITES.empty_table(), *writes])
        .drop_columns(_OF_THE_RUN)
        .to_pandas(),
        launches=frame_of(launches, LAUNCHES),
        earlier_launches=frame_of(earlier, LAUNCHES),
        usage=pa.concat_tables(usage).drop_columns(_OF_THE_RUN).to_pandas(),
        problems=tuple(problems),
    )


def _takes(run: RunStore, planned: PlannedRun) -> list[int]:
    """The takes of which a submission was recorded, in order."""
    keys = run.objects.list(f"{planned.variant}/seed-{planned.seed}/")
    return sorted({int(found[1]) for key in keys if (found := _LAUNCH.search(key))})


def _records(store: ObjectStore) -> Iterator[LaunchRecord]:
    for key in store.list("launches/"):
        if key.endswith(".json"):
            yield LaunchRecord.model_validate_json(store.get(key))


def _row(record: LaunchRecord, accelerators_per_node: int) -> dict[str, object]:
    columns = LAUNCHES.keys() & LaunchRecord.model_fields.keys()
    return {
        **{column: getattr(record, column) for column in columns},
        "state": record.state.value,
        "nodes": " ".join(record.nodes),
        "accelerators_per_node": accelerators_per_node,
        "queue_s": record.queue_s,
        "run_s": record.run_s,
    }


def _reported(store: ObjectStore, planned: PlannedRun) -> tuple[pa.Table, list[str]]:
    """What a ``runtime: none`` program reported in its last submission: it has no older work to resume."""
    files = {int(found[1]): key for key in store.list("evaluations/") if (found := _REPORTED.match(key))}
    if not files:
        return EVALUATIONS.empty_table(), []
    submission = max(files)
    rows, problems = reported_evaluations(store.get(files[submission]))
    identity = {"variant": planned.variant, "seed": planned.seed, "submission": submission}
    table = pa.Table.from_pylist([identity | row for row in rows], EVALUATIONS)
    return table, [f"{files[submission]} {problem}" for problem in problems]
