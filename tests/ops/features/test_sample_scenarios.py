# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What the vendor's sample programs do, in our own words, with results that can be worked out by hand.

The samples fill their tensors with constants. A constant query times constant keys weighs all keys alike, so that the
output is the mean of the values and softmax_lse is the score plus the logarithm of the number of keys.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn.dtypes import pack_float4

Array = np.ndarray[Any, Any]
E8M0 = ml_dtypes.float8_e8m0fnu
E4M3 = ml_dtypes.float8_e4m3fn


def ramp(shape: tuple[int, ...], axis: int, dtype: Any) -> Array:
    """0, 1, 2, ... along one axis: its mean is half of the last."""
    steps = np.arange(shape[axis]).reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])
    return np.ascontiguousarray(np.broadcast_to(steps, shape).astype(np.float32).astype(dtype))


def test_fp16_bnsd_with_bias_and_a_mask_of_ones() -> None:
    shape = (1, 5, 3, 32)
    ones = np.ones(shape, np.float16)
    call: dict[str, Any] = {
        "query": ones,
        "key": ones,
        "value": ramp(shape, 2, np.float16),
        "pse_shift": np.ones((1, 5, 3, 3), np.float16),
        "num_heads": 5,
        "input_layout": "BNSD",
        "scale_value": 1 / 32,
        "softmax_lse_flag": True,
        "actual_seq_lengths": [3],
        "actual_seq_lengths_kv": [3],
    }
    out, lse = acl_attn.fused_infer_attention_score(**call, atten_mask=np.ones((1, 1, 3, 3), np.bool_))
    assert (out == 0).all()
    assert np.isposinf(lse).all()
    out, lse = acl_attn.fused_infer_attention_score(**call, atten_mask=np.zeros((1, 1, 3, 3), np.bool_))
    assert (out == 1).all()
    np.testing.assert_allclose(lse, 1 + 1 + np.log(3), rtol=1e-6)
    out, lse = acl_attn.fused_infer_attention_score(**call)
    assert (out == 1).all()


def test_int8_cache_with_scales_and_offsets_per_channel() -> None:
    shape = (1, 5, 4, 64)
    scale, offset = np.full((5, 64), 0.5, np.float16), np.full((5, 64), 2, np.float16)
    out, lse = acl_attn.fused_infer_attention_score(
        np.ones((1, 5, 1, 64), np.float16),
        np.ones(shape, np.int8),
        ramp(shape, 2, np.int8),
        num_heads=5,
        input_layout="BNSD",
        scale_value=1 / 64,
        key_antiquant_scale=scale,
        key_antiquant_offset=offset,
        value_antiquant_scale=scale,
        value_antiquant_offset=offset,
        actual_seq_lengths_kv=[4],
        softmax_lse_flag=True,
    )
    # Keys (1 + 2) / 2; values (0 .. 3 + 2) / 2.
    assert (out == 1.75).all()
    np.testing.assert_allclose(lse, 1.5 + np.log(4), rtol=1e-6)


def test_mxfp4_cache() -> None:
    shape = (2, 1, 4, 64)
    codes = np.broadcast_to(np.array([0.5, 1.0, -2.0, 6.0])[None, None, :, None], shape)
    scales = np.full((1, 2, 1, 4, 2), 2.0).astype(E8M0)
    scales[..., 1] = 4.0
    out, lse = acl_attn.fused_infer_attention_score(
        np.ones((2, 1, 1, 64), ml_dtypes.bfloat16),
        pack_float4(np.ones(shape)),
        pack_float4(codes),
        num_heads=1,
        input_layout="BNSD",
        scale_value=1 / 64,
        key_antiquant_scale=np.ones_like(scales),
        value_antiquant_scale=scales,
        key_antiquant_mode=6,
        value_antiquant_mode=6,
        actual_seq_lengths_kv=[4, 2],
        softmax_lse_flag=True,
    )
    # Of four tokens 5.5 / 4, of two 1.5 / 2; the second 32 channels have twice the scale.
    want = np.array([[2 * 1.375] * 32 + [4 * 1.375] * 32, [2 * 0.75] * 32 + [4 * 0.75] * 32])
    np.testing.assert_array_equal(out[:, 0, 0].astype(float), want)
    np.testing.assert_allclose(lse[:, 0, 0, 0], [1 + np.log(4), 1 + np.log(2)], rtol=1e-6)


