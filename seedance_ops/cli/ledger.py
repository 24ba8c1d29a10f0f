"""``seedance ledger RUN``: the bill of a finished run, line by line, and as FOCUS for FinOps tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from seedance_ops.cli.finished_run import FinishedRun

app = typer.Typer(add_completion=False)


@app.command()
def ledger(
    run: Annotated[str, typer.Argument(help="JOB/RUN_ID, or JOB for its newest run.", show_default=False)],
    *,
    focus: Annotated[
        Path | None,
        typer.Option("--focus", help="Write FOCUS 1.2 here: .csv or .parquet.", show_default=False),
    ] = None,
    account: Annotated[str, typer.Option(help="The billed account, for FOCUS.")] = "unknown",
    provider: Annotated[str, typer.Option(help="Who is paid, for FOCUS.")] = "unknown",
) -> None:
    """Print what RUN cost by phase, variant, stage and component; the sum is the study's cost.

    Exit code 2: there is no such run, it has not been priced, or the file's suffix is not known.
    """
    from seedance_ops.cli.finished_run import RunNotFound, find_run, object_store
    from seedance_ops.cli.run_state import BILL
    from seedance_ops.cost.errors import CostError
    from seedance_ops.cost.focus import Billing, focus_of, write_focus
    from seedance_ops.cost.not_priced import not_priced
    from seedance_ops.reporting.run_tables import stored_usage
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    try:
        with object_store() as base:
            found = find_run(base, run, BILL)
            frame, writes = _rows_of(found), _stored(found, "checkpoint_writes")
            usage, in_no_row_usd = stored_usage(found.store), _cleared_screening_usd(found, frame)
        if focus is not None:
            job = found.manifest.job.metadata
            billing = Billing(account_id=account, provider=provider)
            table = focus_of(frame, billing, job=job.name, run_id=found.manifest.run_id, labels=job.labels)
            write_focus(table, focus)
    except (RunNotFound, CostError, StorageError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    _print(frame, in_no_row_usd)
    for gone in not_priced(frame, writes, usage):
        tier = f" ({gone.tier})" if gone.tier != "-" else ""
        typer.echo(f"not priced: {gone.component}{tier}: {gone.reason}")
    if focus is not None:
        typer.echo(f"FOCUS 1.2: {focus} ({len(frame)} rows)")


def _stored(found: FinishedRun, table: str) -> pd.DataFrame | None:
    """A table of the run; none where it ended before the stage that writes it."""
    from seedance_ops.storage.errors import ObjectMissing

    try:
        return found.store.frame(table)
    except ObjectMissing:
        return None


def _rows_of(found: FinishedRun) -> pd.DataFrame:
    """What this run was billed for: both phases, and not what an earlier run has paid for."""
    from seedance_ops.cost.study_ledger import study_ledger

    manifest = found.manifest
    return study_ledger(
        found.store.frame("screening_ledger") if found.store.screening() else None,
        _stored(found, "ledger"),
        has_phases=manifest.job.phases is not None,
        reused=manifest.reused,
        earlier_launches=_stored(found, "earlier_launches"),
        prices=manifest.prices,
    )


def _cleared_screening_usd(found: FinishedRun, frame: pd.DataFrame) -> float:
    """What screening runs cost whose task somebody cleared: the screening kept the sum and no rows."""
    screening = found.store.screening()
    if screening is None:
        return 0.0
    difference = screening.usd - float(frame.loc[frame["phase"] == "screen", "cost_usd"].sum())
    return difference if difference > 1e-9 * screening.usd else 0.0


def _print(frame: pd.DataFrame, in_no_row_usd: float) -> None:
    from rich.console import Console

    keys = ["phase", "variant", "stage", "component", "tier", "unit", "source"]
    sums = frame.groupby(keys, sort=False)[["quantity", "cost_usd"]].sum().reset_index()
    for phase, of_phase in sums.groupby("phase", sort=False):
        Console().print(_table(of_phase, f"phase: {phase!s}" if phase else None))
    typer.echo(_sum_line(sums, in_no_row_usd))


def _table(rows: pd.DataFrame, title: str | None) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from seedance_ops.quality.wording import number

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("variant", "stage", "component", "quantity", "USD", "source"):
        table.add_column(name, justify="right" if name in {"quantity", "USD"} else "left", overflow="fold")
    for variant, of_variant in rows.groupby("variant", sort=False):
        for row in of_variant.sort_values(["stage", "component", "tier"]).to_dict("records"):
            tier = "" if row["tier"] == "-" else f" ({row['tier']})"
            table.add_row(
                str(variant),
                str(row["stage"]),
                f"{row['component']}{tier}".replace("_", " "),  # so that it breaks between words
                f"{number(row['quantity'])} {row['unit']}",
                number(row["cost_usd"]),
                str(row["source"]),
            )
        total = number(of_variant["cost_usd"].sum())
        table.add_row(str(variant), "", "total", "", total, "", style="bold", end_section=True)
    return table


def _sum_line(rows: pd.DataFrame, in_no_row_usd: float) -> str:
    from seedance_ops.quality.wording import number

    by_phase = rows.groupby("phase", sort=False)["cost_usd"].sum()
    parts = [f"{phase} {number(usd)}" for phase, usd in by_phase.items() if phase]
    if in_no_row_usd:
        parts.append(f"cleared screening runs, in no row, {number(in_no_row_usd)}")
    total = number(float(by_phase.sum()) + in_no_row_usd)
    return f"study: {total} USD" + (f" ({', '.join(parts)})" if parts else "")
