"""The suite of data expectations: what its YAML may say, and the one that applies where there is none."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from seedance_ops.quality.data.step_columns import STEP_COLUMNS, StepColumn
from seedance_ops.strict_model import StrictModel

BUILT_IN_FILE = "expectations.yaml"
"""Beside this module; ``include/expectations/data.yaml`` of a project begins as its copy."""


class NoArguments(StrictModel):
    """This expectation takes none."""


class Share(StrictModel):
    """How many of the records must be as expected."""

    mostly: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the records that must be as expected."""


class FiniteArguments(Share):
    """Which columns, and how many of their cells."""

    columns: tuple[StepColumn, ...] = Field(default=STEP_COLUMNS, min_length=1)
    """Columns of the step records."""


class BytesArguments(Share):
    """What the formulas need to know of the model."""

    gradient_bytes: Literal[2, 4, 8] = 4
    """Bytes an element of an uncompressed gradient has: 2 for a model in half precision."""
    tensors: int = Field(default=10_000, ge=1)
    """At most so many parameter tensors: what is encoded is rounded up in each."""


class _Expectation(StrictModel):
    severity: Literal["error", "warning"] = "error"
    """``error``: where it does not hold nothing can be judged; ``warning``: it is reported."""


class RunsToBeComplete(_Expectation):
    """Every planned run and rank reported, once, and nothing else did."""

    type: Literal["expect_runs_to_be_complete"]
    kwargs: NoArguments = NoArguments()


class StepsToBeFinite(_Expectation):
    """No NaN and no infinity in the step records."""

    type: Literal["expect_steps_to_be_finite"]
    kwargs: FiniteArguments = FiniteArguments()


class UtilisationToBeInRange(_Expectation):
    """Every utilisation lies from 0 to 1."""

    type: Literal["expect_utilisation_to_be_in_range"]
    kwargs: Share = Share()


class StepsToBeMonotone(_Expectation):
    """Neither step nor time goes back within a submission of a rank."""

    type: Literal["expect_steps_to_be_monotone"]
    kwargs: Share = Share()


class BytesToBeConsistent(_Expectation):
    """Every rank sent what its algorithm sends."""

    type: Literal["expect_bytes_to_be_consistent"]
    kwargs: BytesArguments = BytesArguments()


class PricesToBeSane(_Expectation):
    """Every price is plausible for what it buys."""

    type: Literal["expect_prices_to_be_sane"]
    kwargs: NoArguments = NoArguments()


class FAndPToBeConsistent(_Expectation):
    """The F and p of every comparison can belong together."""

    type: Literal["expect_f_and_p_to_be_consistent"]
    kwargs: NoArguments = NoArguments()


Expectation = Annotated[
    RunsToBeComplete
    | StepsToBeFinite
    | UtilisationToBeInRange
    | StepsToBeMonotone
    | BytesToBeConsistent
    | PricesToBeSane
    | FAndPToBeConsistent,
    Field(discriminator="type"),
]


class Suite(StrictModel):
    """``expectations.json``, and each file of ``include/expectations/``."""

    expectations: tuple[Expectation, ...] = Field(max_length=100)
    """What must hold of the data, in the order of the report."""

    @field_validator("expectations")
    @classmethod
    def _some(cls, expectations: tuple[Expectation, ...]) -> tuple[Expectation, ...]:
        """Not by ``min_length``, which would count an entry with a fault as none."""
        if not expectations:
            raise ValueError("needs at least 1 entry")
        return expectations

    @property
    def sha256(self) -> str:
        """Of what it says, whatever its files are called and however they are laid out."""
        said = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(said.encode()).hexdigest()


def built_in_text() -> str:
    """The YAML of the suite that applies to a project without one of its own."""
    return files("seedance_ops.quality").joinpath(BUILT_IN_FILE).read_text(encoding="utf-8")


def built_in_path() -> Path:
    """What errors in it would be named by."""
    return Path("seedance_ops/quality", BUILT_IN_FILE)
