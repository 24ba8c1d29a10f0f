"""``seedance checkpoint pull``: download a checkpoint to a folder, verified on the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    only,
    trainings,
)

if TYPE_CHECKING:
    from seedance_ops.training.checkpoint.manifest import CheckpointManifest


def pull(
    folder: Annotated[Path, typer.Argument(help="A new or an empty folder.", show_default=False)],
    run: RunArgument = None,
    *,
    uri: UriOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    step: StepOption = None,
) -> None:
    """Download RUN's newest committed checkpoint, or that of --step, to FOLDER.

    Exit code 2: a shard is missing or damaged, FOLDER is not empty, there is no such checkpoint, or the store
    does not answer. FOLDER has no manifest then, and no command takes it.
    """
    with errors_told(), trainings(Asked(run, uri, variant, seed, take)) as found:
        manifest = download(only(found), step, folder)
    typer.echo(f"{folder}: step {manifest.step} of {manifest.writer}, {manifest.total_bytes} bytes, verified")


def download(training: Training, step: int | None, folder: Path) -> CheckpointManifest:
    """Pull the newest committed checkpoint, or that of a step; raises ``NotChosen`` where there is none."""
    from seedance_ops.cli.checkpoint.bars import bytes_bar
    from seedance_ops.training.checkpoint.pulling import pull as pull_to
    from seedance_ops.training.checkpoint.shard_source import StoredShards
    from seedance_ops.training.checkpoint.survey import newest, survey
    from seedance_ops.training.errors import CheckpointError

    stored = survey(training.store)
    chosen = newest(stored.committed(training.job_hash), step) or newest(stored.committed(None), step)
    if chosen is None or chosen.manifest is None:
        steps = ", ".join(str(each.step) for each in stored.committed(None)) or "none"
        raise NotChosen(f"{training} has no such committed checkpoint; steps with one: {steps}")
    source = StoredShards(training.store, chosen.folder)
    with bytes_bar(f"step {chosen.step}", chosen.manifest.total_bytes) as advance:
        try:
            pull_to(chosen.manifest, source, folder, advance)
        except CheckpointError as error:
            raise CheckpointError(
                f"step {chosen.step} of {training} is not pulled: {error}. `seedance checkpoint verify` says "
                "which steps are whole; --step pulls one of them"
            ) from error
    return chosen.manifest
