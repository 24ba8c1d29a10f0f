"""What is compared: our reductions by their configuration, torch's hooks by their name."""

from __future__ import annotations

from pydantic import TypeAdapter
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from seedance_ops.training.compression.config import CompressionConfig

OURS: dict[str, dict[str, object]] = {
    "dense": {"algorithm": "dense"},
    "bf16": {"algorithm": "bf16"},
    "fp16": {"algorithm": "fp16"},
    "local_7": {"algorithm": "local_updates"},
    "local_2_int4": {"algorithm": "local_updates", "exchange_every": 2, "values": "int4"},
    "powersgd": {"algorithm": "powersgd"},
    "powersgd_rank4": {"algorithm": "powersgd", "rank": 4},
    "quantized": {"algorithm": "quantized_error_feedback"},
    "quantized_5": {"algorithm": "quantized_error_feedback", "levels": 5},
    "quantized_5_plain": {
        "algorithm": "quantized_error_feedback",
        "levels": 5,
        "in_optimizer_units": False,
    },
    "int4": {"algorithm": "quantized_error_feedback", "levels": 15, "in_optimizer_units": False},
    "int8": {"algorithm": "quantized_error_feedback", "levels": 255, "in_optimizer_units": False},
    "topk_1": {"algorithm": "topk_error_feedback", "k_ratio": 0.01},
    "topk_10": {"algorithm": "topk_error_feedback", "k_ratio": 0.1, "values": "int4"},
    "random_1": {"algorithm": "random_k", "k_ratio": 0.01},
    "mixed_1": {"algorithm": "mixed_precision", "k_ratio": 0.01},
    "mixed_5": {"algorithm": "mixed_precision", "k_ratio": 0.05},
}
TORCH = ("torch_fp16", "torch_powersgd_rank4")
"""torch's own hooks that run on gloo: that for bf16 wants NCCL; the quantising ones raise, and the batched
PowerSGD too, which hands matrices to a function that asserts a batch of them. PowerSGD with one bucket,
since with two it hangs."""


def configuration(name: str) -> CompressionConfig:
    """Of one of ``OURS``."""
    found: CompressionConfig = TypeAdapter(CompressionConfig).validate_python(OURS[name])
    return found


def bucket_cap_mb(name: str) -> int:
    """DDP's own default, but one bucket for torch's PowerSGD."""
    return 1000 if "powersgd" in name else 25


def register_torch_hook(name: str, model: DistributedDataParallel) -> None:
    """One of ``TORCH``, as its documentation says to."""
    match name:
        case "torch_fp16":
            model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        case "torch_powersgd_rank4":
            model.register_comm_hook(_rank_4(), powerSGD_hook.powerSGD_hook)
        case _:
            raise ValueError(f"torch has no hook {name}")


def _rank_4() -> powerSGD_hook.PowerSGDState:
    return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2)
