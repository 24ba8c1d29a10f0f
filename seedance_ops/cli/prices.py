"""``seedance prices``: bring a price list in, and look for what is wrong with one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from seedance_ops.cost.hardware import HardwareCatalogue

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Import price lists, and check the price catalogue."
)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A price list.", show_default=False)],
    *,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="skypilot (vms.csv) or opencost (allocation export); else by the suffix."
        ),
    ] = None,
    provider: Annotated[str | None, typer.Option(help="Begins every key: aws, azure, my-cluster.")] = None,
    region: Annotated[str | None, typer.Option(help="Only this region (skypilot).")] = None,
    accelerator: Annotated[
        str | None, typer.Option(help="The cluster's GPU, as hardware.yaml calls it (opencost).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a row was refused.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a price list's entries as YAML, ready for prices.yaml; say on standard error what was refused."""
    from seedance_ops.cost.catalogue import CatalogueError
    from seedance_ops.cost.errors import CostError
    from seedance_ops.cost.imports.imported import plain
    from seedance_ops.cost.imports.opencost import read_opencost
    from seedance_ops.cost.imports.skypilot import read_skypilot

    chosen = format_ or ("opencost" if file.suffix == ".json" else "skypilot")
    day = datetime.now(UTC).date()
    try:
        hardware = _hardware()
        match chosen:
            case "skypilot":
                found = read_skypilot(
                    file,
                    provider=provider or file.parent.name or "list",
                    day=day,
                    region=region,
                    hardware=hardware,
                )
            case "opencost":
                found = read_opencost(
                    file, provider=provider or "opencost", day=day, accelerator=accelerator, hardware=hardware
                )
            case other:
                typer.echo(f"error: --format {other}: must be skypilot or opencost", err=True)
                raise typer.Exit(2)
    except (CostError, CatalogueError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    for finding in found.findings:
        typer.echo(finding.render(), err=True)
    if as_json:
        print_json(
            {
                "prices": {
                    key: {**plain(entry), "date": str(entry.date)} for key, entry in found.entries.items()
                },
                "findings": [
                    {"row": f.row, "kind": f.kind, "refused": f.refused, "message": f.message}
                    for f in found.findings
                ],
                "skipped": found.skipped,
            }
        )
    elif found.entries:
        typer.echo(found.as_yaml(), nl=False)
    if not found.entries:
        typer.echo(f"error: {file} gave no entry", err=True)
    raise typer.Exit(1 if not found.entries or (strict and found.refused) else 0)


@app.command()
def check(
    file: Annotated[
        Path | None, typer.Argument(help="A catalogue; else the project's.", show_default=False)
    ] = None,
    *,
    overlay: Annotated[Path | None, typer.Option(help="Contract prices from outside the project.")] = None,
    max_age_days: Annotated[int, typer.Option(min=0, help="Older prices are a warning.")] = 180,
    as_json: JsonOption = False,
) -> None:
    """Look for prices that are implausible or old; exit code 1 where one is implausible."""
    from seedance_ops.cost.catalogue import CatalogueError, PriceMissing, load_prices
    from seedance_ops.cost.price_checks import age_findings, price_sanity

    try:
        path = file or _catalogue_folder() / "prices.yaml"
        hardware = _hardware()
        catalogue = load_prices(path, overlay)
    except (CatalogueError, PriceMissing) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    prices = [catalogue.price(key, variant="-") for key in catalogue.entries]
    findings = [
        *(price_sanity(catalogue, hardware) if hardware else []),
        *age_findings(prices, max_age_days, datetime.now(UTC).date()),
    ]
    if as_json:
        print_json(
            {
                "prices": len(prices),
                "findings": [
                    {"severity": f.severity, "key": f.key, "kind": f.kind, "message": f.message}
                    for f in findings
                ],
            }
        )
    else:
        for finding in findings:
            typer.echo(f"{finding.severity}: {finding.message}", err=True)
        bounds = "" if hardware else "; no hardware.yaml beside it, so bounds were not checked"
        typer.echo(f"{path}: {len(prices)} prices, {len(findings)} findings{bounds}")
    raise typer.Exit(1 if any(finding.severity == "error" for finding in findings) else 0)


def _catalogue_folder() -> Path:
    from seedance_ops.jobs.project import PROJECT_VARIABLE, ProjectContext

    project = ProjectContext.discover(Path.cwd())
    if project is None:
        typer.echo(f"error: no project here; name a file, or a project in ${PROJECT_VARIABLE}", err=True)
        raise typer.Exit(1)
    return project.prices_file.parent


def _hardware() -> HardwareCatalogue | None:
    """The project's hardware catalogue, where there is a project that has one."""
    from seedance_ops.cost.hardware import load_hardware
    from seedance_ops.jobs.project import ProjectContext

    project = ProjectContext.discover(Path.cwd())
    path = project.prices_file.with_name("hardware.yaml") if project else None
    return load_hardware(path) if path and path.is_file() else None
