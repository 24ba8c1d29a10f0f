"""``seedance checkpoint ls``: every checkpoint of a run, what has become of it, and which is resumed from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from seedance_ops.cli.checkpoint.trainings import (
    Asked,
    RunArgument,
    SeedOption,
    TakeOption,
    Training,
    UriOption,
    VariantOption,
    errors_told,
    printable,
    trainings,
)
from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from seedance_ops.training.checkpoint.survey import StoredCheckpoint


def ls(
    run: RunArgument = None,
    *,
    uri: UriOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the checkpoints of RUN in the object store.

    Exit code 2: there is no such run, or the store does not answer.
    """
    from seedance_ops.training.checkpoint.survey import survey

    rows: list[dict[str, Any]] = []
    unknown = 0
    with errors_told(), trainings(Asked(run, uri, variant, seed, take, all_takes=True)) as found:
        for training in found:
            stored = survey(training.store)
            source = stored.resume_source(training.job_hash)
            unknown += len(stored.unknown)
            rows += [_row(training, each, is_source=each is source) for each in stored.checkpoints]
    if as_json:
        print_json(rows)
        return
    if rows:
        _print(rows)
    else:
        typer.echo("no checkpoint")
    for row in rows:
        if row["problem"]:
            typer.echo(f"step {row['step']} {row['writer']}: {printable(row['problem'])}", err=True)
    if unknown:
        typer.echo(f"{unknown} keys below checkpoints/ are of no known kind", err=True)


def _row(training: Training, each: StoredCheckpoint, *, is_source: bool) -> dict[str, Any]:
    manifest = each.manifest
    entries = (*each.shards, *((each.decision,) if each.decision else ()))
    written_at_s = manifest.written_at_s if manifest else max(entry.modified_s for entry in entries)
    foreign = manifest is not None and training.job_hash not in (None, manifest.job_hash)
    return {
        "place": training.store.location.uri,
        "variant": training.variant,
        "seed": training.seed,
        "take": training.take,
        "step": each.step,
        "submission": each.writer.submission,
        "epoch": each.writer.epoch,
        "writer": str(each.writer),
        "state": each.state,
        "resumed_from_next": is_source,
        "bytes": manifest.total_bytes if manifest else each.stored_bytes,
        "written_at_s": written_at_s,
        "final": manifest.final if manifest else None,
        "metrics": manifest.metrics if manifest else {},
        "world_size": manifest.world_size if manifest else None,
        "folder": each.folder,
        "problem": "another version of the job wrote it: it is passed over" if foreign else each.problem,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    with_names = any(row["variant"] is not None for row in rows)
    names = ("variant", "seed", "take") if with_names else ()
    columns = (*names, "step", "submission/epoch", "size", "written (UTC)", "metrics", "state")
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        state = row["state"] + (", final" if row["final"] else "")
        cells = [
            *(str(row[name]) for name in names),
            str(row["step"]),
            f"{row['submission']}/{row['epoch']}",
            decimal(row["bytes"]),
            _when(row["written_at_s"]),
            " ".join(f"{name}={value:.6g}" for name, value in row["metrics"].items()),
            state + ("  ← the next submission resumes here" if row["resumed_from_next"] else ""),
        ]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console(width=None if Console().is_terminal else 200).print(table)


def _when(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return "?"  # a manifest may say anything
