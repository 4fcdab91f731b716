# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every input_layout, with dense, listed and paged keys and values."""

from __future__ import annotations

import pytest

from acl_attn.testing.calls import Call
from acl_attn.testing.generate import CACHES, GQA_LAYOUTS, MLA_LAYOUTS
from acl_attn.testing.layouts import LAYOUTS

from ..checks import check

RAGGED = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 70, 9), "q_room": 2, "kv_room": 3, "sparse_mode": 3}


def test_all_thirteen_are_covered_below() -> None:
    assert {*GQA_LAYOUTS, *MLA_LAYOUTS} == set(LAYOUTS)
    assert len(LAYOUTS) == 13


@pytest.mark.parametrize("storage", ["dense", *CACHES])
@pytest.mark.parametrize("layout", GQA_LAYOUTS)
def test_without_rope(layout: str, storage: str) -> None:
    call = Call(layout, **RAGGED, heads=6, kv_heads=2, dim=64, dim_v=64, storage=storage)
    check(call if storage == "dense" else Call(**{**vars(call), "kv_room": 0}))


@pytest.mark.parametrize("layout", MLA_LAYOUTS)
def test_of_decode_mla(layout: str) -> None:
    check(Call(layout, **RAGGED, heads=4, kv_heads=1, dim=512, dim_v=512, rope=64))
