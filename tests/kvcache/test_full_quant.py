# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Query, key and value quantised: every element against its scale by the operator's index formulas."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn import Lengths
from acl_attn.dtypes import as_dtype, decode
from acl_attn.errors import InvalidArgumentError
from acl_attn.kvcache import (
    from_nz,
    group_query_scale,
    quantize_gqa_fp8,
    quantize_mla,
    quantize_mxfp8,
    quantize_per_tensor,
)

E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) * np.exp2(generator.integers(-6, 7, (*shape[:-1], 1)))


def assert_near(stored: np.ndarray, scale: np.ndarray, want: np.ndarray, name: str) -> None:
    """Within half a step of what the codes and scales stand for; `scale` broadcasts."""
    relative, absolute = {"int8": (0, 0.5), "hifloat8": (2.0**-4, 2.0**-6), "float8_e4m3fn": (2.0**-4, 2.0**-10)}[name]
    got = decode(stored).astype(np.float64) * scale
    assert (np.abs(got - want) <= relative * np.abs(want) + absolute * scale * 1.00001).all()


def test_per_tensor() -> None:
    q, k, v = normal(1, 2, 8, 32), normal(1, 2, 9, 32, seed=1), normal(1, 2, 9, 32, seed=2)
    made = quantize_per_tensor(q, k, v)
    for scale in (made.deq_scale1, made.quant_scale1, made.deq_scale2):
        assert (scale.shape, scale.dtype) == ((1,), np.dtype(np.float32))
    v_scale = made.deq_scale2 * made.quant_scale1
    assert_near(made.value, v_scale, v, "int8")
    scores = (
        decode(made.query).astype(np.float64) @ decode(made.key).astype(np.float64).swapaxes(-1, -2) * made.deq_scale1
    )
    want = q @ k.swapaxes(-1, -2)
    assert np.sqrt(((scores - want) ** 2).mean() / (want**2).mean()) < 0.03


@pytest.mark.parametrize("name", ["int8", "float8_e4m3fn", "hifloat8"])
@pytest.mark.parametrize("layout", ["BSND", "BNSD", "TND", "BSH"])
def test_mla(layout: str, name: str) -> None:
    shape = {"BSND": (2, 3, 4), "BNSD": (2, 4, 3), "TND": (5, 4), "BSH": (2, 3, 4)}[layout]
    q, rope, k = normal(*shape, 512), normal(*shape, 64, seed=1), normal(2, 7, 1, 512, seed=2)
    key_rope = normal(2, 7, 1, 64, seed=3)
    fused = layout == "BSH"
    made = quantize_mla(
        q.reshape(2, 3, -1) if fused else q,
        k,
        rope.reshape(2, 3, -1) if fused else rope,
        key_rope,
        name,
        num_heads=4 if fused else None,
    )
    assert made.dequant_scale_query.shape == shape
    assert made.key_antiquant_scale.shape == made.value_antiquant_scale.shape == (1,)
    assert made.query.dtype == made.key.dtype == as_dtype(name)
    q_scale = made.dequant_scale_query.astype(np.float64)[..., None]
    k_scale = float(made.key_antiquant_scale[0])
    assert_near(made.query.reshape(q.shape), q_scale, q, name)
    assert_near(made.key, np.array(k_scale), k, name)
    # The operator multiplies the rope part by both scales, too.
    np.testing.assert_allclose(
        made.query_rope.astype(np.float64).reshape(rope.shape) * q_scale * k_scale, rope, rtol=0.004
    )
    np.testing.assert_array_equal(made.key_rope, key_rope.astype(ml_dtypes.bfloat16))


