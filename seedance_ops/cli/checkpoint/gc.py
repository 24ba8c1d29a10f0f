"""``seedance checkpoint gc``: what below a run's checkpoints counts for nothing any more, and may go."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedance_ops.cli.checkpoint.trainings import (
    Asked,
    NotChosen,
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
    from seedance_ops.training.checkpoint.config import KeepPolicy
    from seedance_ops.training.checkpoint.garbage import Waste
    from seedance_ops.training.checkpoint.survey import Survey


@dataclass(frozen=True)
class _Request:
    keep_last: int | None
    older_than_s: float
    delete: bool


def gc(
    run: RunArgument = None,
    *,
    uri: UriOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    take: TakeOption = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it; without, only list it.")] = False,
    older_than: Annotated[str, typer.Option(help="Age of uploads and tombstones that go: 24h, 7d.")] = "24h",
    keep_last: Annotated[
        int | None,
        typer.Option(
            min=1, help="Keep the newest N, instead of by the job's keep policy.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List what may go from RUN's checkpoints; with --delete, delete it.

    Never goes: what the next submission resumes from, the newest checkpoint that verifies, anything
    unfinished of the newest submission, keys of no known kind.

    Exit code 2: there is no such run, or the store does not answer.
    """
    rows: list[dict[str, Any]] = []
    with errors_told(), trainings(Asked(run, uri, variant, seed, take, all_takes=True)) as found:
        request = _Request(keep_last, _seconds(older_than), delete)
        for training in found:
            rows += _collected(training, request)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        did = "deleted" if row["deleted"] else "stays, committed meanwhile" if delete else "would go"
        typer.echo(f"{row['training']}: {did}: {printable(row['where'])} ({row['kind']}: {row['why']})")
    freed = sum(row["bytes"] or 0 for row in rows if row["deleted"] or not delete)
    typer.echo(
        f"{len(rows)} deleted or refused, {freed} bytes freed"
        if delete
        else f"dry run: {len(rows)} would go, {freed} bytes; --delete deletes them"
    )


def _collected(training: Training, request: _Request) -> list[dict[str, Any]]:
    from seedance_ops.training.checkpoint.collecting import collect
    from seedance_ops.training.checkpoint.garbage import Rules, garbage

    found = _survey(training)
    source = found.resume_source(training.job_hash)
    job_hash = training.job_hash or (source.manifest.job_hash if source and source.manifest else None)
    keep = _policy(training, request)
    rules = Rules(
        job_hash=job_hash,
        keep=keep,
        whole=_newest_whole(training, found, job_hash, keep),
        now_s=time.time(),
        older_than_s=request.older_than_s,
    )
    if found.unknown:
        typer.echo(f"{training}: {len(found.unknown)} keys of no known kind stay", err=True)
    return [
        _row(training, waste, deleted=request.delete and collect(training.store, waste))
        for waste in garbage(found, rules)
    ]


def _survey(training: Training) -> Survey:
    from seedance_ops.storage.errors import BucketMissing, StorageError, StoreUnreachable
    from seedance_ops.training.checkpoint.survey import survey

    try:
        return survey(training.store, with_uploads=True)
    except (StoreUnreachable, BucketMissing):
        raise
    except StorageError as error:  # not every store lists them, and not to everybody
        typer.echo(f"warning: unfinished uploads are not looked at: {error}", err=True)
        return survey(training.store)


def _newest_whole(
    training: Training, found: Survey, job_hash: str | None, keep: KeepPolicy | None
) -> str | None:
    """Read from the newest on until one verifies, where the policy names anything at all."""
    from seedance_ops.cli.checkpoint.bars import bytes_bar
    from seedance_ops.training.checkpoint.garbage import may_be_superfluous
    from seedance_ops.training.checkpoint.shard_source import StoredShards
    from seedance_ops.training.checkpoint.verifying import verify

    if not may_be_superfluous(found, job_hash, keep):
        return None
    for each in reversed(found.committed(job_hash)):
        assert each.manifest is not None
        with bytes_bar(f"verifying step {each.step}", each.manifest.total_bytes) as advance:
            damaged = verify(each.manifest, StoredShards(training.store, each.folder), advance)
        if not damaged:
            return each.folder
        problem = printable(f"{damaged[0].file}: {damaged[0].problem}")
        typer.echo(f"warning: {each.folder} is damaged: {problem}", err=True)
    return None


def _policy(training: Training, request: _Request) -> KeepPolicy | None:
    from seedance_ops.training.checkpoint.config import KeepPolicy

    return KeepPolicy(last=request.keep_last) if request.keep_last else training.keep


def _row(training: Training, waste: Waste, *, deleted: bool) -> dict[str, Any]:
    return {
        "training": str(training),
        "kind": waste.kind,
        "where": waste.where,
        "objects": len(waste.keys),
        "bytes": waste.bytes,
        "why": waste.why,
        "deleted": deleted,
    }


def _seconds(age: str) -> float:
    from seedance_ops.jobs.reuse import age_s

    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?[hd]", age):
        raise NotChosen(f"--older-than {age!r} is no age; write 24h or 7d")
    return age_s(age)
