"""``seedance checkpoint restore``: put a pulled checkpoint back, for the next submission to resume from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from seedance_ops.cli.checkpoint.trainings import (
    Asked,
    RunArgument,
    SeedOption,
    TakeOption,
    UriOption,
    VariantOption,
    errors_told,
    only,
    trainings,
)


class Force(StrEnum):
    """Which refusal is overruled."""

    job_hash = "job-hash"
    newer = "newer"


def restore(
    folder: Annotated[
        Path, typer.Argument(help="What `seedance checkpoint pull` has written.", show_default=False)
    ],
    run: RunArgument = None,
    *,
    uri: UriOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    force: Annotated[
        list[Force] | None,
        typer.Option(
            help="job-hash: store another job's checkpoint as this run's. newer: delete the newer committed "
            "checkpoints, once this one is committed.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Verify the checkpoint in FOLDER, upload it to RUN, and commit it there.

    It claims the run as a new submission does: a training that is still alive stops at its next checkpoint,
    and what it has not finished is given up.

    Exit code 2: the checkpoint is damaged, another job wrote it, a newer one is committed, or the store does
    not answer.
    """
    from seedance_ops.cli.checkpoint.bars import bytes_bar
    from seedance_ops.cli.checkpoint.pulled_folder import verified
    from seedance_ops.training.checkpoint.putting_back import Overruled, put_back

    forced = force or []
    overruled = Overruled(job_hash=Force.job_hash in forced, newer=Force.newer in forced)
    with errors_told():
        manifest = verified(folder)
        with trainings(Asked(run, uri, variant, seed, take)) as found:
            training = only(found)
            with bytes_bar("uploading", manifest.total_bytes) as advance:
                done = put_back(
                    manifest, folder, training.store, training.job_hash, overruled=overruled, advance=advance
                )
    for each in done.deleted:
        typer.echo(f"deleted: {each.folder}")
    typer.echo(
        f"{training}: the next submission resumes after step {done.manifest.step} ({done.manifest.folder})"
    )
