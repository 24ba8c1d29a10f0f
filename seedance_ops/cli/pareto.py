"""``seedance pareto``: throughput against quality over a sweep of compressors, or of a finished run."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from seedance_ops.jobs.project import ProjectContext
    from seedance_ops.jobs.sweep import Sweep
    from seedance_ops.reporting.throughput_front import ThroughputFront

app = typer.Typer(add_completion=False)

_DEFAULT_K = "0.001,0.01,0.05"


@app.command()
def pareto(
    target: Annotated[
        str,
        typer.Argument(
            help="A job file, to sweep; or a finished run: JOB/RUN_ID, or JOB.", show_default=False
        ),
    ],
    *,
    k: Annotated[
        str | None,
        typer.Option("--k", help="Shares for mixed_precision: 0.001,0.01,0.05.", show_default=False),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(help="Bits an element for quantized_error_feedback: 2,2.35,4.", show_default=False),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="Levels for quantized_error_feedback: 5,15,255.", show_default=False),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Profiles of hardware.yaml: a100,mi250x; a100+mi250x mixes two.")
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            help="Draw here (.svg, .png, .pdf). Default: JOB.svg in this folder.", show_default=False
        ),
    ] = None,
    print_job: Annotated[
        bool, typer.Option("--print-job", help="Print the sweep's job file, and run nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw throughput against quality with intervals; what another variant beats in both is grey.

    Of a job file: its baseline and a variant for each setting are run like `seedance run` does, as a job
    called NAME-pareto. The report's two points are drawn apart: published, not measured. Exit code 0: drawn;
    1: the run failed, or measured no two variants; 2: the file, an option or the run is not valid.
    """
    swept = Path(target).suffix in (".yaml", ".yml")
    if not swept and (k or bits or levels or print_job or device != "auto"):
        typer.echo("error: --k, --bits, --levels, --device and --print-job are for a job file", err=True)
        raise typer.Exit(2)
    if swept:
        target = _run_sweep(
            Path(target), _sweep(k, bits, levels, device), print_only=print_job, talk_to_stderr=as_json
        )
    front = _front_of(target)
    file = output or Path(f"{front.job}.svg")
    _draw(front, file)
    if as_json:
        print_json(front.model_dump(mode="json"))
    else:
        _print(front, file)
    raise typer.Exit(0 if len(front.points) > 1 else 1)


def _sweep(k: str | None, bits: str | None, levels: str | None, device: str) -> Sweep:
    from seedance_ops.jobs.sweep import Sweep

    if k is None and bits is None and levels is None:
        k = _DEFAULT_K
    if device != "auto" and k is None:
        typer.echo("error: --device is whose share of --k is sent: give --k as well", err=True)
        raise typer.Exit(2)
    try:
        return Sweep(
            k_ratios=() if k is None else tuple(float(part) for part in k.split(",")),
            bits=() if bits is None else tuple(float(part) for part in bits.split(",")),
            levels=() if levels is None else tuple(int(part) for part in levels.split(",")),
            devices=tuple(tuple(name.split("+")) for name in device.split(",")),
        )
    except ValueError as error:
        typer.echo(f"error: --k, --bits and --levels are numbers with commas between them: {error}", err=True)
        raise typer.Exit(2) from None


def _run_sweep(file: Path, sweep: Sweep, *, print_only: bool, talk_to_stderr: bool) -> str:
    """The name of the job that was run; ends the command where it cannot be, or has failed."""
    from seedance_ops.cli.job_file import load_job_or_exit
    from seedance_ops.cli.run import airflow_home
    from seedance_ops.jobs.sweep import sweep_name, sweep_text

    job, project = load_job_or_exit(file)
    if job.workload.quality is None:
        typer.echo(f"error: {file}: workload.quality is missing: there is nothing to draw against", err=True)
        raise typer.Exit(2)
    text = sweep_text(job, sweep)
    home = airflow_home(project.root)
    written = home / "pareto" / f"{sweep_name(job)}.yaml"
    _refuse_invalid(text, written, project)
    if print_only:
        typer.echo(text, nl=False)
        raise typer.Exit(0)
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(text, encoding="utf-8")
    os.environ["AIRFLOW_HOME"] = str(home)

    from rich.console import Console

    from seedance_ops.cli.run_session import RunSession

    swept, _ = load_job_or_exit(written)
    session = RunSession(home, project, written, swept, Console(stderr=talk_to_stderr))
    code = session.run({}, interactive=sys.stdout.isatty() and not talk_to_stderr)
    if code:
        raise typer.Exit(code)
    return sweep_name(job)


def _refuse_invalid(text: str, written: Path, project: ProjectContext) -> None:
    from seedance_ops.jobs.errors import JobErrors
    from seedance_ops.jobs.loader import load_job_text

    try:
        load_job_text(text, written, project=project)
    except JobErrors as errors:
        # Nobody has seen the file that they stand in: the options are what can be mended.
        for error in errors.errors:
            said = replace(error, place=None, context=()).render()
            typer.echo(f"error: a setting of the sweep: {said}", err=True)
        raise typer.Exit(2) from None


def _front_of(name: str) -> ThroughputFront:
    from seedance_ops.cli.report import reports_of
    from seedance_ops.jobs.project import ProjectContext
    from seedance_ops.reporting.throughput_front import published_points, throughput_front

    ((run, report),) = reports_of(name)
    project = ProjectContext.discover(Path.cwd())
    published = published_points(project.root) if project else ()
    manifest = run.manifest
    front = (
        throughput_front(manifest.job, manifest.run_id, report.statistics, published)
        if report.statistics
        else None
    )
    if front is None:
        typer.echo(f"error: run {manifest.run_id} has no throughput and quality to draw", err=True)
        raise typer.Exit(1)
    return front


def _draw(front: ThroughputFront, file: Path) -> None:
    from seedance_ops.reporting.figure_front import write_front

    try:
        write_front(front, file)
    except (ValueError, OSError) as error:
        typer.echo(f"error: {file}: {error}", err=True)
        raise typer.Exit(2) from None


def _print(front: ThroughputFront, file: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{front.job} {front.run_id}", title_justify="left")
    for heading in (
        "variant",
        f"{front.throughput_metric} ({front.throughput_unit})",
        front.quality_metric,
        "",
    ):
        table.add_column(heading)
    for point in front.points:
        levels = [
            f"{one.mean:.4g}"
            + (f" ({one.low:.4g} … {one.high:.4g})" if one.low is not None else " (no interval)")
            for one in (point.throughput, point.quality)
        ]
        by = f"dominated by {', '.join(point.dominated_by)}" if point.dominated else ""
        table.add_row(point.variant, *levels, by, style="dim" if point.dominated else None)
    console = Console()
    console.print(table)
    for variant in front.left_out:
        console.print(f"left out: {variant} has no finished run that measured both", highlight=False)
    for one in front.published:
        console.print(
            f"published, not measured: {one.name} {one.throughput_tflops:g} TFLOPS, "
            f"+{one.accuracy_drop_percent:g} % top-1 drop",
            highlight=False,
        )
    console.print(f"drawn in {file}", highlight=False)
