"""Which committed checkpoints may go."""

from __future__ import annotations

from collections.abc import Sequence

from seedance_ops.training.checkpoint.config import KeepPolicy
from seedance_ops.training.checkpoint.manifest import CheckpointManifest


def superfluous(manifests: Sequence[CheckpointManifest], keep: KeepPolicy) -> list[CheckpointManifest]:
    """The checkpoints that no rule of the policy names, oldest first. The newest always stays."""
    by_age = sorted(manifests, key=lambda manifest: manifest.age)
    kept = {manifest.age for manifest in by_age[-keep.last :]}
    if keep.final:
        kept |= {manifest.age for manifest in by_age if manifest.final}
    if keep.best is not None:
        metric = keep.best.metric
        assert keep.best.better is not None, "refused where the plan is read"
        sign = 1.0 if keep.best.better == "lower" else -1.0
        evaluated = [manifest for manifest in by_age if metric in manifest.metrics]
        ranked = sorted(evaluated, key=lambda manifest: sign * manifest.metrics[metric])
        kept |= {manifest.age for manifest in ranked[: keep.best.n]}
    return [manifest for manifest in by_age if manifest.age not in kept]
