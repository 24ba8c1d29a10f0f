"""Makes the gradient reduction that a configuration names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from seedance_ops.training.compression.auto.candidates import CANDIDATES, candidates_of
from seedance_ops.training.compression.auto.decision import OfThisRunOnly, Record
from seedance_ops.training.compression.auto.reduction import Auto
from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.config import (
    AutoConfig,
    Bf16Config,
    CompressionConfig,
    DenseConfig,
    Fp16Config,
    LocalUpdatesConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.dense_first import DenseFirst
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.compression.fitted_rows import FittedRows
from seedance_ops.training.compression.flush import FlushOnSave
from seedance_ops.training.compression.half_precision import HalfPrecision
from seedance_ops.training.compression.half_rows import HalfRows
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.local_updates import LocalUpdates
from seedance_ops.training.compression.mixed_precision import MixedPrecision
from seedance_ops.training.compression.on_lane import OnLane
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.compression.power_sgd import PowerSgd, Width
from seedance_ops.training.compression.random_k import RandomK
from seedance_ops.training.compression.sparse_rows import SparseRows


def make_reduction(
    config: CompressionConfig,
    devices: Sequence[DeviceProfile] = (),
    *,
    record: Record | None = None,
    author: str = "this run",
) -> GradientReduction:
    """A reduction without state yet.

    Args:
        config: What the job says.
        devices: Profiles of the ranks' kinds, for mixed precision.
        record: Where ``auto`` keeps what it decides; none where no other run has to go by it.
        author: Who this run is, to the reader of such a decision.
    """
    match config:
        case AutoConfig():
            return _auto(config, record or OfThisRunOnly(), author)
        case DenseConfig():
            return Dense()
        case Bf16Config():
            return HalfPrecision.bf16()
        case Fp16Config():
            return HalfPrecision.fp16()
        case (
            TopKErrorFeedbackConfig()
            | QuantizedErrorFeedbackConfig()
            | PowerSgdConfig()
            | RandomKConfig()
            | MixedPrecisionConfig()
        ):
            on_lane = _lossy(config, devices)
            lossy = FlushOnSave(on_lane) if config.flush_on_save else on_lane
            return DenseFirst(lossy, config.dense_steps) if config.dense_steps else lossy
        case LocalUpdatesConfig():
            local = LocalUpdates(config.exchange_every, _element_codec(config.values))
            return DenseFirst(local, config.dense_steps) if config.dense_steps else local
        case _:
            assert_never(config)


def _element_codec(values: Literal["bf16", "int8", "int4"]) -> RowCodec:
    """Of all elements of a row, each by itself."""
    match values:
        case "bf16":
            return HalfRows()
        case "int8":
            return LevelRows(255)
        case "int4":
            return LevelRows(15)
        case _:
            assert_never(values)


def _auto(config: AutoConfig, record: Record, author: str) -> Auto:
    return Auto(
        lambda local_updates: candidates_of(config.quality_tier, local_updates=local_updates),
        lambda name: make_reduction(CANDIDATES[name]),
        record,
        author,
    )


def _lossy(
    config: TopKErrorFeedbackConfig
    | QuantizedErrorFeedbackConfig
    | PowerSgdConfig
    | RandomKConfig
    | MixedPrecisionConfig,
    devices: Sequence[DeviceProfile],
) -> OnLane:
    feedback = config.error_accumulation
    match config:
        case TopKErrorFeedbackConfig():
            return OwnerReduce(
                config.algorithm,
                SparseRows(config.k_ratio, config.values),
                error_feedback=feedback,
                precondition=config.in_optimizer_units,
                two_levels=config.two_levels,
            )
        case QuantizedErrorFeedbackConfig():
            return OwnerReduce(
                config.algorithm,
                LevelRows(config.levels) if config.levels else FittedRows(config.bits_per_element),
                error_feedback=feedback,
                precondition=config.in_optimizer_units,
                two_levels=config.two_levels,
            )
        case PowerSgdConfig():
            return PowerSgd(Width(config.rank, config.byte_share), error_feedback=feedback)
        case RandomKConfig():
            return RandomK(config.k_ratio, error_feedback=feedback)
        case MixedPrecisionConfig():
            k_ratio = config.k_ratio if config.sparse else None
            return MixedPrecision(
                k_ratio,
                config.trunk_ratio,
                devices,
                error_feedback=feedback,
                two_levels=config.two_levels,
            )
        case _:
            assert_never(config)
