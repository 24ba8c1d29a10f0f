"""The environment switches of R1.3: they count where there is no plan, and must agree where there is one."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping

from pydantic import ValidationError

from seedance_ops.training.compression.config import (
    CompressionConfig,
    DenseConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.errors import ConfigurationError

COMPRESS_VARIABLE = "SEEDANCE_COMPRESS_GRADIENTS"
K_RATIO_VARIABLE = "SEEDANCE_COMPRESS_K_RATIO"
_PREFIX = "SEEDANCE_COMPRESS"
"""Of ``SEEDANCE_COMPRESSION_…`` too, which reads like a switch and is none."""

_log = logging.getLogger(__name__)


def compression_from_switches(environ: Mapping[str, str]) -> CompressionConfig:
    """What the switches ask for: top-k with error feedback when on, else dense."""
    on = _compress(environ)
    ratio = _k_ratio(environ)
    if not on:
        if ratio is not None and on is None:
            _log.warning("%s has no effect without %s=1", K_RATIO_VARIABLE, COMPRESS_VARIABLE)
        return DenseConfig()
    fields = {} if ratio is None else {"k_ratio": ratio}
    return TopKErrorFeedbackConfig(algorithm="topk_error_feedback", **fields)


def refuse_contradiction(planned: CompressionConfig, environ: Mapping[str, str]) -> None:
    """Raise ``ConfigurationError``, naming both, where a switch says something else than the plan."""
    on, ratio = _compress(environ), _k_ratio(environ)
    planned_on = isinstance(planned, TopKErrorFeedbackConfig)
    if on is not None and on != planned_on:
        raise ConfigurationError(
            f"the plan says compression.algorithm={planned.algorithm}, but {COMPRESS_VARIABLE}="
            f"{environ[COMPRESS_VARIABLE]} asks for {'topk_error_feedback' if on else 'dense'}; unset the "
            "variable: a plan is complete"
        )
    planned_ratio = planned.k_ratio if isinstance(planned, TopKErrorFeedbackConfig) else None
    if ratio is not None and ratio != planned_ratio:
        says = f"k_ratio={planned_ratio}" if planned_ratio is not None else f"algorithm={planned.algorithm}"
        raise ConfigurationError(
            f"the plan says compression.{says}, but {K_RATIO_VARIABLE}={environ[K_RATIO_VARIABLE]}; unset "
            "the variable: a plan is complete"
        )


def _compress(environ: Mapping[str, str]) -> bool | None:
    _refuse_unknown(environ)
    text = environ.get(COMPRESS_VARIABLE)
    if text not in (None, "0", "1"):
        raise ConfigurationError(f"{COMPRESS_VARIABLE}={text!r} is neither 0 nor 1")
    return None if text is None else text == "1"


def _k_ratio(environ: Mapping[str, str]) -> float | None:
    text = environ.get(K_RATIO_VARIABLE)
    if text is None:
        return None
    try:
        return TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=float(text)).k_ratio
    except (ValueError, ValidationError) as error:
        raise ConfigurationError(f"{K_RATIO_VARIABLE}={text!r} is not a number in (0, 1]") from error


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = (COMPRESS_VARIABLE, K_RATIO_VARIABLE)
    for name in environ:
        if name.startswith(_PREFIX) and name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise ConfigurationError(f"unknown switch {name}; did you mean {nearest}?")
