"""``seedance estimate FILE``: what a run of a job will cost, before anything is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json
from seedance_ops.cli.run import SetOption

if TYPE_CHECKING:
    from seedance_ops.planning.estimate import Estimate
    from seedance_ops.planning.seeds import GateSeeds

app = typer.Typer(add_completion=False)


@app.command()
def estimate(
    file: Annotated[Path, typer.Argument(help="The job's YAML file.", show_default=False)],
    *,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print USD, accelerator hours, duration and break-even of one run of FILE. Submits nothing.

    Exit code 1: the run would be refused, because it is over the job's budget; 2: the job, a price or an
    option is not valid.
    """
    from seedance_ops.cli.job_file import load_job_or_exit
    from seedance_ops.cli.job_history import histories_of
    from seedance_ops.cost.catalogue import CatalogueError, PriceMissing
    from seedance_ops.jobs.catalog import CatalogError, launcher_profile, price_catalogue
    from seedance_ops.planning.estimate import estimate_study
    from seedance_ops.planning.seeds import seeds_needed

    job, project = load_job_or_exit(file, overrides)
    try:
        profiles = {name: launcher_profile(job.resolve(name).launcher, project) for name in job.variants}
        catalogue = price_catalogue(project)
        prices = {name: catalogue.price(profile.price, variant=name) for name, profile in profiles.items()}
    except (CatalogError, CatalogueError, PriceMissing) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    history = histories_of([job.metadata.name])[job.metadata.name]
    costed = partial(estimate_study, job, profiles=profiles, prices=prices, history=history)
    found, fits = costed(), False
    if job.repeats.reuse_baseline:
        fits = not costed(reused={job.baseline}).over_budget
        typer.echo(
            f"note: where plan finds an earlier {job.baseline} to reuse, its runs cost nothing", err=True
        )
    seeds = seeds_needed(job, history)
    if as_json:
        of_gates = [gate.model_dump(mode="json") for gate in seeds]
        print_json(found.model_dump(mode="json") | {"seeds": of_gates})
    else:
        _print(found)
        _print_seeds(seeds, job.repeats.seeds)
        for reason in found.over_budget:
            typer.echo(f"error: over budget: {reason}", err=True)
    raise typer.Exit(1 if found.over_budget and not fits else 0)


def _print(found: Estimate) -> None:
    from rich.console import Console
    from rich.table import Table

    from seedance_ops.quality.wording import number
    from seedance_ops.reporting.comparing import BASIS_WORDS

    table = Table("variant", "runs", "one run", "accelerator hours", "USD", "from")
    for variant in found.variants:
        table.add_row(
            variant.variant,
            f"{variant.runs} + {variant.screening_runs} short"
            if variant.screening_runs
            else str(variant.runs),
            f"{number(variant.run_s)} s",
            number(variant.accelerator_hours),
            number(variant.usd),
            BASIS_WORDS[variant.basis],
        )
    console = Console()
    console.print(table)
    console.print(
        f"{number(found.usd)} USD, {number(found.accelerator_hours)} accelerator hours, about "
        f"{number(found.duration_s / 60)} minutes of training",
        highlight=False,
    )
    if found.break_even:
        even = found.break_even
        console.print(
            f"Pays for itself after {number(even.production_runs)} production runs, if {even.variant} saves "
            f"{number(even.saving_usd_per_run)} USD in each ({even.basis}).",
            highlight=False,
        )
    else:
        console.print("Break-even: not known before a run or a gate on usd_per_run says what is saved.")


def _print_seeds(seeds: Sequence[GateSeeds], planned: int) -> None:
    from rich.console import Console

    from seedance_ops.stats.outcomes import NotJudgeable

    console = Console()
    for gate in seeds:
        head = f"{gate.variant}, {gate.gate}:"
        if isinstance(gate.plan, NotJudgeable):
            console.print(f"{head} seeds needed are not known: {gate.plan.reason}", highlight=False)
            continue
        cautious = gate.plan.n_per_variant_cautious
        most = f", {cautious} to be careful" if cautious else ""
        console.print(
            f"{head} {gate.plan.n_per_variant} seeds for {gate.plan.target_power:.0%} power{most}; "
            f"planned: {planned} ({gate.plan.spread.source})",
            style="" if gate.enough else "yellow",
            highlight=False,
        )
