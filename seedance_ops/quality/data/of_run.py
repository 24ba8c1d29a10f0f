"""What a suite finds in the tables that a run has stored."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from seedance_ops.cost.catalogue import CatalogueError
from seedance_ops.cost.hardware import HardwareCatalogue, load_hardware
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.quality.data.gather import DataEvidence, gather_data
from seedance_ops.quality.data.tables import DataTables
from seedance_ops.quality.results import GateResults
from seedance_ops.quality.statistics import Statistics
from seedance_ops.quality.suite import Suite
from seedance_ops.quality.suite_files import load_suite
from seedance_ops.storage.errors import ObjectMissing

SUITE_FILE = "expectations.json"
"""The suite by which a run was judged, among its objects."""


def data_of_run(
    run: RunStore, manifest: RunManifest, runs: pd.DataFrame, statistics: Statistics, *, project: Path | None
) -> DataEvidence:
    """Load the project's suite, store it with the run, and apply it.

    A suite or hardware catalogue that cannot be read raises nothing here: it comes back as a problem, by
    which every gate is an error and the report says why.

    Args:
        run: Where the tables are.
        manifest: What was planned.
        runs: The run table.
        statistics: What ``summarise`` made of it.
        project: Whose ``include/expectations/`` and hardware catalogue apply; without it the built-in suite.
    """
    try:
        suite = load_suite(project)
        hardware = _hardware(project)
    except JobErrors as errors:
        return DataEvidence.unusable(
            *(_in_a_line(error.headline(), error.suggestion) for error in errors.errors)
        )
    except CatalogueError as error:
        return DataEvidence.unusable(str(error))
    run.write(SUITE_FILE, suite)
    tables = DataTables(
        runs=runs,
        launches=run.frame("launches"),
        steps=run.frame("steps"),
        evaluations=run.frame("evaluations"),
    )
    return gather_data(suite, manifest, tables, statistics, hardware=hardware)


def suite_of_run(run: RunStore) -> Suite | None:
    """The suite by which it was judged: of a run of an older version the built-in one.

    None where the run was judged and its suite could not be read: then nothing of it can be judged again.
    """
    try:
        return run.read(SUITE_FILE, Suite)
    except ObjectMissing:
        pass
    try:
        broken = run.read("gates.json", GateResults).problems
    except ObjectMissing:
        broken = ()
    return None if broken else load_suite(None)


def _hardware(project: Path | None) -> HardwareCatalogue | None:
    if project is None or not ProjectContext(project).hardware_file.is_file():
        return None
    return load_hardware(ProjectContext(project).hardware_file)


def _in_a_line(headline: str, suggestion: str | None) -> str:
    return f"{headline}; try: {suggestion}" if suggestion else headline
