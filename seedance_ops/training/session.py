"""The session around a user's own training loop: it prepares, resumes, measures, saves, and stops.

with TrainingSession.from_environment(steps=100, batch_per_rank=8) as session:
model, optimizer = session.prepare(model, optimizer)
for step in session.steps():
...                      # the user's own step, on the samples step.samples
session.record(loss)
session.report(val_loss=...)
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self, TypeVar

import torch
from torch import nn

from seedance_ops.storage.errors import StorageError
from seedance_ops.training.agreement import what_was_told
from seedance_ops.training.checkpoint.state import Position, Stateful, TrainingState
from seedance_ops.training.compression.auto.reduction import Auto
from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.config import DenseConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.replicas import is_sharded
from seedance_ops.training.compression.switches import COMPRESS_VARIABLE
from seedance_ops.training.config import StopCondition
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import EXIT_TERMINATED, ConfigurationError, TrainingError
from seedance_ops.training.failure import end, leave_word
from seedance_ops.training.log import RunLog
from seedance_ops.training.metrics.flops import FlopCount
from seedance_ops.training.metrics.meter import StepMeter, Workload
from seedance_ops.training.metrics.utilisation import UtilisationProbe
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.persistence import Persistence
from seedance_ops.training.progress import ProgressFile
from seedance_ops.training.randomness import restore_random_state, seed_all
from seedance_ops.training.schedule import Schedule, Step
from seedance_ops.training.termination import Termination

OptimizerT = TypeVar("OptimizerT", bound=torch.optim.Optimizer)

_log = logging.getLogger(__name__)


class TrainingSession:
    """One launched process's part of a run. Use it as a context manager, once."""

    def __init__(
        self, environment: JobEnvironment, *, stop: StopCondition, batch_per_rank: int, seed: int
    ) -> None:
        plan = environment.plan
        self._environment = environment
        self._stop = plan.stop if plan else stop
        self._batch = plan.batch.per_rank if plan else batch_per_rank
        self._seed = plan.seed if plan else seed
        self._termination = Termination()
        self._progress = ProgressFile(environment.progress_file if environment.ranks.rank == 0 else None)
        self._completed = 0
        self._metrics_of_step: dict[str, float] = {}
        self._state: TrainingState | None = None
        self._persistence: Persistence | None = None

    @classmethod
    def from_environment(
        cls,
        *,
        steps: int = 100,
        batch_per_rank: int = 8,
        seed: int = 0,
        environ: Mapping[str, str] = os.environ,
    ) -> Self:
        """A session for the plan that the environment names; exits with 78 where that cannot be acted on.

        The arguments count where there is no plan: under plain ``torchrun``, or plain ``python``.
        """
        try:
            environment = JobEnvironment.read(environ)
        except ConfigurationError as error:
            end(error)
        return cls(environment, stop=StopCondition(steps=steps), batch_per_rank=batch_per_rank, seed=seed)

    def __enter__(self) -> Self:
        """Join the other ranks; seed every generator, alike on all ranks so that models start alike."""
        self._termination.watch()
        self._progress.write("starting", 0, None, 0)
        try:
            self._group = ProcessGroup.join(
                self._environment.ranks,
                self._environment.compression.allreduce_backend,
                what_was_told(
                    self._environment, batch_per_rank=self._batch, stop=self._stop, seed=self._seed
                ),
            )
        except TrainingError as error:
            leave_word(error, self._environment.workspace, self._environment.ranks.rank)
            end(error)
        self._say_what_switches_do()
        seed_all(self._seed)
        self._persistence = Persistence(self._environment, self._group)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Save the final checkpoint after a clean end; after any other, flush what was recorded."""
        try:
            error = self._finish() if error is None else self._rescue_records(error)
            if error is not None:
                leave_word(error, self._environment.workspace, self.rank)
                end(error)
        finally:
            if self._persistence is not None:
                self._persistence.close(hurry=error is not None and not self._termination.requested)
            if self._state is not None:
                self._state.reduction.close()
            self._group.leave()
            self._termination.release()

    def _say_what_switches_do(self) -> None:
        """Without a plan nothing else tells that an environment variable was heeded."""
        compression = self._environment.compression
        if self._environment.plan is None and self.rank == 0 and not isinstance(compression, DenseConfig):
            told = compression.model_dump_json(exclude_none=True)
            print(
                f"seedance: gradient compression, by {COMPRESS_VARIABLE}: {told}", file=sys.stderr, flush=True
            )

    @property
    def rank(self) -> int:
        """This process among all, from 0."""
        return self._group.rank

    @property
    def world_size(self) -> int:
        """How many processes train together."""
        return self._group.world_size

    @property
    def device(self) -> torch.device:
        """Where this rank's model and batches belong."""
        return self._group.device

    @property
    def seed(self) -> int:
        """The plan's seed; use it for the order of samples."""
        return self._seed

    @property
    def reduction(self) -> GradientReduction:
        """How gradients are averaged, with its state."""
        return self._prepared()[0].reduction

    @property
    def log(self) -> RunLog:
        """What this rank has recorded and not yet flushed."""
        assert self._persistence is not None, "the session is used outside its with block"
        return self._persistence.log

    def prepare(
        self,
        model: nn.Module,
        optimizer: OptimizerT,
        *,
        tokens_per_sample: int | None = None,
        flops_per_sample: float | None = None,
        **stateful: Stateful,
    ) -> tuple[nn.Module, OptimizerT]:
        """Wrap the model for all ranks, and take up the newest checkpoint where there is one.

        Args:
            model: as every rank built it; moved to the session's device. Under ``fully_shard`` with a
                one-dimensional mesh it is left in its shards, which are averaged across replicas.
            optimizer: over the model's parameters.
            tokens_per_sample: where samples have tokens; needed for ``stop.tokens``.
            flops_per_sample: forward and backward, where they should not be counted.
            **stateful: schedulers and the like, to be kept in checkpoints under these names.
        """
        if self._environment.plan is not None and is_sharded(model):
            raise ConfigurationError(
                "checkpoints of a model under fully_shard are not written yet, and a run with a plan keeps "
                "checkpoints: use DDP, or start the script without a plan"
            )
        self._schedule = Schedule(self._stop, self._batch, self.world_size, tokens_per_sample)
        self._total_steps = self._schedule.total_steps()
        model.to(self.device)
        assert self._persistence is not None, "the session is used outside its with block"
        reduction = make_reduction(
            self._environment.compression,
            self._environment.device_profiles,
            record=self._persistence.decisions,
            author=self._environment.author,
        )
        wrapped, measured = self._group.wrap(model, reduction, optimizer, _loss_scale(stateful))
        self._state = TrainingState(model, optimizer, reduction, stateful)
        self._flops = FlopCount(flops_per_sample)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        probe = UtilisationProbe(self.device, self._environment.ranks.local_world_size)
        self._meter = StepMeter(
            self._group, measured, self._flops, probe, Workload(parameters, tokens_per_sample)
        )
        self._resume()
        return wrapped, optimizer

    def steps(self) -> Iterator[Step]:
        """The steps still to do, from the newest checkpoint on where there is one.

        Training stops before a step that would exceed the stop condition: all steps are whole.
        """
        state, persistence = self._prepared()
        if self._restored is None:
            seed_all(self._seed, self.rank)  # each rank has random numbers of its own from here on
        elif self._restored.random is None:
            seed_all(self._seed + self._completed, self.rank)  # none of it has come from this many ranks
        else:
            restore_random_state(self._restored.random)
        stall_s = 0.0
        for number in range(self._completed + 1, self._total_steps + 1):
            self._stop_if_asked()
            step = self._schedule.step(number, self.rank)
            self._metrics_of_step = {}
            self._meter.start(step, stall_s)
            yield step
            if self._meter.running:
                self.record(None)
            stall_s = 0.0
            if persistence.due(number) and not step.last:
                self._tell("checkpointing")
                stall_s = persistence.save(state, self._position(final=False))
                self._tell("training")
        self._stop_if_asked()

    def record(self, loss: torch.Tensor | float | None) -> None:
        """The step's work is done: call it after ``optimizer.step()``, before any evaluation."""
        state, persistence = self._prepared()
        number = self._completed + 1
        record = self._meter.finish(loss, meet=number == self._total_steps or persistence.due(number))
        if isinstance(state.reduction, Auto):
            state.reduction.observe(
                record.step_time_s - record.checkpoint_stall_s, record.communication_wait_s
            )
        persistence.add_step(record)
        self._completed = record.step
        self._tell("training")

    def report(self, **metrics: float) -> None:
        """Evaluation results by metric, on every rank or on rank 0 alone: rank 0's count."""
        for metric, value in metrics.items():
            if math.isfinite(value):
                self._metrics_of_step[metric] = float(value)
            if self.rank == 0:
                self.log.add_evaluation(self._completed, self._samples_seen, metric, float(value))

    @property
    def _samples_seen(self) -> int:
        return self._schedule.samples_after(self._completed)

    def _prepared(self) -> tuple[TrainingState, Persistence]:
        if self._state is None or self._persistence is None:
            raise ConfigurationError("call session.prepare(model, optimizer) before session.steps()")
        return self._state, self._persistence

    def _resume(self) -> None:
        state, persistence = self._prepared()
        self._tell("restoring")
        self._restored = persistence.resume(state)
        if self._restored is not None:
            self._completed = self._restored.position.step
            self._schedule = self._schedule.resumed(self._completed, self._restored.position.samples_seen)
            self._total_steps = self._schedule.total_steps()
            self._flops.known = self._restored.position.flops or self._flops.known
        self._tell("training")

    def _position(self, *, final: bool) -> Position:
        return Position(
            step=self._completed,
            samples_seen=self._samples_seen,
            train_elapsed_s=self.log.train_elapsed_s,
            metrics=self._metrics_of_step,
            flops=self._flops.known,
            final=final,
        )

    def _finish(self) -> BaseException | None:
        """The clean end; returns what went wrong in it."""
        if self._state is None or self._persistence is None:
            return None
        try:
            self._state.reduction.meet()  # where the script left its loop early
            self._persistence.finish(self._state, self._position(final=True))
            self._tell("done")
        except (TrainingError, StorageError) as error:
            return error
        return None

    def _rescue_records(self, error: BaseException) -> BaseException:
        """Flush what can be flushed; a loss of peers after SIGTERM counts as the SIGTERM itself."""
        if self._state is not None:
            self._meter.abandon()
        try:
            if self._persistence is not None:
                self._persistence.flush()
        except StorageError as failure:
            _log.error("the last step records are lost: %s", failure)
        return SystemExit(EXIT_TERMINATED) if self._termination.requested else error

    def _stop_if_asked(self) -> None:
        if self._termination.requested:
            raise SystemExit(EXIT_TERMINATED)

    def _tell(self, phase: str) -> None:
        self._progress.write(phase, self._completed, self._total_steps, self._samples_seen)


def _loss_scale(stateful: Mapping[str, Stateful]) -> Callable[[], float] | None:
    """How the script's gradient scaler scales the loss; none where it keeps no scaler in the session."""
    scalers = [kept for kept in stateful.values() if isinstance(kept, torch.amp.GradScaler)]
    return scalers[0].get_scale if scalers else None
