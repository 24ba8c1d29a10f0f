"""``seedance checkpoint export``: a checkpoint as files that load without this project."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.checkpoint.trainings import (
    Asked,
    SeedOption,
    StepOption,
    TakeOption,
    VariantOption,
    errors_told,
    only,
    printable,
    trainings,
)

if TYPE_CHECKING:
    from seedance_ops.training.checkpoint.exporting import Exported
    from seedance_ops.training.checkpoint.manifest import CheckpointManifest


class To(StrEnum):
    """What it is exported to."""

    safetensors = "safetensors"
    dcp = "dcp"


def export(
    source: Annotated[
        str,
        typer.Argument(
            help="A pulled folder, JOB/RUN_ID, JOB, or s3://bucket/prefix of one training.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Argument(help="A new or an empty folder.", show_default=False)],
    *,
    to: Annotated[
        To,
        typer.Option(
            help="safetensors: the model alone; dcp: model and optimizer for torch.distributed.checkpoint."
        ),
    ],
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    step: StepOption = None,
) -> None:
    """Write a checkpoint's state to OUTPUT: model.safetensors, or a folder for torch.distributed.checkpoint.

    Exit code 2: the checkpoint is damaged or not there, OUTPUT is not empty, or the store does not answer.
    """
    from seedance_ops.cli.checkpoint.pulled_folder import verified
    from seedance_ops.training.checkpoint.pulling import refuse_non_empty

    with errors_told():
        refuse_non_empty(output)
        if Path(source).is_dir():
            manifest = verified(Path(source))
            done = _export(manifest, Path(source), output, to)
        else:
            from seedance_ops.cli.checkpoint.pull import download

            is_uri = source.startswith("s3://")
            asked = Asked(None if is_uri else source, source if is_uri else None, variant, seed, take)
            output.absolute().parent.mkdir(parents=True, exist_ok=True)
            with (
                tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=".pulled-") as pulled,
                trainings(asked) as found,
            ):
                manifest = download(only(found), step, Path(pulled))
                done = _export(manifest, Path(pulled), output, to)
    typer.echo(f"{output}: step {manifest.step}, {done.tensors} tensors, {done.bytes} bytes")
    for name, kept in done.tied.items():
        typer.echo(f"tied: {printable(name)} is stored as {printable(kept)}")
    if done.left_out:
        typer.echo(f"left out: {printable(', '.join(done.left_out))}")


def _export(manifest: CheckpointManifest, folder: Path, output: Path, to: To) -> Exported:
    from seedance_ops.training.checkpoint.exporting import export as export_to

    return export_to(manifest, folder, output, to.value)
