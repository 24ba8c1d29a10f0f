"""What one run executes: the program, its data, the work it does and the quality it must keep."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from seedance_ops.jobs.names import ArgumentName, MetricName, Name, RelativePath, VariableName
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.config import BatchConfig, QualityConfig, StopCondition

Scalar = str | int | float | bool
ArgumentValue = Scalar | list[Scalar] | None
SecretReference = Annotated[
    str, Field(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^\x00-\x1f]+)$", max_length=512)
]


class GitCode(StrictModel):
    """Code from a git repository instead of the project's own folder."""

    git: str = Field(pattern=r"^(https://|ssh://|git@)[^\s]+$", max_length=512)
    """Address of the repository, without credentials."""
    ref: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$")
    """Branch, tag or commit; resolved to a commit when a run is planned."""


class InputData(StrictModel):
    """A data set the program reads."""

    uri: str = Field(pattern=r"^(s3|https|file)://[^\s]+$", max_length=1024)
    """Where it lies: ``s3://``, ``https://`` or ``file://``."""
    mount: str = Field(pattern=r"^/[^\s\x00]*$", max_length=512)
    """Absolute path at which the program finds it."""


class UserMetric(StrictModel):
    """A metric that the workload reports besides its quality."""

    name: MetricName
    """Name under which the workload reports it."""
    unit: str = Field(default="1", min_length=1, max_length=32)
    """Unit of the values; ``1`` for a plain number."""
    better: Literal["lower", "higher", "none"] = "none"
    """Which direction is an improvement."""
    aggregation: Literal["last", "mean", "min", "max", "sum"] = "last"
    """How a run's values become one number."""


class Workload(StrictModel):
    """The program and everything it is told."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["entrypoint"]}, {"required": ["command"]}]}
    )

    entrypoint: RelativePath | None = None
    """Python file, relative to ``workdir``: shorthand for ``command: [python, FILE]``."""
    command: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(default=None, min_length=1)
    """Program and its first arguments; no shell reads it."""
    args: dict[ArgumentName, ArgumentValue] = Field(default={})
    """Options: ``layers: 2`` → ``--layers 2``; true → ``--flag``; false or null omitted; a list repeats."""
    env: dict[VariableName, str] = Field(default={})
    """Environment variables; never secrets."""
    secrets: dict[VariableName, SecretReference] = Field(default={})
    """Environment variables by reference: ``env:NAME`` or ``file:/path``, read where the job starts."""
    image: str | None = Field(default=None, pattern=r"^[a-z0-9][A-Za-z0-9._/:@-]{0,399}$")
    """Container image, best pinned by digest (``…@sha256:…``); launchers without containers refuse it."""
    workdir: RelativePath | None = None
    """Folder of the project that becomes the working directory; default: the project's root."""
    code: GitCode | None = None
    """Code from git instead of ``workdir``."""
    launch: Literal["torchrun", "none"] = "torchrun"
    """``torchrun`` starts one process per accelerator; ``none`` starts the command once per node."""
    runtime: Literal["session", "none"] = "session"
    """``session``: the program uses TrainingSession; ``none``: any program, unchanged."""
    parallelism: Literal["ddp", "fsdp_replicated", "full_shard", "zero3"] = "ddp"
    """How the program splits the model: whole copies; shards within a node, copied; shards over all ranks."""
    batch: BatchConfig | None = None
    """Batch size; needed with ``runtime: session``."""
    stop: StopCondition | None = None
    """How much work a run does; needed with ``runtime: session``."""
    quality: QualityConfig | None = None
    """The metric by which a variant must not get worse."""
    inputs: dict[Name, InputData] = Field(default={})
    """Data sets by name."""
    metrics: tuple[UserMetric, ...] = ()
    """Further metrics the program reports."""

    @model_validator(mode="after")
    def _one_program(self) -> Workload:
        if (self.entrypoint is None) == (self.command is None):
            raise ValueError("give exactly one of entrypoint, command")
        if self.workdir is not None and self.code is not None:
            raise ValueError("give at most one of workdir, code")
        return self

    def better(self, metric: str) -> Literal["lower", "higher"] | None:
        """The direction that a metric's declaration gives, if it is declared and gives one."""
        if self.quality is not None and self.quality.metric == metric:
            return self.quality.better
        for declared in self.metrics:
            if declared.name == metric and declared.better != "none":
                return declared.better
        return None

    def argv(self) -> tuple[str, ...]:
        """The command line without the launch method: program, then ``args`` in their order."""
        program = self.command if self.command is not None else ("python", str(self.entrypoint))
        options = (word for name, value in self.args.items() for word in _option(name, value))
        return (*program, *options)


def _option(name: str, value: ArgumentValue) -> tuple[str, ...]:
    if value is None or value is False:
        return ()
    flag = f"--{name}"
    if value is True:
        return (flag,)
    if isinstance(value, list):
        return tuple(word for item in value for word in (flag, _word(item)))
    return (flag, _word(value))


def _word(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
