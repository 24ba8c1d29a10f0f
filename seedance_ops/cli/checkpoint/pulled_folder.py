"""Takes up a folder that ``seedance checkpoint pull`` has written, once all of it is verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedance_ops.training.checkpoint.manifest import CheckpointManifest


def verified(folder: Path) -> CheckpointManifest:
    """The manifest of a pulled folder whose shards are whole; raises ``CheckpointError``, ``OSError``."""
    from seedance_ops.cli.checkpoint.bars import bytes_bar
    from seedance_ops.training.checkpoint.shard_source import PulledShards
    from seedance_ops.training.checkpoint.verifying import verify
    from seedance_ops.training.errors import CheckpointError

    source = PulledShards(folder)
    manifest = source.manifest()
    with bytes_bar("verifying", manifest.total_bytes) as advance:
        damaged = verify(manifest, source, advance)
    if damaged:
        named = "; ".join(f"{damage.file}: {damage.problem}" for damage in damaged[:4])
        raise CheckpointError(f"the checkpoint in {folder} is damaged: {named}. Pull it again")
    return manifest
