"""How the embedded Airflow is configured: by environment alone, so that no file of the user's is touched."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from seedance_ops.orchestration.job_files import BUNDLE_NAME
from seedance_ops.strict_model import StrictModel
from seedance_ops.whole_file import create_whole

USER = "admin"
_INHERITED_AIRFLOW = "AIRFLOW__"


class Keys(StrictModel):
    """The secrets of one Airflow home; made once, kept in a file only its owner can read."""

    fernet_key: str
    jwt_secret: str
    api_secret: str
    password: str


def keys_of(home: Path) -> Keys:
    """The home's keys, made on first use; two processes that make them at once agree on one set."""
    file = home / "embedded-keys.json"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not file.exists():
        fresh = Keys(
            fernet_key=base64.urlsafe_b64encode(os.urandom(32)).decode(),
            jwt_secret=secrets.token_urlsafe(48),
            api_secret=secrets.token_urlsafe(32),
            password=secrets.token_urlsafe(9),
        )
        create_whole(file, fresh.model_dump_json())
    keys = Keys.model_validate_json(file.read_text(encoding="utf-8"))
    create_whole(_password_file(home), json.dumps({USER: keys.password}))
    return keys


def environment(
    home: Path,
    project: Path,
    address: tuple[str, int],
    store: Mapping[str, str],
    inherited: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The environment of every component.

    Args:
        home: ``AIRFLOW_HOME``.
        project: The project whose jobs, ``dags/`` and ``plugins/`` it serves.
        address: Host and port that the web page and the API listen on.
        store: The object store's ``AWS_*`` variables; empty to use those that are inherited.
        inherited: The caller's environment; its ``AIRFLOW__*`` would configure some other Airflow.
    """
    keys = keys_of(home)
    kept = {name: value for name, value in inherited.items() if not name.startswith(_INHERITED_AIRFLOW)}
    return kept | dict(store) | _identity(home, project, address, keys) | _pace()


def bundle_folder(home: Path) -> Path:
    """Where the bundle of jobs keeps its stubs and versions."""
    return home / "bundles" / BUNDLE_NAME


def _identity(home: Path, project: Path, address: tuple[str, int], keys: Keys) -> dict[str, str]:
    host, port = address
    bundles = [
        {
            "name": BUNDLE_NAME,
            "classpath": "seedance_ops.orchestration.bundle.JobBundle",
            "kwargs": {"project": str(project), "refresh_interval": 5},
        },
        {
            "name": "dags",
            "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
            "kwargs": {"path": str(project / "dags")},
        },
    ]
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__DAGS_FOLDER": str(project / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(project / "plugins"),
        "AIRFLOW__CORE__FERNET_KEY": keys.fernet_key,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(_password_file(home)),
        "AIRFLOW__API__HOST": host,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}",
        "AIRFLOW__API__SECRET_KEY": keys.api_secret,
        "AIRFLOW__API_AUTH__JWT_SECRET": keys.jwt_secret,
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(home / "bundles"),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
    }


def _pace() -> dict[str, str]:
    """For two cores: few idle processes, and no waiting between a file's edit and its DAG."""
    return {
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "2",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "30",
        # Versions must outlive the runs that name them; JobBundle keeps them all.
        "AIRFLOW__DAG_PROCESSOR__STALE_BUNDLE_CLEANUP_INTERVAL": "0",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
    }


def _password_file(home: Path) -> Path:
    return home / "simple_auth_manager_passwords.json"