def test_int8_with_a_scale_for_each_tensor() -> None:
    shape = (1, 2, 4, 32)
    out, lse = acl_attn.fused_infer_attention_score(
        np.ones(shape, np.int8),
        np.ones(shape, np.int8),
        ramp(shape, 2, np.int8),
        num_heads=2,
        input_layout="BNSD",
        scale_value=1.0,
        deq_scale1=np.array([1 / 32], np.float32),
        quant_scale1=np.array([64.0], np.float32),
        deq_scale2=np.array([2 / 64], np.float32),
        attention_out=np.empty(shape, np.float16),
        softmax_lse_flag=True,
    )
    # All four weights are 64; values are 0 to 3, times 2.
    assert (out == 3).all()
    np.testing.assert_allclose(lse, 1 + np.log(4), rtol=1e-6)


def test_int8_mla_with_rope() -> None:
    rows, keys, block = 2, 3, 128
    cache = np.zeros((1, 1, 16, block, 32), np.int8)
    cache[0, 0, :, :keys] = np.array([1, 2, 3], np.int8)[None, :, None]
    rope = np.zeros((1, 1, 4, block, 16), ml_dtypes.bfloat16)
    out, lse = acl_attn.fused_infer_attention_score(
        np.zeros((rows, 4, 512), np.int8),
        cache,
        cache,
        num_heads=4,
        num_key_value_heads=1,
        input_layout="TND",
        scale_value=1.0,
        query_rope=np.ones((rows, 4, 64), ml_dtypes.bfloat16),
        key_rope=rope,
        query_quant_mode=3,
        dequant_scale_query=np.ones((rows, 4), np.float32),
        key_antiquant_scale=np.array([0.5], np.float32),
        value_antiquant_scale=np.array([0.5], np.float32),
        actual_seq_lengths=[rows],
        actual_seq_lengths_kv=[keys],
        block_table=np.zeros((1, 1), np.int32),
        block_size=block,
        attention_out=np.empty((rows, 4, 512), ml_dtypes.bfloat16),
        softmax_lse_flag=True,
    )
    assert (out.astype(float) == 1.0).all()
    np.testing.assert_allclose(lse, np.log(3), rtol=1e-6)


def test_mxfp8() -> None:
    tokens = 64
    query = np.ones((1, 2, 64)).astype(E4M3)
    key = np.ones((tokens, 1, 64)).astype(E4M3)
    value = np.full((tokens, 1, 64), 3.0).astype(E4M3)
    of_value = np.ones((1, 1, 64, 2)).astype(E8M0)
    of_value[..., 1] = 2.0
    out, lse = acl_attn.fused_infer_attention_score(
        query,
        key,
        value,
        num_heads=2,
        num_key_value_heads=1,
        input_layout="TND",
        scale_value=1 / 64,
        query_quant_mode=6,
        key_antiquant_mode=6,
        value_antiquant_mode=8,
        dequant_scale_query=np.full((1, 2, 1, 2), 2.0).astype(E8M0),
        key_antiquant_scale=np.full((tokens, 1, 1, 2), 0.5).astype(E8M0),
        value_antiquant_scale=of_value,
        actual_seq_lengths=[1],
        actual_seq_lengths_kv=[tokens],
        attention_out=np.empty((1, 2, 64), ml_dtypes.bfloat16),
        softmax_lse_flag=True,
    )
    # The first 32 tokens stand for 3, the others for 6. All weights are exp(1 - 2 ln 2), rounded to E4M3.
    weight = np.exp(1 - 2 * np.log(2))
    rounded = np.float32(weight).astype(E4M3).astype(np.float64)
    np.testing.assert_allclose(out.astype(float), 4.5 * rounded / weight, rtol=2**-8)
    np.testing.assert_allclose(lse, 1 + np.log(tokens), rtol=1e-6)


