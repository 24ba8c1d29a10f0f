"""What a run uses beside its accelerator's time, from the meter to the table."""

from __future__ import annotations

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.traffic import Traffic
from seedance_ops.training.log import RunLog
from seedance_ops.training.metrics import usage
from seedance_ops.training.metrics.energy import NotMeasured
from seedance_ops.training.metrics.reading import read_usage
from seedance_ops.training.metrics.records import CheckpointWriteRecord
from seedance_ops.training.metrics.usage import UsageMeter
from seedance_ops.training.metrics.writing import RunTables
from tests.unit.training.test_tables import plan, step


class Energy:
    method = "fake"

    def __init__(self) -> None:
        self.total_j: float | None = 0.0
        self.read = 0

    def joules(self) -> float | None:
        self.read += 1
        return self.total_j


def sums(rows: list[dict[str, object]]) -> dict[tuple[object, ...], float]:
    found: dict[tuple[object, ...], float] = {}
    for row in rows:
        key = (row["stage"], row["component"], row["tier"])
        found[key] = found.get(key, 0.0) + float(str(row["quantity"]))
    return found


def test_the_meter_tells_what_is_new_in_the_units_of_the_bill() -> None:
    traffic = Traffic({"put": 1}, 10)
    energy = Energy()
    meter = UsageMeter(3, lambda: traffic, energy)
    assert meter.take("run") == [], "what was sent before it was made is not its own"
    traffic, energy.total_j = Traffic({"put": 3, "get": 1}, 2_000_000_010), 1.8e6
    rows = meter.take("checkpoint")
    assert [(row.component, row.tier, row.quantity, row.method) for row in rows] == [
        ("requests", "get", 1.0, "counted"),
        ("requests", "put", 2.0, "counted"),
        ("egress", "-", 2.0, "counted"),
        ("energy", "-", 0.5, "fake"),
    ]
    assert {(row.rank, row.stage) for row in rows} == {(3, "checkpoint")}
    assert meter.take("run") == []


def test_energy_that_nobody_tells_is_said_once_and_has_no_quantity() -> None:
    meter = UsageMeter(0, Traffic, NotMeasured())
    (row,) = meter.take("run")
    assert (row.component, row.quantity, row.method) == ("energy", None, "none")
    assert meter.take("run") == []
    assert UsageMeter(1, Traffic, None).take("run") == [], "another rank of the node measures it"


def test_energy_is_read_between_flushes_but_not_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(usage.time, "monotonic", lambda: now_s)
    energy = Energy()
    log = RunLog(None, None, UsageMeter(0, Traffic, energy))
    for number in range(1, 91):  # a step a second
        now_s += 1.0
        log.add_step(step(number))
    assert energy.read == 3


def test_a_flush_tells_what_was_used_and_its_own_request_in_the_next(store: ObjectStore) -> None:
    of_checkpoints = Traffic()
    log = RunLog(
        RunTables(store, plan(1), 0),
        None,
        UsageMeter(0, store.traffic, None),
        UsageMeter(0, lambda: of_checkpoints, None),
    )
    log.add_step(step(1))
    log.flush()
    # The steps' part, and a listing to find its number.
    assert sums(read_usage(store).to_pylist()).keys() == {
        ("run", "requests", "put"), ("run", "requests", "list"), ("run", "egress", "-"),
    }  # fmt: skip
    of_checkpoints = Traffic({"put": 1}, 5000)
    log.add_checkpoints([CheckpointWriteRecord(1, "object", 5000, 0.1, 0.1)])
    log.flush()
    found = sums(read_usage(store).to_pylist())
    assert found["checkpoint", "requests", "put"] == 1
    assert found["checkpoint", "egress", "-"] == pytest.approx(5e-6)
    # Parts of steps, usage and checkpoint_writes, with a listing each; and the test has listed once.
    assert found["run", "requests", "put"] == 3
    assert found["run", "requests", "list"] == 4


def test_what_was_flushed_stays_and_submissions_and_ranks_add_up(store: ObjectStore) -> None:
    for submission, rank in ((1, 0), (1, 1), (2, 0)):
        traffic = Traffic()
        tables = RunTables(store, plan(submission), rank)
        log = RunLog(tables, None, UsageMeter(rank, lambda: traffic, None))  # noqa: B023
        traffic = Traffic({"put": 10}, 1000)
        log.flush()
        traffic = Traffic({"put": 99}, 1000)  # killed before this is flushed
    rows = read_usage(store).to_pylist()
    assert [(row["submission"], row["rank"]) for row in rows[::2]] == [(1, 0), (1, 1), (2, 0)]
    assert sums(rows)["run", "requests", "put"] == 30
    assert {row["variant"] for row in rows} == {"v"}


def test_a_run_of_a_version_that_recorded_none_reads_as_none(store: ObjectStore) -> None:
    assert read_usage(store).num_rows == 0
