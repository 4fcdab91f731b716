# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse modes 0 to 4, and the mask tensors that go with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

CALL = Call("BSND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, q_room=2, kv_room=3)


@pytest.mark.parametrize("per_sequence", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_mask_tensors(mode: int, per_sequence: bool) -> None:
    check(replace(CALL, sparse_mode=mode, mask=0.5, mask_per_sequence=per_sequence))


@pytest.mark.parametrize("window", [(3, 2), (-1, 4), (4, -2), (0, 0), (2147483647, 1)])
@pytest.mark.parametrize("mode", [0, 4])
def test_windows(mode: int, window: tuple[int, int]) -> None:
    mask = 0.2 if mode == 0 else None
    check(replace(CALL, sparse_mode=mode, mask=mask, pre_tokens=window[0], next_tokens=window[1]))


@pytest.mark.parametrize("mode", [2, 3])
def test_causal(mode: int) -> None:
    check(replace(CALL, sparse_mode=mode))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_dtypes_of_masks(dtype: str) -> None:
    call = replace(CALL, sparse_mode=1, mask=0.5)
    given = arguments(call)
    given["atten_mask"] = given["atten_mask"].astype(dtype)
    compare(call, given, *run(given))


def test_a_mask_of_ones_hides_everything() -> None:
    given = arguments(replace(CALL, sparse_mode=1, mask=1.0))
    out, lse = run(given)
    assert not out.astype(np.float32).any()
    assert np.isposinf(lse).all()
