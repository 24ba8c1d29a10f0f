"""What a local job sees: the machine's basics, the store's credentials, the job's own variables, ours."""

from __future__ import annotations

from collections.abc import Mapping

from seedance_ops.launchers.base import LaunchSpec
from seedance_ops.launchers.processes import LAUNCH_VARIABLE
from seedance_ops.launchers.secret_references import resolve
from seedance_ops.launchers.workspace import Workspace
from seedance_ops.training.plan import PLAN_VARIABLE

_KEPT = frozenset(
    {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH"}
)
_KEPT_FAMILIES = ("AWS_", "CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "OMP_", "MKL_", "OPENBLAS_")


def worker_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the submitting process's environment that a job may inherit.

    An Airflow worker's environment holds Airflow's secrets, and may hold another launch's ``SEEDANCE_*``.
    """
    return {
        name: value for name, value in environ.items() if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }


def job_environment(workspace: Workspace, spec: LaunchSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the job's command.

    Args:
        workspace: Where the job finds its plan and leaves its progress.
        spec: Its variables, and references to its secrets.
        environ: The wrapper's: what ``worker_environment`` left of the worker's, and what secrets refer to.

    Raises:
        LaunchError: A reference to a secret leads nowhere.
    """
    inherited = {name: value for name, value in environ.items() if not name.startswith("SEEDANCE_")}
    ours = {
        LAUNCH_VARIABLE: spec.name,
        "SEEDANCE_WORKSPACE": str(workspace.folder),
        "SEEDANCE_PROGRESS_FILE": str(workspace.progress_file),
        "SEEDANCE_METRICS_FILE": str(workspace.metrics_file),
        "SEEDANCE_JOB": spec.plan.job,
        "SEEDANCE_RUN_ID": spec.plan.run_id,
        "SEEDANCE_VARIANT": spec.plan.variant,
        "SEEDANCE_SEED": str(spec.plan.seed),
        "PYTHONUNBUFFERED": "1",
    }
    if spec.runtime == "session":
        ours[PLAN_VARIABLE] = str(workspace.plan)
    return inherited | spec.env | resolve(spec.secrets, environ) | ours
