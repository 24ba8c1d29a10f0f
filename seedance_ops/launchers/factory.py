"""From a launcher profile to the launcher."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.launchers.base import Launcher
from seedance_ops.launchers.local import LocalLauncher


def launcher_for(profile: LauncherProfile, environ: Mapping[str, str] = os.environ) -> Launcher:
    """The launcher that a profile describes.

    Args:
        profile: From the catalogue, or written inline in a job.
        environ: What launched jobs may take the store's credentials and their secrets from.
    """
    del profile  # one kind so far
    return LocalLauncher(launches_folder(environ), environ)


def launches_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where local launches have their folders: inside the Airflow home."""
    home = environ.get("AIRFLOW_HOME") or str(Path.home() / "airflow")
    return Path(home).absolute() / "launches"
