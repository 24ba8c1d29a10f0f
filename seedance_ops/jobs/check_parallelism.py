"""Whether a way to split the model leaves gradients that can be averaged by a compressor, and be kept."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.resolvable import resolvable
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant

_PARALLELISM: Path = ("workload", "parallelism")
_WITHOUT_REPLICAS = {
    "full_shard": "FULL_SHARD splits every gradient over all ranks",
    "zero3": "ZeRO-3 splits every gradient over all ranks",
}


def parallelism_findings(job: TrainingJob) -> Iterator[Finding]:
    """Variants that compress what is not averaged between whole copies of the model."""
    for variant in resolvable(job):
        yield from _compression_findings(variant)


def sharded_session_findings(job: TrainingJob) -> Iterator[Finding]:
    """Sessions keep checkpoints of whole models only."""
    workload = job.workload
    if workload.runtime == "session" and workload.parallelism != "ddp":
        yield Finding(
            _PARALLELISM,
            "a session does not write checkpoints of sharded models yet, and a run keeps checkpoints",
            allowed="ddp; any with runtime: none",
            reads=(("workload", "runtime"),),
        )


def _compression_findings(variant: ResolvedVariant) -> Iterator[Finding]:
    parallelism, algorithm = variant.workload.parallelism, variant.compression.algorithm
    path: Path = ("variants", variant.name, "gradient_compression", "algorithm")
    if parallelism in _WITHOUT_REPLICAS and algorithm != "dense":
        yield Finding(
            path,
            f"{_WITHOUT_REPLICAS[parallelism]} in a reduce-scatter of torch or DeepSpeed: there are no "
            f"copies of the model whose gradients {algorithm} could average",
            allowed=f"dense with parallelism: {parallelism}",
            suggestion="parallelism: fsdp_replicated (fully_shard over a node's ranks, compressed across "
            "nodes), or ddp",
            reads=(_PARALLELISM,),
        )
    if parallelism == "fsdp_replicated" and algorithm == "local_updates":
        yield Finding(
            path,
            "local_updates averages whole parameters, of which a rank has only shards",
            allowed="any other algorithm with parallelism: fsdp_replicated",
            suggestion="parallelism: ddp",
            reads=(_PARALLELISM,),
        )
