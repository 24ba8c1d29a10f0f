"""The words for strategies and engines that a job may name, and for those that are not built yet."""

from __future__ import annotations

from seedance_ops.jobs.findings import Finding, Path

STRATEGIES = ("gradient_compression",)
"""Keys of a variant."""
UNAVAILABLE_STRATEGIES = ("dynamic_batch", "checkpoint_tiering", "graph_pruning", "placement")
UNAVAILABLE_LAUNCHER_KINDS = ("slurm", "kubernetes")
JOB_KINDS = ("TrainingJob", "Audit")
UNAVAILABLE_JOB_KINDS = ("Benchmark", "ClusterStudy")


def strategy_finding(path: Path, name: str, *, in_variant: bool) -> Finding | None:
    """What to say of a strategy's name at ``path``; ``None`` where it is none, or stands where it belongs."""
    if name in UNAVAILABLE_STRATEGIES:
        return Finding(
            path,
            "this strategy is not yet available",
            allowed=", ".join((*STRATEGIES, "set")) if in_variant else None,
            suggestion=None if in_variant else "it will belong under variants.<name>",
            at_key=True,
        )
    if name in STRATEGIES and not in_variant:
        return Finding(
            path,
            "a strategy belongs under variants.<name>",
            suggestion=f"variants: {{<name>: {{{name}: …}}}}",
            at_key=True,
        )
    return None
