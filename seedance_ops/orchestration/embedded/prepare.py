"""Bring an Airflow home up to date: its database, and a pool for each launcher.

Run as ``python -m seedance_ops.orchestration.embedded.prepare PROJECT`` in the environment of ``settings``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from airflow.models.pool import Pool
from airflow.utils.db import initdb
from airflow.utils.session import create_session

from seedance_ops.jobs.catalog import launcher_profiles
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.orchestration.pools import pool_of


def main() -> None:
    """Migrate, and size the pools by the catalogue."""
    initdb()
    slots: dict[str, int] = {}
    for profile in launcher_profiles(ProjectContext(Path(sys.argv[1]))).values():
        name = pool_of(profile)
        slots[name] = max(profile.slots, slots.get(name, 0))
    with create_session() as session:
        for name, count in slots.items():
            Pool.create_or_update_pool(
                name,
                slots=count,
                description="Launched jobs that would disturb each other's times",
                include_deferred=True,  # a deferred task's job runs on
                session=session,
            )


if __name__ == "__main__":
    main()
