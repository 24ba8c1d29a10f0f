"""``seedance diff A B``: what differs between two job files, or between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from seedance_ops.jobs.project import ProjectContext
    from seedance_ops.jobs.training_job import TrainingJob
    from seedance_ops.planning.estimate import Estimate
    from seedance_ops.planning.history import HistoryRecord
    from seedance_ops.reporting.comparing import Comparison

app = typer.Typer(add_completion=False)


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="A job file, or a run: JOB/RUN_ID or JOB.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Another of the same kind.", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Print what differs between A and B: settings, stamp, cost, verdicts.

    Exit code 0, whether or not they differ; 2: one is not there or not valid, or A and B are of two kinds.
    """
    files = [_is_file(name) for name in (a, b)]
    if files[0] != files[1]:
        typer.echo("error: give two job files or two runs", err=True)
        raise typer.Exit(2)
    found = _jobs(a, b) if files[0] else _runs(a, b)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found)


def _is_file(name: str) -> bool:
    return Path(name).suffix in (".yaml", ".yml") or Path(name).is_file()


def _jobs(a: str, b: str) -> Comparison:
    from seedance_ops.cli.job_file import load_job_or_exit
    from seedance_ops.cli.job_history import histories_of
    from seedance_ops.reporting.comparing import compare_jobs

    one, other = (load_job_or_exit(Path(name)) for name in (a, b))
    earlier = histories_of(job.metadata.name for job, _ in (one, other))
    estimates = (_estimate(*one, earlier), _estimate(*other, earlier))
    both = (estimates[0], estimates[1]) if estimates[0] and estimates[1] else None
    return compare_jobs((a, b), (one[0], other[0]), both)


def _estimate(
    job: TrainingJob, project: ProjectContext, earlier: Mapping[str, Sequence[HistoryRecord]]
) -> Estimate | None:
    """By earlier runs of the job where they did the same work, else by what the job itself says."""
    from seedance_ops.cost.catalogue import CatalogueError, PriceMissing
    from seedance_ops.jobs.catalog import CatalogError, launcher_profile, price_catalogue
    from seedance_ops.planning.estimate import estimate_study

    try:
        profiles = {name: launcher_profile(job.resolve(name).launcher, project) for name in job.variants}
        catalogue = price_catalogue(project)
        prices = {name: catalogue.price(profile.price, variant=name) for name, profile in profiles.items()}
    except (CatalogError, CatalogueError, PriceMissing) as error:
        typer.echo(f"warning: no cost: {error}", err=True)
        return None
    return estimate_study(job, profiles=profiles, prices=prices, history=earlier[job.metadata.name])


def _runs(a: str, b: str) -> Comparison:
    from seedance_ops.cli.report import reports_of
    from seedance_ops.reporting.comparing import compare_runs

    (one, first), (other, second) = reports_of(a, b)
    names = tuple(f"{report.job}/{report.run_id}" for report in (first, second))
    return compare_runs((names[0], names[1]), (one.manifest, other.manifest), (first, second))


def _print(found: Comparison) -> None:
    from rich.console import Console

    console = Console()
    console.print(f"A: {found.a}\nB: {found.b}", markup=False, highlight=False)
    if not (found.settings or found.stamp):
        console.print("No setting differs.")
    _print_values(console, "setting", [(row.path, row.a, row.b) for row in found.settings])
    _print_values(console, "stamp", [(row.path, row.a, row.b) for row in found.stamp])
    _print_costs(console, found)
    for note in found.notes:
        console.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
    _print_values(console, "verdict", [(row.variant, row.a, row.b) for row in found.verdicts])


def _print_values(console: Console, title: str, rows: list[tuple[str, object, object]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    if not rows:
        return
    table = Table(title, "A", "B")
    for name, *values in rows:
        table.add_row(escape(name), *("—" if value is None else escape(str(value)) for value in values))
    console.print(table)


def _print_costs(console: Console, found: Comparison) -> None:
    from rich.table import Table

    from seedance_ops.quality.wording import number, percent

    if not found.cost:
        return
    table = Table(f"USD per run, {found.cost_is}", "A", "B", "change")
    for row in found.cost:
        shown = ("—" if usd is None else number(usd) for usd in (row.a_usd, row.b_usd))
        table.add_row(row.what, *shown, "—" if row.change is None else percent(row.change))
    console.print(table)
