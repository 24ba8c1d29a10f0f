"""What ``algorithm: auto`` chose in each variant whose gradients it compresses, and whether it stayed."""

from __future__ import annotations

from typing import Literal

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.storage.client import ObjectStore
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.compression.auto.candidates import FALLBACK
from seedance_ops.training.compression.auto.decision import (
    DECISION_FILE,
    Decision,
    InObjectStore,
    Verdict,
)
from seedance_ops.training.compression.config import AutoConfig
from seedance_ops.training.errors import ConfigurationError


class AutoChoice(StrictModel):
    """Of one variant, for all its seeds."""

    variant: str
    algorithm: str
    outcome: Literal["kept", "given_up", "fallback", "not_judged"]
    """``fallback``: nothing saved enough; ``not_judged``: no run was long enough to say."""
    made_by: str
    from_step: int
    link_mbit_per_s: float
    bf16_step_s: float
    predicted_step_s: float
    actual_step_s: float | None
    """None where nothing was tried, or not for long enough."""

    @property
    def sentence(self) -> str:
        """For people."""
        link = f"a link of {self.link_mbit_per_s:.0f} Mbit/s"
        bf16 = f"{_ms(self.bf16_step_s)} a step in bf16"
        if self.outcome == "fallback":
            return f"stayed with {self.algorithm} on {link}: nothing was predicted to save enough of {bf16}"
        took = "it was not tried for long enough"
        if self.actual_step_s is not None:
            took = f"it took {_ms(self.actual_step_s)}"
        if self.outcome == "given_up":
            took += " and was given up for bf16 in all seeds"
        return (
            f"chose {self.algorithm} from step {self.from_step + 1} on, on {link}: "
            f"predicted {_ms(self.predicted_step_s)} against {bf16}, {took}"
        )


class AutoChoices(StrictModel):
    """Of a run."""

    choices: tuple[AutoChoice, ...] = ()
    problems: tuple[str, ...] = ()
    """Why a variant's choice is not known."""


def auto_choices(run: RunStore, manifest: RunManifest) -> AutoChoices:
    """Read them from the run's store; those of reused variants from the earlier run's."""
    choices, problems = [], []
    for name in manifest.job.variants:
        if not isinstance(manifest.job.resolve(name).compression, AutoConfig):
            continue
        owner = run.of(manifest.reused[name].run_id) if name in manifest.reused else run
        try:
            choice = _choice(name, InObjectStore(ObjectStore(owner.decisions(name))))
        except ConfigurationError as error:
            problems.append(f"what auto chose in {name} is not known: {error}")
        else:
            choices += [choice] if choice else []
    return AutoChoices(choices=tuple(choices), problems=tuple(problems))


def _choice(variant: str, record: InObjectStore) -> AutoChoice | None:
    """None where no run came as far as to decide."""
    decision = record.read(DECISION_FILE, Decision)
    if decision is None:
        return None
    verdict = record.read(decision.verdict_file(), Verdict)
    return AutoChoice(
        variant=variant,
        algorithm=decision.chosen,
        outcome=_outcome(decision, verdict),
        made_by=decision.made_by,
        from_step=decision.from_step,
        link_mbit_per_s=8e-6 * decision.bytes_per_s,
        bf16_step_s=decision.bf16_step_s,
        predicted_step_s=decision.predicted_step_s(),
        actual_step_s=verdict.actual_step_s if verdict else None,
    )


def _outcome(
    decision: Decision, verdict: Verdict | None
) -> Literal["kept", "given_up", "fallback", "not_judged"]:
    if decision.chosen == FALLBACK:
        return "fallback"
    if verdict is None:
        return "not_judged"
    return "kept" if verdict.kept else "given_up"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
