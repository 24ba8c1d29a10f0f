"""What the launcher and torchrun tell a process through its environment, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.device import DeviceProfile, mixed_vendors
from seedance_ops.training.compression.switches import compression_from_switches, refuse_contradiction
from seedance_ops.training.errors import ConfigurationError
from seedance_ops.training.plan import PLAN_VARIABLE, LaunchPlan

PROGRESS_VARIABLE = "SEEDANCE_PROGRESS_FILE"
METRICS_VARIABLE = "SEEDANCE_METRICS_FILE"
WORKSPACE_VARIABLE = "SEEDANCE_WORKSPACE"


@dataclass(frozen=True)
class RankEnvironment:
    """This process among its peers, as torchrun says it; a single process where there is no torchrun."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    launched: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> RankEnvironment:
        """Read ``RANK`` and the others."""
        if "RANK" not in environ:
            return cls()
        return cls(
            rank=_number(environ, "RANK"),
            world_size=_number(environ, "WORLD_SIZE"),
            local_rank=_number(environ, "LOCAL_RANK", 0),
            local_world_size=_number(environ, "LOCAL_WORLD_SIZE", 1),
            launched=True,
        )


@dataclass(frozen=True)
class JobEnvironment:
    """Everything a session learns from outside."""

    ranks: RankEnvironment
    plan: LaunchPlan | None
    compression: CompressionConfig
    workspace: Path | None
    progress_file: Path | None
    metrics_file: Path | None

    @property
    def device_profiles(self) -> tuple[DeviceProfile, ...]:
        """Of the ranks' kinds of device; none where there is no plan."""
        return self.plan.device_profiles if self.plan else ()

    @property
    def author(self) -> str:
        """Who this run is, to the reader of what it decided for others."""
        plan = self.plan
        return "this run" if plan is None else f"seed {plan.seed}, submission {plan.submission}"

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> JobEnvironment:
        """Read and check the environment; raises ``ConfigurationError``."""
        plan = _plan(environ)
        if plan is None:
            compression = compression_from_switches(environ)
        else:
            refuse_contradiction(plan.compression, environ)
            _refuse_undirected(plan)
            _refuse_mixed_vendors(plan)
            compression = plan.compression
        return cls(
            ranks=RankEnvironment.read(environ),
            plan=plan,
            compression=compression,
            workspace=_path(environ, WORKSPACE_VARIABLE),
            progress_file=_path(environ, PROGRESS_VARIABLE),
            metrics_file=_path(environ, METRICS_VARIABLE),
        )


def _plan(environ: Mapping[str, str]) -> LaunchPlan | None:
    path = _path(environ, PLAN_VARIABLE)
    if path is None:
        return None
    try:
        return LaunchPlan.read(path)
    except OSError as error:
        raise ConfigurationError(f"{PLAN_VARIABLE}={path}: cannot read the plan: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{PLAN_VARIABLE}={path}: the plan is not UTF-8 text") from error
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'plan'}: {problem['msg']}" for problem in error.errors()
        )
        raise ConfigurationError(f"{PLAN_VARIABLE}={path}: not a valid plan: {problems}") from error


def _refuse_undirected(plan: LaunchPlan) -> None:
    """``resolve`` fills the direction in; a plan from elsewhere must have it, or the worst would be kept."""
    best = plan.checkpoint.keep.best
    if best is not None and best.better is None:
        raise ConfigurationError(
            f"the plan keeps checkpoints with the best {best.metric} and does not say which direction is "
            "better: add checkpoint.keep.best.better, lower or higher"
        )


def _refuse_mixed_vendors(plan: LaunchPlan) -> None:
    """Before the group is made: one of NCCL on some ranks and RCCL on others would wait for ever."""
    vendors = mixed_vendors(plan.device_profiles)
    if vendors and plan.compression.allreduce_backend != "gloo":
        raise ConfigurationError(
            f"the plan has devices of several vendors ({', '.join(vendors)}) in one group; NCCL, RCCL and "
            "XCCL cannot talk to each other: write gradient_compression.allreduce_backend: gloo"
        )


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environ.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError as error:
        raise ConfigurationError(f"{name}={text!r} is not a whole number; start with torchrun") from error
