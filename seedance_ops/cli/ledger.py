"""``seedance ledger RUN``: the bill of a finished run, line by line, and as FOCUS for FinOps tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

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
    """Print what RUN cost by variant, stage and component.

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
            frame, writes = _rows_of(found), _writes_of(found)
            usage = stored_usage(found.store)
        if focus is not None:
            job = found.manifest.job.metadata
            billing = Billing(account_id=account, provider=provider)
            table = focus_of(frame, billing, job=job.name, run_id=found.manifest.run_id, labels=job.labels)
            write_focus(table, focus)
    except (RunNotFound, CostError, StorageError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    _print(frame)
    for gone in not_priced(frame, writes, usage):
        tier = f" ({gone.tier})" if gone.tier != "-" else ""
        typer.echo(f"not priced: {gone.component}{tier}: {gone.reason}")
    if focus is not None:
        typer.echo(f"FOCUS 1.2: {focus} ({len(frame)} rows)")


def _writes_of(found: FinishedRun) -> pd.DataFrame | None:
    """What was saved; none of a run that ended with its screening."""
    from seedance_ops.storage.errors import ObjectMissing

    try:
        return found.store.frame("checkpoint_writes")
    except ObjectMissing:
        return None


def _rows_of(found: FinishedRun) -> pd.DataFrame:
    """What this run was billed for: its screening too, and not what an earlier run has paid for."""
    import pandas as pd

    from seedance_ops.storage.errors import ObjectMissing

    screened = [found.store.frame("screening_ledger")] if found.store.screening() else []
    try:
        frame = found.store.frame("ledger")
    except ObjectMissing:
        if not screened:
            raise
        return screened[0]  # the run ended with its screening
    paid_here = frame[~frame["variant"].isin(list(found.manifest.reused))]
    return pd.concat([*screened, paid_here], ignore_index=True)


def _print(frame: pd.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table

    from seedance_ops.quality.wording import number

    rows = (
        frame.groupby(["variant", "stage", "component", "unit", "source"], sort=True)
        .agg(quantity=("quantity", "sum"), cost_usd=("cost_usd", "sum"))
        .reset_index()
    )
    table = Table("variant", "stage", "component", "quantity", "unit", "USD", "source")
    for variant, of_variant in rows.groupby("variant", sort=False):
        for row in of_variant.to_dict("records"):
            table.add_row(
                *(str(row[name]) for name in ("variant", "stage", "component")),
                number(row["quantity"]),
                str(row["unit"]),
                number(row["cost_usd"]),
                str(row["source"]),
            )
        table.add_row(
            str(variant), "", "total", "", "", number(of_variant["cost_usd"].sum()), "", style="bold"
        )
        table.add_section()
    Console().print(table)