def test_gqa_fp8() -> None:
    q, k, v = normal(4, 6, 128), normal(3, 2, 128, 128, seed=1), normal(3, 2, 128, 128, seed=2)
    made = quantize_gqa_fp8(q, k, v)
    assert made.dequant_scale_query.shape == (4, 6)
    assert made.key_antiquant_scale.shape == (3, 2, 128)
    assert made.value_antiquant_scale.shape == (2,)
    assert_near(made.query, made.dequant_scale_query[..., None], q, "float8_e4m3fn")
    assert_near(made.key, made.key_antiquant_scale[..., None], k, "float8_e4m3fn")
    assert_near(made.value, made.value_antiquant_scale[None, :, None, None], v, "float8_e4m3fn")
    assert (made.query_quant_mode, made.key_antiquant_mode, made.value_antiquant_mode) == (3, 3, 2)


LENGTHS = Lengths((70, 0, 33, 64))


@pytest.mark.parametrize("dim", [64, 128])
def test_mxfp8_packed(dim: int) -> None:
    q, k, v = normal(5, 4, dim), normal(167, 2, dim, seed=1), normal(167, 2, dim, seed=2)
    made = quantize_mxfp8(q, k, v, kv_lengths=LENGTHS)
    assert made.dequant_scale_query.shape == (5, 4, dim // 64, 2)
    assert made.key_antiquant_scale.shape == (167, 2, dim // 64, 2)
    assert made.value_antiquant_scale.shape == (2 + 0 + 1 + 1, 2, dim, 2)
    assert made.query.dtype == made.key.dtype == made.value.dtype == E4M3
    group = np.arange(dim) // 32
    for codes, scale, want in ((made.query, made.dequant_scale_query, q), (made.key, made.key_antiquant_scale, k)):
        assert scale.dtype == E8M0
        assert_near(codes, scale.astype(np.float64)[..., group // 2, group % 2], want, "float8_e4m3fn")
    base = 0
    for start, length in zip(LENGTHS.cu_seqlens, LENGTHS.per_sequence, strict=False):
        t = np.arange(length)
        scale = made.value_antiquant_scale.astype(np.float64)[base + t // 64, :, :, t // 32 % 2]
        assert_near(made.value[start : start + length], scale, v[start : start + length], "float8_e4m3fn")
        base += -(-length // 64)
    assert (made.query_quant_mode, made.key_antiquant_mode, made.value_antiquant_mode) == (6, 6, 8)


def test_mxfp8_paged() -> None:
    q, k, v = normal(5, 4, 128), normal(3, 2, 128, 128, seed=1), normal(3, 2, 128, 128, seed=2)
    made, nz = quantize_mxfp8(q, k, v), quantize_mxfp8(q, k, v, nz=True)
    assert made.key_antiquant_scale.shape == (3, 2, 128, 2, 2)
    assert made.value_antiquant_scale.shape == (3, 2, 2, 128, 2)
    assert nz.key_antiquant_scale.shape == (3, 2, 8, 2, 16, 2)
    assert nz.value_antiquant_scale.shape == (3, 2, 8, 2, 16, 2)
    assert nz.key.shape == nz.value.shape == (3, 2, 4, 128, 32)
    np.testing.assert_array_equal(from_nz(nz.key).view(np.uint8), made.key.view(np.uint8))
    np.testing.assert_array_equal(from_nz(nz.value).view(np.uint8), made.value.view(np.uint8))
    generator = np.random.default_rng(4)
    for _ in range(400):
        blk, hk, r, d = (int(generator.integers(0, n)) for n in (3, 2, 128, 128))
        key_scale = float(made.key_antiquant_scale[blk, hk, r, d // 64, d // 32 % 2])
        value_scale = float(made.value_antiquant_scale[blk, hk, r // 64, d, r // 32 % 2])
        assert float(nz.key_antiquant_scale[blk, hk, r // 16, d // 64, r % 16, d // 32 % 2]) == key_scale
        assert float(nz.value_antiquant_scale[blk, hk, d // 16, r // 64, d % 16, r // 32 % 2]) == value_scale
        at = (blk, hk, r, d)
        assert_near(made.key[at], np.array(key_scale), k[at], "float8_e4m3fn")
        assert_near(made.value[at], np.array(value_scale), v[at], "float8_e4m3fn")


def test_mxfp8_groups_do_not_share_scales() -> None:
    q = np.ones((1, 1, 64))
    q[0, 0, 32:] = 1000
    scale = quantize_mxfp8(q, q, q, kv_lengths=Lengths((1,))).dequant_scale_query.astype(np.float64)
    assert scale.ravel().tolist() == [2.0**-8, 4.0]


def test_query_scale_by_group() -> None:
    scale = quantize_mxfp8(
        normal(5, 6, 64), normal(2, 3, 64), normal(2, 3, 64), kv_lengths=Lengths((2,))
    ).dequant_scale_query
    grouped = group_query_scale(scale, 3)
    assert grouped.shape == (3, 5, 2, 1, 2)
    for h in range(6):
        np.testing.assert_array_equal(grouped[h // 2, :, h % 2].view(np.uint8), scale[:, h].view(np.uint8))


def test_zeros_stay_zeros() -> None:
    made = quantize_mxfp8(np.zeros((2, 1, 64)), np.zeros((2, 1, 64)), np.zeros((2, 1, 64)), kv_lengths=Lengths((2,)))
    assert (decode(made.value) == 0).all()
    assert (made.value_antiquant_scale.astype(np.float32) == 1).all()
    assert (quantize_gqa_fp8(np.zeros((1, 2, 128)), *2 * [np.zeros((1, 1, 128, 128))]).dequant_scale_query == 1).all()


def test_refusals() -> None:
    cache = normal(2, 1, 128, 128)
    with pytest.raises(InvalidArgumentError, match="query: expected finite numbers, got infinity or NaN"):
        quantize_per_tensor([np.nan], [1.0], [1.0])
    with pytest.raises(InvalidArgumentError, match="dtype: expected int8, float8_e4m3fn or hifloat8, got int4_x2"):
        quantize_mla(normal(2, 1, 512), normal(2, 1, 512), normal(2, 1, 64), normal(2, 1, 64), "int4_x2")
    with pytest.raises(InvalidArgumentError, match="query_rope: expected the tokens and heads of query"):
        quantize_mla(normal(2, 1, 512), normal(2, 1, 512), normal(2, 2, 64), normal(2, 1, 64))
    with pytest.raises(InvalidArgumentError, match="num_heads: expected a divisor"):
        quantize_mla(normal(2, 1, 512), normal(2, 1, 512), normal(2, 1, 64), normal(2, 1, 64), num_heads=3)
    with pytest.raises(InvalidArgumentError, match="query: expected rank 3"):
        quantize_gqa_fp8(normal(2, 128), cache, cache)
    with pytest.raises(InvalidArgumentError, match="key: expected rank 4 for layout BnNBsD"):
        quantize_gqa_fp8(normal(1, 2, 128), cache[0], cache)
    with pytest.raises(InvalidArgumentError, match="query: expected rank 3 and a head dim that 64 divides"):
        quantize_mxfp8(normal(1, 2, 96), cache, cache)
    with pytest.raises(InvalidArgumentError, match="key: expected rank 3"):
        quantize_mxfp8(normal(1, 2, 128), cache, cache, kv_lengths=Lengths((3,)))
    with pytest.raises(InvalidArgumentError, match="kv_lengths: expected lengths that sum to key's 4 tokens, got 3"):
        quantize_mxfp8(normal(1, 2, 64), normal(4, 1, 64), normal(4, 1, 64), kv_lengths=Lengths((3,)))
    with pytest.raises(InvalidArgumentError, match="key: expected the blocks of value, of a size that 64 divides"):
        quantize_mxfp8(normal(1, 2, 128), cache[:, :, :32], cache[:, :, :32])
    with pytest.raises(InvalidArgumentError, match="scale: expected rank 4"):
        group_query_scale(np.ones((2, 3)), 1)
