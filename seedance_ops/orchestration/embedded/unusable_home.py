"""What to tell a person whose Airflow home cannot be written to."""

from __future__ import annotations

from pathlib import Path


def home_is_unusable(home: Path, error: OSError) -> str:
    """One line for an ``OSError`` met below ``AIRFLOW_HOME``: no rights, no space, or not a folder."""
    where = error.filename or home
    return (
        f"AIRFLOW_HOME {home} cannot be used: {where}: {error.strerror}; set AIRFLOW_HOME to another folder"
    )
