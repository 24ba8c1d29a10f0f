"""What was decided, once for all seeds and resumes of a variant, and where that is kept."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import ValidationError

from seedance_ops.storage.errors import ObjectExists, ObjectMissing
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.errors import ConfigurationError

if TYPE_CHECKING:
    from seedance_ops.storage.client import ObjectStore

DECISION_FILE = "compression-decision.json"


class Prediction(StrictModel):
    """Of one candidate."""

    algorithm: str
    step_s: float
    exchange_s: float
    """Measured: its exchange by itself."""
    bytes_on_wire: int
    """Measured: by one rank, in a step."""


class Decision(StrictModel):
    """What was chosen, and what spoke for it; steps before ``from_step`` are in bf16."""

    chosen: str
    """One of ``CANDIDATES``."""
    from_step: int
    """After how many steps of bf16 it is used, by every seed."""
    made_by: str
    world_size: int
    bf16_step_s: float
    bf16_wait_s: float
    bf16_exchange_s: float
    latency_s: float
    bytes_per_s: float
    predictions: tuple[Prediction, ...]
    probe_s: float
    """How long training stood still for it."""

    def verdict_file(self) -> str:
        """Where the verdict on this decision stands, and on no other."""
        digest = hashlib.blake2b(self.model_dump_json().encode(), digest_size=8).hexdigest()
        return f"compression-verdict-{digest}.json"

    def predicted_step_s(self) -> float:
        """Of what was chosen."""
        steps = {each.algorithm: each.step_s for each in self.predictions}
        return steps.get(self.chosen, self.bf16_step_s)

    def sentence(self) -> str:
        """For the log."""
        predicted = ", ".join(f"{each.algorithm} {1e3 * each.step_s:.1f}" for each in self.predictions)
        return (
            f"{self.chosen} from step {self.from_step + 1} on, decided by {self.made_by}; a step in ms: "
            f"bf16 {1e3 * self.bf16_step_s:.1f} measured ({1e3 * self.bf16_wait_s:.1f} of it waiting); "
            f"predicted: {predicted or 'nothing else may be chosen'}; "
            f"link {8e-6 * self.bytes_per_s:.0f} Mbit/s, {1e3 * self.latency_s:.2f} ms; "
            f"the probe took {self.probe_s:.1f} s"
        )


class Verdict(StrictModel):
    """Whether what was chosen stayed, after some steps with it; where not, all others are in bf16 again."""

    kept: bool
    steps: int
    """After how many it is given up by every seed, where it is."""
    made_by: str
    actual_step_s: float
    predicted_step_s: float
    bf16_step_s: float

    def sentence(self) -> str:
        """For the log."""
        return (
            f"{1e3 * self.actual_step_s:.1f} ms a step, predicted {1e3 * self.predicted_step_s:.1f}, "
            f"bf16 {1e3 * self.bf16_step_s:.1f}"
        )


Document = TypeVar("Document", bound=StrictModel)


class Record(Protocol):
    """Keeps what is decided first, whoever decides it."""

    def read(self, name: str, model: type[Document]) -> Document | None:
        """What was decided; none where nothing was yet."""

    def settle(self, name: str, document: Document) -> Document:
        """Decide, unless somebody has; returns what counts from here on."""


class OfThisRunOnly:
    """Without a plan there are no other seeds and no resumes."""

    def read(self, name: str, model: type[Document]) -> Document | None:
        """Nothing is kept."""
        del name, model
        return None

    def settle(self, name: str, document: Document) -> Document:
        """It counts."""
        del name
        return document


class InObjectStore:
    """One object for each; the store lets only the first writer through."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def read(self, name: str, model: type[Document]) -> Document | None:
        """See ``Record``; raises ``ConfigurationError`` for what no version like this one has written."""
        try:
            content = self._store.get(name)
        except ObjectMissing:
            return None
        try:
            return model.model_validate_json(content)
        except ValidationError as error:
            raise ConfigurationError(
                f"{self._store.location.uri}/{name} is no {model.__name__.lower()} of this version: delete "
                "it, and the next run of the variant decides anew"
            ) from error

    def settle(self, name: str, document: Document) -> Document:
        """See ``Record``."""
        try:
            self._store.put(name, document.model_dump_json(indent=2).encode(), if_absent=True)
        except ObjectExists:
            standing = self.read(name, type(document))
            assert standing is not None, "nothing deletes it"
            return standing
        return document