def test_fp8_with_scales_per_token_and_head() -> None:
    rows, keys, block = 2, 5, 128
    cache = np.full((1, 1, block, 128), np.nan).astype(E4M3)
    cache[:, :, :keys] = 1.0
    key_scales = np.full((1, 1, block), np.nan, np.float32)
    key_scales[..., :keys] = 0.25
    out, lse = acl_attn.fused_infer_attention_score(
        np.ones((2, rows, 128)).astype(E4M3),
        cache,
        cache,
        num_heads=2,
        num_key_value_heads=1,
        input_layout="NTD_TND",
        scale_value=1 / 128,
        query_quant_mode=3,
        key_antiquant_mode=3,
        value_antiquant_mode=2,
        dequant_scale_query=np.array([[2.0, 4.0], [8.0, 16.0]], np.float32),
        key_antiquant_scale=key_scales,
        value_antiquant_scale=np.array([3.0], np.float32),
        quant_scale1=np.array([256.0], np.float32),
        actual_seq_lengths=[rows],
        actual_seq_lengths_kv=[keys],
        block_table=np.zeros((1, 1), np.int32),
        block_size=block,
        attention_out=np.empty((rows, 2, 128), ml_dtypes.bfloat16),
        softmax_lse_flag=True,
    )
    # Scales of the query are by head and then token, softmax_lse is by token and then head.
    assert (out.astype(float) == 3.0).all()
    np.testing.assert_allclose(lse[..., 0], np.array([[0.5, 2.0], [1.0, 4.0]]) + np.log(keys), rtol=1e-6)


@pytest.mark.parametrize("version", [4, 5])
def test_grouped_heads_of_a_paged_cache(version: int) -> None:
    keys = 5
    key = np.zeros((3, 2, 16, 64), np.float16)
    value = np.full((3, 2, 16, 64), np.nan, np.float16)
    value[1, :, :keys] = np.arange(keys)[None, :, None]
    value[1, 1, :keys] += 10
    out, lse = acl_attn.fused_infer_attention_score(
        np.ones((2, 4, 64), np.float16),
        key,
        value,
        num_heads=4,
        num_key_value_heads=2,
        input_layout="TND",
        scale_value=1.0,
        actual_seq_lengths=[2],
        actual_seq_lengths_kv=[keys],
        block_table=np.array([[1, -1]], np.int32),
        block_size=16,
        sparse_mode=3,
        atten_mask=np.triu(np.ones((2048, 2048), np.bool_), 1),
        softmax_lse_flag=True,
        version=version,
    )
    np.testing.assert_array_equal(out[..., 0], [[1.5, 1.5, 11.5, 11.5], [2, 2, 12, 12]])
    np.testing.assert_allclose(lse[..., 0], np.broadcast_to(np.log([[4], [5]]), (2, 4)), rtol=1e-6)


@pytest.mark.parametrize("version", [4, 5])
def test_decode_mla_with_rope(version: int) -> None:
    rows, keys = 1, 4
    key = ramp((1, keys, 512), 1, np.float16)
    rope = np.zeros((1, keys, 64), np.float16)
    rope[0, :, 0] = [0, 0, np.log(2), 0]
    query_rope = np.zeros((1, rows, 2 * 64), np.float16)
    query_rope[..., [0, 64]] = [1.0, 0.0]
    out, lse = acl_attn.fused_infer_attention_score(
        np.zeros((1, rows, 2 * 512), np.float16),
        key,
        np.full_like(key, np.nan),
        num_heads=2,
        num_key_value_heads=1,
        input_layout="BSH",
        scale_value=1.0,
        query_rope=query_rope,
        key_rope=rope,
        softmax_lse_flag=True,
        version=version,
    )
    # Head 0 sees token 2 twice as heavy: (0 + 1 + 2 * 2 + 3) / 5; head 1 sees all alike.
    np.testing.assert_allclose(out[0, 0].reshape(2, 512)[:, 0].astype(float), [1.6, 1.5], rtol=1e-3)
    np.testing.assert_allclose(lse[0, :, 0, 0], np.log([5, 4]), rtol=1e-3)
