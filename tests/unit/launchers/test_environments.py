"""A job inherits what is on the list, and nothing else of a worker's environment."""

from __future__ import annotations

from seedance_ops.launchers.environments import worker_environment

INHERITED = {
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "AWS_ACCESS_KEY_ID",
    "AWS_ENDPOINT_URL_S3",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
}
"""As docs/launching.md has it."""
KEPT_OUT = {
    "AIRFLOW__CORE__FERNET_KEY",
    "AIRFLOW_CONN_AWS_DEFAULT",
    "AIRFLOW_HOME",
    "GITHUB_TOKEN",
    "HF_TOKEN",
    "SEEDANCE_PLAN",
    "SEEDANCE_SEED",
    "SEEDANCE_COMPRESS_GRADIENTS",
    "SSH_AUTH_SOCK",
    "LD_PRELOAD",
    "MY_AWS_KEY",
    "aws_secret",
    "PATHS",
    "",
}


def test_only_what_is_listed_is_inherited() -> None:
    environ = dict.fromkeys(INHERITED | KEPT_OUT, "x")
    assert worker_environment(environ).keys() == INHERITED
