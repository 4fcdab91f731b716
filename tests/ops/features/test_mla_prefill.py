# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""MLA before absorption: 128 channels and 64 of rope, apart or joined."""

from __future__ import annotations

import pytest

from acl_attn.testing.calls import Call
from acl_attn.testing.generate import GQA_LAYOUTS

from ..checks import check

SIZES = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 70, 9), "heads": 6, "kv_heads": 2}
SPLIT = {"dim": 128, "dim_v": 128, "rope": 64}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", GQA_LAYOUTS)
def test_rope_apart(layout: str, dtype: str) -> None:
    check(Call(layout, **SIZES, **SPLIT, dtype=dtype, sparse_mode=3))


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
@pytest.mark.parametrize("gap", [0, 16])
def test_rope_apart_in_pages(storage: str, gap: int) -> None:
    check(Call("TND", **SIZES, **SPLIT, storage=storage, block_size=16, block_gap=gap, sparse_mode=3))


def test_rope_apart_with_lists_of_one_length() -> None:
    check(Call("BSND", (5, 1), (40, 40), 6, 2, **SPLIT, storage="list"))


def test_rope_apart_with_left_padding() -> None:
    check(Call("BNSD", **SIZES, **SPLIT, q_padding=2, kv_padding=1))


def test_rope_apart_with_sink() -> None:
    check(Call("TND", **SIZES, **SPLIT, sink=True, sparse_mode=3))


@pytest.mark.parametrize("layout", ["TND", "BSH", "BNSD"])
def test_rope_joined(layout: str) -> None:
    check(Call(layout, **SIZES, dim=192, dim_v=128, sparse_mode=3))


@pytest.mark.parametrize("rows", [1, 130])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_long_keys(rows: int, scale: float | None) -> None:
    check(Call("TND", (rows,), (1100,), 4, 4, **SPLIT, scale=scale, dtype="bfloat16"))
