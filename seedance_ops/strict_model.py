"""The base of every model a user or another process writes: immutable, and closed to unknown keys."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A frozen Pydantic model that refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )
