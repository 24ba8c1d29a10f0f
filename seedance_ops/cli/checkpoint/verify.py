"""``seedance checkpoint verify``: read every shard of the committed checkpoints, and name what is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from seedance_ops.cli.checkpoint.trainings import (
    Asked,
    NotChosen,
    RunArgument,
    SeedOption,
    StepOption,
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
    from seedance_ops.training.checkpoint.verifying import Advance


def verify(
    run: RunArgument = None,
    *,
    uri: UriOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    step: StepOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read every shard of RUN's committed checkpoints and check size, CRC32C, BLAKE3 and content.

    Exit code 1: something is damaged or missing. 2: there is nothing to verify, or the store does not answer.
    """
    from seedance_ops.cli.checkpoint.bars import bytes_bar
    from seedance_ops.training.checkpoint.survey import survey

    rows: list[dict[str, Any]] = []
    with errors_told(), trainings(Asked(run, uri, variant, seed, take)) as found:
        chosen = [
            (training, each)
            for training in found
            for each in survey(training.store).checkpoints
            if each.state in ("committed", "unreadable") and step in (None, each.step)
        ]
        if not chosen:
            raise NotChosen("no committed checkpoint" + (f" of step {step}" if step is not None else ""))
        total_bytes = sum(each.manifest.total_bytes for _, each in chosen if each.manifest)
        with bytes_bar("verifying", total_bytes) as advance:
            rows = [_row(training, each, advance) for training, each in chosen]
    if as_json:
        print_json(rows)
    else:
        _print(rows)
    raise typer.Exit(1 if any(row["damaged"] for row in rows) else 0)


def _row(training: Training, each: StoredCheckpoint, advance: Advance) -> dict[str, Any]:
    from seedance_ops.training.checkpoint.shard_source import StoredShards
    from seedance_ops.training.checkpoint.verifying import Damage
    from seedance_ops.training.checkpoint.verifying import verify as damage_of

    if each.manifest is None:
        damaged = [Damage("manifest.json", each.problem or "it is not readable")]
    else:
        damaged = damage_of(each.manifest, StoredShards(training.store, each.folder), advance)
    return {
        "training": str(training),
        "folder": each.folder,
        "step": each.step,
        "files": len(each.manifest.files) if each.manifest else 0,
        "bytes": each.manifest.total_bytes if each.manifest else 0,
        "damaged": [{"file": damage.file, "problem": damage.problem} for damage in damaged],
    }


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        outcome = "DAMAGED" if row["damaged"] else f"whole ({row['files']} files, {row['bytes']} bytes)"
        typer.echo(f"{row['training']}: {row['folder']}: {outcome}")
        for damage in row["damaged"]:
            typer.echo(f"  {damage['file']}: {printable(damage['problem'])}")
    whole = sum(not row["damaged"] for row in rows)
    typer.echo(f"{whole} of {len(rows)} checkpoints are whole")
