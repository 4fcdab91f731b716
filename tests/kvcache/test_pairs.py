# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Key and value together: what the operator's reference computes from them is attention over what they stand for."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from acl_attn import attention, reference
from acl_attn.errors import InvalidArgumentError
from acl_attn.kvcache import AntiquantMode, QuantizedKV, dequantize_kv, from_nz, quantize_kv
from acl_attn.testing.pages import Paging, block_table, fill_cache

BATCH, HEADS, KV_HEADS, TOKENS, DIM = 2, 4, 2, 40, 64
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(BFLOAT16)


QUERY = normal(BATCH, HEADS, 1, DIM, seed=0)
KEY = normal(BATCH, KV_HEADS, TOKENS, DIM, seed=1)
VALUE = normal(BATCH, KV_HEADS, TOKENS, DIM, seed=2)
COMMON = {"input_layout": "BNSD", "num_heads": HEADS, "num_key_value_heads": KV_HEADS, "scale_value": DIM**-0.5}


def by_operator(cache: QuantizedKV, **arguments: object) -> np.ndarray:
    out, _ = reference.fused_infer_attention_score(query=QUERY, **COMMON, **cache.fia_arguments(), **arguments)
    return np.asarray(out).astype(np.float64)


def plain(key: np.ndarray, value: np.ndarray, lengths: tuple[int, ...] = (TOKENS,) * BATCH) -> np.ndarray:
    """Attend to (batch, head, token, channel)."""
    out = np.zeros(QUERY.shape)
    for b, length in enumerate(lengths):
        for h in range(HEADS):
            k, v = (x[b, h // (HEADS // KV_HEADS), :length].astype(np.float64) for x in (key, value))
            scores = QUERY[b, h].astype(np.float64) @ k.T * DIM**-0.5
            weights = np.exp(scores - scores.max())
            out[b, h] = weights @ v / weights.sum()
    return out


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    """But for the rounding of the result to bfloat16."""
    np.testing.assert_allclose(got, want, rtol=2.0**-8, atol=1e-6)


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize(
    ("mode", "dtype"),
    [(0, "int8"), (0, "int4_x2"), (1, "int8"), (2, "int8"), (3, "int8"), (3, "int4_x2"), ((0, 1), "int8")],
)
def test_integers(mode: int | tuple[int, int], dtype: str, asymmetric: bool) -> None:
    cache = quantize_kv(KEY, VALUE, mode, dtype, asymmetric=asymmetric)
    assert_same(by_operator(cache), plain(*dequantize_kv(cache)))
    assert np.abs(by_operator(cache) - plain(KEY, VALUE)).max() < (0.6 if dtype == "int4_x2" else 0.06)


@pytest.mark.parametrize(
    ("mode", "dtype"), [(0, "hifloat8"), (0, "float8_e4m3fn"), (1, "float8_e4m3fn"), (6, "float4_e2m1fn_x2")]
)
def test_floats(mode: int, dtype: str) -> None:
    cache = quantize_kv(KEY, VALUE, mode, dtype)
    assert_same(by_operator(cache), plain(*dequantize_kv(cache)))


def test_mixed_scales() -> None:
    cache = quantize_kv(KEY, VALUE, (AntiquantMode.PER_CHANNEL, AntiquantMode.PER_TOKEN))
    assert (cache.key_scale.shape, cache.key_scale.dtype) == ((KV_HEADS, DIM), np.dtype(np.float32))
    assert (cache.value_scale.shape, cache.value_scale.dtype) == ((BATCH, TOKENS), np.dtype(np.float32))


@pytest.mark.parametrize("profile", ["host", "ascend950"])
@pytest.mark.parametrize(
    ("mode", "dtype"),
    [
        *((0, dtype) for dtype in ("int8", "int4_x2", "hifloat8", "float8_e4m3fn")),
        *((1, dtype) for dtype in ("int8", "int4_x2", "float8_e4m3fn")),
        (2, "int8"),
        *((3, dtype) for dtype in ("int8", "int4_x2")),
        *(((0, 1), dtype) for dtype in ("int8", "int4_x2")),
        (6, "float4_e2m1fn_x2"),
    ],
)
def test_the_operator_takes_what_was_made(
    mode: int | tuple[int, int], dtype: str, profile: str, set_profile: Callable[[str], None]
) -> None:
    set_profile(profile)
    for query_dtype in (np.float16, BFLOAT16):
        cache = quantize_kv(KEY, VALUE, mode, dtype, query_dtype=query_dtype)
        got = attention(QUERY.astype(query_dtype), cache.key, cache.value, layout="BNSD", kv_quant=cache)
        np.testing.assert_allclose(got.astype(np.float64), plain(*dequantize_kv(cache)), rtol=2.0**-6, atol=0.01)


@pytest.mark.parametrize("profile", ["host", "ascend950"])
@pytest.mark.parametrize(("mode", "dtype"), [(4, "int8"), (4, "float8_e4m3fn"), (5, "int8")])
def test_the_operator_takes_what_was_made_of_pages(
    mode: int, dtype: str, profile: str, set_profile: Callable[[str], None]
) -> None:
    set_profile(profile)
    blocks = normal(3, KV_HEADS, 32, DIM, seed=3)
    table = np.array([[0, 2], [1, 0]], np.int32)
    cache = quantize_kv(blocks, blocks, mode, dtype, layout="BnNBsD")
    options = {"block_table": table, "block_size": 32, "kv_lengths": [TOKENS, 17]}
    got = attention(QUERY, cache.key, cache.value, layout="BNSD", num_kv_heads=KV_HEADS, kv_quant=cache, **options)
    dense = [np.stack([np.concatenate(array[row], axis=1) for row in table]) for array in dequantize_kv(cache)]
    want = plain(*dense, lengths=(TOKENS, 17))
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2.0**-6, atol=0.01)


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
@pytest.mark.parametrize("mode", [0, 2, 4, 5])
def test_paged(mode: int, storage: str) -> None:
    paging = Paging(storage, 32, spare_blocks=1, chunk=16)
    lengths = [TOKENS, 17]
    table, count = block_table(lengths, paging)
    clean = []
    for array in (KEY, VALUE):
        tokens = tuple(row[:, :length].transpose(1, 0, 2) for row, length in zip(array, lengths, strict=True))
        # Slots without a token are poisoned; quantised they have to be numbers.
        cache = fill_cache(tokens, table, count, paging)
        clean.append(np.where(np.isfinite(cache.astype(np.float32)), cache, np.zeros_like(cache)))
    made = quantize_kv(*clean, mode, layout=storage, num_heads=KV_HEADS)
    dense = []
    for array in dequantize_kv(made):
        blocks = from_nz(array) if storage == "NZ" else array
        if storage == "BnBsH":
            blocks = blocks.reshape(count, 32, KV_HEADS, DIM).transpose(0, 2, 1, 3)
        dense.append(np.stack([np.concatenate(blocks[row], axis=1) for row in table]))
    got = by_operator(made, actual_seq_lengths_kv=lengths, block_table=table, block_size=32)
    assert_same(got, plain(*dense, lengths=tuple(lengths)))


def test_refusals() -> None:
    with pytest.raises(InvalidArgumentError, match=r"mode: expected equal modes, or \(0, 1\), got \(1, 0\)"):
        quantize_kv(KEY, VALUE, (1, 0))
    with pytest.raises(InvalidArgumentError, match="per_tensor: expected False for modes"):
        quantize_kv(KEY, VALUE, (0, 1), per_tensor=True)
    with pytest.raises(InvalidArgumentError, match="mode: expected a mode, or one for key and one for value"):
        quantize_kv(KEY, VALUE, (0, 0, 0))  # type: ignore[arg-type]
