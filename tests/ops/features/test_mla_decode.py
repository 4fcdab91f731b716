# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Absorbed MLA: 512 channels and 64 of rope, one key head, and the key is the value."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.generate import MLA_LAYOUTS
from acl_attn.testing.poison import poisoned

from ..checks import check, run

MLA = {"kv_heads": 1, "dim": 512, "dim_v": 512, "rope": 64}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", MLA_LAYOUTS)
def test_every_layout(layout: str, dtype: str) -> None:
    check(Call(layout, (1, 3, 2), (40, 300, 9), 8, **MLA, dtype=dtype, sparse_mode=3))


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
@pytest.mark.parametrize("layout", ["TND", "BSH_NBSD", "BNSD"])
def test_pages(layout: str, storage: str) -> None:
    check(Call(layout, (1, 3, 2), (40, 300, 9), 8, **MLA, storage=storage, block_size=32))


@pytest.mark.parametrize("heads", [1, 2, 16, 64, 128])
def test_numbers_of_heads(heads: int) -> None:
    check(Call("TND", (1,), (77,), heads, **MLA, storage="NZ"))


def test_many_rows() -> None:
    check(Call("TND_NTD", (70, 1), (260, 33), 4, **MLA, sparse_mode=3))


def test_the_value_tensor_is_not_read() -> None:
    given = arguments(Call("TND", (2,), (50,), 4, **MLA, storage="BnBsH"))
    unread = poisoned(given["value"].shape, given["value"].dtype)
    for got, want in zip(run({**given, "value": unread}), run(given), strict=True):
        assert_same_bits(got, want)
        assert np.isfinite(got.astype(np.float32)).all()


def test_band() -> None:
    check(Call("BSND", (6, 4), (40, 4), 4, **MLA, sparse_mode=4, pre_tokens=11, next_tokens=-1))
