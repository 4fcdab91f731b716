# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Slopes times distances as a bias (pse types 2 and 3)."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

SQUARE = {"q_lengths": (5, 1, 18), "kv_lengths": (5, 1, 18), "heads": 6, "kv_heads": 2, "dim": 64, "dim_v": 64}


@pytest.mark.parametrize("kind", ["slope", "slope_sqrt"])
@pytest.mark.parametrize("starts", [(0, 0), (7, 0), (0, 7), (100, -3)])
def test_slopes(kind: str, starts: tuple[int, int]) -> None:
    check(Call("BSND", **SQUARE, bias=kind, starts=starts))


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layouts(layout: str, dtype: str) -> None:
    check(Call(layout, **SQUARE, bias="slope", sparse_mode=3, dtype=dtype))


def test_many_rows() -> None:
    check(Call("BNSD", (300,), (300,), 2, 2, 64, 64, bias="slope_sqrt", sparse_mode=3))


@pytest.mark.parametrize("starts", [(0, 1048576), (1048576, 0), (-(2**31), 1048576 - 2**31)])
def test_starts_far_apart(starts: tuple[int, int]) -> None:
    call = Call("BSND", **SQUARE, bias="slope", starts=starts)
    given = arguments(call)
    # Distances of more than 20 bits times this are exact in float32, and about 1.
    given["pse_shift"] = np.full(6, 2.0**-20, np.float32)
    compare(call, given, *run(given))


def test_the_sign_is_negative() -> None:
    given = arguments(Call("BSND", (3,), (3,), 1, 1, bias="slope"))
    given["query"][...] = 0
    given["pse_shift"] = np.array([np.log(2)], np.float32)
    _, lse = run(given)
    # Weights 1, 1/2 and 1/4 by distance.
    np.testing.assert_allclose(np.exp(lse[0, 0, :, 0]), [1.75, 2.0, 1.75], rtol=1e-6)
