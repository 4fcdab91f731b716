# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Rounding to element formats: between two values the nearer one is taken, once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn.reference.formats import round_to, round_to_e4m3, round_to_int8

RANDOM = np.random.default_rng(0).standard_normal(20000) * np.exp2(np.random.default_rng(1).uniform(-30, 20, 20000))


def test_e4m3_agrees_with_ml_dtypes() -> None:
    limited = np.clip(RANDOM, -448, 448).astype(np.float32)
    np.testing.assert_array_equal(
        round_to_e4m3(limited.astype(np.float64)), limited.astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    )
    assert round_to_e4m3(np.array([1e9, -1e9])).tolist() == [448.0, -448.0]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_float_rounding_is_to_the_nearest(dtype: type) -> None:
    x = np.clip(RANDOM, -60000, 60000)
    got = round_to(x, dtype)
    near = got.astype(dtype)
    above, below = (np.nextafter(near, near.dtype.type(s)).astype(np.float64) for s in (np.inf, -np.inf))
    assert (np.abs(got - x) <= np.minimum(np.abs(above - x), np.abs(below - x))).all()


def test_bfloat16_is_not_rounded_twice() -> None:
    # Just above the middle of two bfloat16 numbers, by less than float32 can tell.
    x = np.array([1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-8, 1.0 + 2.0**-8 - 2.0**-40])
    assert round_to(x, ml_dtypes.bfloat16).tolist() == [1.0 + 2.0**-7, 1.0, 1.0]


def test_int8_goes_by_way_of_float16() -> None:
    assert round_to_int8(np.array([1.5, 2.5, -0.5, 200.0, -200.0, 1e9])).tolist() == [2, 2, 0, 127, -128, 127]
