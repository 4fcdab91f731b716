# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Scales and offsets of stored codes that are taken out of sums: what the sums alone would not show."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import KvQuant, reference

KEYS, CHANNELS = 500, 128


@pytest.mark.parametrize("scale", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("tokens", [1, 40])  # decode and prefill
@pytest.mark.usefixtures("cpu_target")
def test_an_infinite_scale_of_a_token_makes_nan_of_codes_of_both_signs(tokens: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    query = rng.standard_normal((1, tokens, 4, 64)).astype(np.float16)
    codes = rng.integers(1, 100, (1, 20, 2, 64)) * rng.choice([-1, 1], (1, 20, 2, 64))
    scales = np.full((1, 20), 0.025, np.float32)
    key_scales = scales.copy()
    key_scales[0, 5] = scale
    stored = codes.astype(np.int8)
    out = acl_attn.attention(query, stored, stored, kv_quant=KvQuant(1, key_scales, scales))
    assert np.isnan(np.asarray(out)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("center", "spread"), [(100, 3), (-118, 10), (30, 20)])
@pytest.mark.parametrize("tokens", [1, 40])
@pytest.mark.usefixtures("cpu_target")
def test_codes_beside_an_offset_of_the_other_sign(tokens: int, center: int, spread: int, dtype: str) -> None:
    rng = np.random.default_rng(1)
    element = np.dtype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    query = rng.standard_normal((1, tokens, 8, CHANNELS)).astype(element)
    numbers = np.rint(rng.standard_normal((2, 1, KEYS, 2, CHANNELS)) * spread + center)
    key, value = np.clip(numbers, -128, 127).astype(np.int8)
    scale, offset = (np.full((2, CHANNELS), x).astype(element) for x in (1 / spread, -center))
    quant = KvQuant(0, scale, scale, offset, offset)
    got, lse = acl_attn.attention(query, key, value, kv_quant=quant, return_lse=True)
    want, expected_lse = reference.attention(query, key, value, kv_quant=quant, return_lse=True)
    error = np.asarray(got, np.float64) - want
    # 1.1 times the bounds of test_numerics.py: these are few numbers.
    bound = 3.3e-4 if dtype == "float16" else 2.2e-3
    assert np.sqrt((error**2).mean() / (want**2).mean()) <= bound
    np.testing.assert_allclose(np.asarray(lse), np.asarray(expected_lse), rtol=2e-6, atol=2e-6)
