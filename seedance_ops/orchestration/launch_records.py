"""From a manifest to a launch's spec, and from a launch's end to its record in the object store."""

from __future__ import annotations

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.base import CodeArchive, Launcher, LaunchHandle, LaunchSpec, LaunchStatus
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.orchestration.submissions import Intent
from seedance_ops.training.config import BatchConfig, StopCondition
from seedance_ops.training.plan import LaunchPlan

_RECORDED = {
    *("state", "reason", "failure", "exit_codes", "nodes"),
    *("submitted_at_s", "started_at_s", "ended_at_s"),
    *("mean_cpu_utilisation", "peak_memory_bytes"),
}
_LOG_BYTES_KEPT = 4 * 1024 * 1024


def spec_of(
    run: RunStore, manifest: RunManifest, intent: Intent, name: str, on_nodes: tuple[str, ...] = ()
) -> LaunchSpec:
    """The complete specification of one launch; ``on_nodes`` says where it must run, if it matters."""
    resolved = manifest.job.resolve(intent.variant)
    workload = resolved.workload
    code = manifest.code.get(intent.variant)
    return LaunchSpec(
        name=name,
        command=workload.argv(),
        launch=workload.launch,
        runtime=workload.runtime,
        env={**manifest.profiles[intent.variant].env, **workload.env},
        secrets=workload.secrets,
        code=CodeArchive(location=run.location, key=code.key, sha256=code.sha256) if code else None,
        workdir=workload.workdir or ".",
        num_nodes=resolved.num_nodes,
        processes_per_node=resolved.processes_per_node,
        on_nodes=on_nodes,
        accelerator=resolved.resources.accelerator,
        plan=LaunchPlan(
            job=manifest.job.metadata.name,
            job_hash=manifest.job_hash,
            run_id=manifest.run_id,
            variant=intent.variant,
            seed=intent.seed,
            submission=intent.submission,
            batch=workload.batch or BatchConfig(per_rank=1),
            stop=workload.stop or StopCondition(steps=1),
            quality=workload.quality,
            compression=resolved.compression,
            device_profiles=manifest.device_profiles.get(intent.variant, ()),
            checkpoint=resolved.checkpoint,
            storage=run.training(intent.variant, intent.seed, intent.take),
            decisions=run.decisions(intent.variant),
            stamp=run.stamp(),
        ),
    )


def record_of(manifest: RunManifest, intent: Intent, name: str, status: LaunchStatus) -> LaunchRecord:
    """What cost and report need of one submission."""
    resolved = manifest.job.resolve(intent.variant)
    orders = {(planned.variant, planned.seed): planned.order for planned in manifest.runs}
    return LaunchRecord(
        name=name,
        launcher=manifest.profiles[intent.variant].kind,
        job=manifest.job.metadata.name,
        run_id=manifest.run_id,
        variant=intent.variant,
        seed=intent.seed,
        take=intent.take,
        submission=intent.submission,
        order=orders[intent.variant, intent.seed],
        num_nodes=resolved.num_nodes,
        processes_per_node=resolved.processes_per_node,
        accelerator=resolved.resources.accelerator,
        **status.model_dump(include=_RECORDED),
    )


def write_record(run: RunStore, record: LaunchRecord, launcher: Launcher, handle: LaunchHandle) -> None:
    """Leave a submission's record, and the end of its log, beside the tables it wrote."""
    objects = run.training_objects(record.variant, record.seed, record.take)
    objects.put(f"launches/submission-{record.submission:03d}.log", _log(launcher, handle))
    objects.put(
        f"launches/submission-{record.submission:03d}.json", record.model_dump_json(indent=2).encode()
    )


def records_of(run: RunStore, variant: str, seed: int) -> list[LaunchRecord]:
    """Every recorded submission of one variant and seed, over all its takes."""
    keys = run.objects.list(f"{variant}/seed-{seed}/")
    return [
        LaunchRecord.model_validate_json(run.objects.get(key))
        for key in keys
        if "/launches/submission-" in key and key.endswith(".json")
    ]


def _log(launcher: Launcher, handle: LaunchHandle) -> bytes:
    kept, offset = b"", 0
    while (chunk := launcher.logs(handle, offset)).next_offset > offset:
        kept, offset = (kept + chunk.text.encode())[-_LOG_BYTES_KEPT:], chunk.next_offset
    return kept
