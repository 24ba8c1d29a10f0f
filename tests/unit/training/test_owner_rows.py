"""Who owns which elements: everything once, evenly, and no matter what else is in the bucket."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.training.compression.owner_rows import TURN, columns_of, from_rows, to_rows


@settings(deadline=None)
@given(size=st.integers(1, 5000), owners=st.integers(1, 16))
def test_rows_hold_every_element_once_and_give_it_back(size: int, owners: int) -> None:
    parameter = torch.arange(1.0, size + 1)
    rows = to_rows(parameter, owners)
    assert rows.shape == (owners, columns_of(size, owners))
    assert sorted(rows[rows > 0].tolist()) == parameter.tolist()
    back = torch.empty(size)
    from_rows(rows, back)
    assert torch.equal(back, parameter)


@given(size=st.integers(1, 5000), owners=st.integers(1, 16))
def test_no_owner_has_more_than_a_turn_more_than_another(size: int, owners: int) -> None:
    owned = (to_rows(torch.ones(size), owners) > 0).sum(dim=1)
    assert int(owned.max() - owned.min()) <= TURN
