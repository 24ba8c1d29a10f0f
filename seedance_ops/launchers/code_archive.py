"""The workload's folder as a content-addressed archive: an edit in the middle of a run changes nothing."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

from seedance_ops.launchers.code_files import code_files
from seedance_ops.launchers.errors import CodeArchiveError

MAX_BYTES = 256 * 1024 * 1024


def pack(folder: Path, root: Path) -> tuple[bytes, str]:
    """Archive the code in ``folder`` with names relative to ``root``; the same files give the same bytes.

    Returns:
        The gzipped tar and its SHA-256.

    Raises:
        CodeArchiveError: The folder holds more than 256 MiB, or what ``code_files`` refuses.
    """
    buffer = io.BytesIO()
    total = 0
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=6) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in code_files(folder):
            total += path.stat().st_size
            if total > MAX_BYTES:
                raise CodeArchiveError(
                    f"{folder}: more than {MAX_BYTES // 2**20} MiB; point workload.workdir at the code alone"
                )
            archive.addfile(_entry(path, root), io.BytesIO(path.read_bytes()))
    data = buffer.getvalue()
    return data, hashlib.sha256(data).hexdigest()


def unpack(data: bytes, sha256: str, target: Path) -> None:
    """Check and unpack an archive; a no-op where ``target`` exists, which only a finished unpack leaves.

    Raises:
        CodeArchiveError: The bytes are not those that were planned, or a member would escape ``target``.
    """
    if target.exists():
        return
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CodeArchiveError(f"code archive has SHA-256 {found}, the plan says {sha256}; plan the run anew")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            archive.extractall(draft, filter="data")
        draft.rename(target)
    except tarfile.TarError as error:
        raise CodeArchiveError(f"code archive {sha256[:12]} cannot be unpacked: {error}") from error
    except OSError:
        if not target.exists():  # not merely somebody else who was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _entry(path: Path, root: Path) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.relative_to(root).as_posix())
    entry.size = path.stat().st_size
    entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    return entry
