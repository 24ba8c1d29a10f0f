"""What is trained: a byte GPT from scratch and fine-tuned, and a classifier of scikit-learn's digits."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn.functional import cross_entropy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CONTEXT = 96
BATCH_PER_RANK = 8


@dataclass(frozen=True)
class Recipe:
    """How long, and from what learning rates the best is taken."""

    steps: int
    learning_rates: tuple[float, ...]


RECIPES = {
    "scratch": Recipe(2600, (1.2e-2, 8e-3, 1.8e-2)),
    "tune": Recipe(1200, (1.2e-2, 8e-3, 1.8e-2)),
    "digits": Recipe(300, (4e-3, 2e-3, 8e-3)),
}
BASE = Recipe(1500, (2e-3,))
"""Of the model that is fine-tuned, trained densely by the benchmark itself."""


class Task(Protocol):
    """A model, its batches by sample number, and its validation loss."""

    model: nn.Module

    def loss(self, samples: range, seed: int, model: nn.Module) -> torch.Tensor:
        """Mean loss of these samples through ``model``, which may wrap the task's own."""

    def validation_loss(self) -> float:
        """On held-out data, in nats."""


def make_task(name: str, base_model: Path | None) -> Task:
    """A task with a model as the current random state makes it."""
    if name == "digits":
        return Digits()
    if name == "tune":
        assert base_model is not None, "fine-tuning starts from a trained model"
        return Bytes(*library_documentation(), weights=torch.load(base_model, weights_only=True))
    return Bytes(*example().standard_library_text(), weights=None)


def learning_rate_factor(step: int, steps: int) -> float:
    """Twenty steps up, then down in a line to nothing; ``step`` counts from 1."""
    return min(1.0, step / 20) * (1 - (step - 1) / steps)


class Bytes:
    """``examples/char_gpt.py``, two layers of 96."""

    def __init__(
        self, training: torch.Tensor, validation: torch.Tensor, weights: dict[str, Any] | None
    ) -> None:
        self._training, self._validation = training, validation
        self.model: nn.Module = example().CharGPT(2, 96, 4, CONTEXT)
        if weights is not None:
            self.model.load_state_dict(weights)

    def loss(self, samples: range, seed: int, model: nn.Module) -> torch.Tensor:
        """See ``Task``."""
        inputs, targets = example().windows(self._training, samples, CONTEXT, seed, torch.device("cpu"))
        loss: torch.Tensor = model(inputs, targets)
        return loss

    @torch.no_grad()
    def validation_loss(self) -> float:
        """See ``Task``."""
        losses = [
            float(self.model(*example().windows(self._validation, batch, CONTEXT, 0, torch.device("cpu"))))
            for batch in batches(16, 32)
        ]
        return sum(losses) / len(losses)


class Digits:
    """8 × 8 images, 1,437 to train and 360 to validate, through two hidden layers of 256."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
        self._x = torch.tensor(images, dtype=torch.float32)[order] / 16.0
        self._y = torch.tensor(labels, dtype=torch.int64)[order]
        self._cut = len(order) * 4 // 5
        self.model: nn.Module = nn.Sequential(
            nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)
        )

    def loss(self, samples: range, seed: int, model: nn.Module) -> torch.Tensor:
        """See ``Task``."""
        draws = torch.tensor(
            [hash((seed, sample)) % self._cut for sample in samples]
        )  # of integers: the same in every process
        return cross_entropy(model(self._x[draws]), self._y[draws])

    @torch.no_grad()
    def validation_loss(self) -> float:
        """See ``Task``."""
        return float(cross_entropy(self.model(self._x[self._cut :]), self._y[self._cut :]))


def batches(number: int, size: int) -> Iterator[range]:
    return (range(start, start + size) for start in range(0, number * size, size))


def library_documentation() -> tuple[torch.Tensor, torch.Tensor]:
    """Python's documentation of its topics, as bytes; the last tenth validates."""
    text = (Path(sysconfig.get_path("stdlib")) / "pydoc_data/topics.py").read_bytes()
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    cut = len(data) * 9 // 10
    return data[:cut], data[cut:]


def example() -> Any:
    """The example script as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    import char_gpt

    return char_gpt
