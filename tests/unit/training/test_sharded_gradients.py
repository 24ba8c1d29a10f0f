"""Where parameters' shards lie in FSDP's flat gradient."""

from __future__ import annotations

import pytest
import torch

from seedance_ops.training.compression.fsdp import ShardPlace, shard_views


def test_a_row_shard_of_a_matrix_is_a_matrix_and_padding_is_left_out() -> None:
    """By hand: rank 1's shard of a 3 × 2 matrix has one row of two, of a bias of one element nothing."""
    flat = torch.tensor([5.0, 6.0, 0.0, 0.0, 0.0, 7.0])
    places = [
        ShardPlace(torch.Size([1, 2]), 4),
        ShardPlace(torch.Size([0]), 1),
        ShardPlace(torch.Size([1]), 1),
    ]
    matrix, nothing, last = shard_views(flat, places)
    assert matrix.tolist() == [[5.0, 6.0]]
    assert nothing.numel() == 0
    assert last.tolist() == [7.0]
    matrix.mul_(10.0)
    assert flat.tolist() == [50.0, 60.0, 0.0, 0.0, 0.0, 7.0]


def test_a_flat_gradient_of_other_parameters_is_refused() -> None:
    with pytest.raises(RuntimeError, match="has 3 elements, its parameters' shards have 4"):
        shard_views(torch.zeros(3), [ShardPlace(torch.Size([2, 2]), 4)])
