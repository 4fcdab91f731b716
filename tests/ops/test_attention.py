# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""`acl_attn.attention`: what it derives by itself, and the mistakes it is there to prevent."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import reference
from acl_attn.testing.compare import assert_close, assert_same_bits
from acl_attn.testing.pages import Paging, block_table, fill_cache

from .refusals import refuses

Array = np.ndarray[Any, Any]


def normal(*shape: int, dtype: Any = np.float16, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def check(*operands: Array, **options: Any) -> Array:
    out, lse = acl_attn.attention(*operands, **options, return_lse=True)
    want, want_lse = reference.attention(*operands, **options, return_lse=True)
    assert_close(out, want, name="out")
    assert_close(np.asarray(lse), want_lse, name="lse")
    assert_same_bits(acl_attn.attention(*operands, **options), out)
    return out


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("mask", [None, "causal", "causal_top_left"])
def test_rank_4_is_bsnd(mask: str | None, dtype: type) -> None:
    check(
        normal(2, 5, 6, 32, dtype=dtype), normal(2, 9, 2, 32, dtype=dtype), normal(2, 9, 2, 16, dtype=dtype), mask=mask
    )


def test_rank_3_is_tnd() -> None:
    q, k, v = normal(12, 6, 32), normal(20, 2, 32), normal(20, 2, 32)
    check(q, k, v, q_lengths=[12], kv_lengths=[20])
    check(q, k, v, q_lengths=6, kv_lengths=10, mask="causal")
    check(q, k, v, q_lengths=[5, 7], kv_lengths=[8, 12], mask="causal")
    lengths = acl_attn.Lengths
    for q_form, kv_form in (
        (lengths.from_lengths([5, 7]), lengths.from_cu_seqlens([0, 8, 20])),
        (np.array([5, 7]), (8, 12)),
    ):
        got = check(q, k, v, q_lengths=q_form, kv_lengths=kv_form, mask="causal")
        assert_same_bits(got, acl_attn.attention(q, k, v, q_lengths=[5, 7], kv_lengths=[8, 12], mask="causal"))


@pytest.mark.parametrize("layout", ["BSH", "BNSD", "BNSD_BSND", "BSH_NBSD"])
def test_other_layouts(layout: str) -> None:
    q, k = normal(2, 5, 6, 32), normal(2, 9, 2, 32)
    if layout.startswith("BSH"):
        check(
            q.reshape(2, 5, 192), k.reshape(2, 9, 64), k.reshape(2, 9, 64), layout=layout, num_heads=6, num_kv_heads=2
        )
    else:
        q, k = (np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, k))
        check(q, k, k, layout=layout)


def test_padded_batch() -> None:
    q, k = normal(3, 5, 4, 32), normal(3, 9, 2, 32)
    out = check(q, k, k, q_lengths=[5, 2, 0], kv_lengths=[9, 9, 1], mask="causal")
    assert not out[1, 2:].any()
    assert not out[2].any()
    check(q, k, k, kv_lengths=7)


@pytest.mark.parametrize("cache", ["BnBsH", "BnNBsD", "NZ"])
def test_paged(cache: str) -> None:
    paging = Paging(cache, 16)
    tokens = (normal(40, 2, 32), normal(7, 2, 32, seed=1))
    table, count = block_table([40, 7], paging)
    caches = fill_cache(tokens, table, count, paging)
    options = {"block_table": table, "kv_lengths": [40, 7], "num_kv_heads": 2, "mask": "causal"}
    check(normal(2, 1, 6, 32), caches, caches, **options)
    check(normal(9, 6, 32), caches, caches, q_lengths=[6, 3], **options)


def test_tensor_list() -> None:
    keys = [normal(1, n, 2, 32) for n in (4, 9)]
    check(normal(2, 3, 4, 32), keys, keys, mask="causal")


def test_scale_defaults_to_the_head_dim() -> None:
    """And never to 1.0, the C interface's own."""
    q, k = normal(1, 4, 2, 128), normal(1, 9, 2, 128)
    assert_same_bits(acl_attn.attention(q, k, k), acl_attn.attention(q, k, k, scale=1 / math.sqrt(128)))
    assert (acl_attn.attention(q, k, k) != acl_attn.attention(q, k, k, scale=1.0)).any()
    check(q, k, k, scale=0.3)


@pytest.mark.parametrize(("before", "keys"), [(127, 128), (128, 129), (0, 1), (-1, 1000), (5000, 1000)])
def test_a_window_counts_the_row_itself(before: int, keys: int) -> None:
    """Uniform scores: the logarithm of the number of keys is the LSE."""
    q, k, v = np.zeros((1, 1, 8, 128), np.float16), normal(1, 1000, 8, 128), normal(1, 1000, 8, 128)
    lse = np.asarray(acl_attn.attention(q, k, v, window=(before, 0), return_lse=True)[1])
    np.testing.assert_allclose(lse, math.log(keys), rtol=1e-6)
    check(q, k, v, window=(before, 0))


@pytest.mark.parametrize("window", [(3, 0), (0, 0), (2, 5), (-1, 2), (4, -1), (-1, -1)])
def test_windows(window: tuple[int, int]) -> None:
    check(normal(2, 20, 2, 32), normal(2, 33, 2, 32), normal(2, 33, 2, 32), window=window)
    check(normal(2, 33, 2, 32), normal(2, 20, 2, 32), normal(2, 20, 2, 32), window=window)
    q, k = normal(2, 20, 2, 32), normal(2, 33, 2, 32)
    before = acl_attn.attention(q, k, k, window=(window[0], 0))
    assert_same_bits(check(q, k, k, window=window, mask="causal"), before)


def test_causal_is_aligned_to_the_last_key() -> None:
    q, k, v = normal(1, 1, 2, 32), normal(1, 4, 2, 32), normal(1, 4, 2, 32)
    assert_same_bits(acl_attn.attention(q, k, v, mask="causal"), acl_attn.attention(q, k, v))
    only_first = acl_attn.attention(q, k, v, mask="causal_top_left")
    assert_close(only_first, v[:, :1].astype(float))


def test_mask_objects() -> None:
    q, k = normal(2, 6, 2, 32), normal(2, 9, 2, 32)
    mask = acl_attn.Mask
    assert_same_bits(check(q, k, k, mask=mask.causal()), acl_attn.attention(q, k, k, mask="causal"))
    top_left = acl_attn.attention(q, k, k, mask="causal_top_left")
    assert_same_bits(check(q, k, k, mask=mask.causal(align="top_left")), top_left)
    assert_same_bits(check(q, k, k, mask=mask.window(3, 1)), acl_attn.attention(q, k, k, window=(3, 1)))
    hidden = np.random.default_rng(1).random((2, 6, 9)) < 0.4
    masked = check(q, k, k, mask=mask.dense(hidden, true_means="masked"))
    assert_same_bits(check(q, k, k, mask=mask.dense(~hidden, true_means="keep")), masked)
    for chosen in (mask.causal(), mask.window(2, 1)):
        dense = mask.dense(chosen.materialize(6, 9), true_means="masked")
        assert_close(acl_attn.attention(q, k, k, mask=dense), reference.attention(q, k, k, mask=chosen))


def test_polarity_of_a_mask() -> None:
    """Causal with 100 valid of 128 keys: row 127 sees 100 keys; with the polarity turned it would see 28."""
    keep = np.tril(np.ones((128, 128), bool)) & (np.arange(128) < 100)
    q, k, v = np.zeros((1, 128, 8, 64), np.float16), normal(1, 128, 8, 64), normal(1, 128, 8, 64)
    mask = acl_attn.Mask.dense(keep, true_means="keep")
    out, lse = acl_attn.attention(q, k, v, mask=mask, return_lse=True)
    np.testing.assert_allclose(np.asarray(lse)[0, :, 127, 0], math.log(100), rtol=1e-6)
    assert_close(out[0, 127], v[0, :100].astype(float).mean(axis=0))
    assert mask.visible_keys(127, 128, 128).tolist() == list(range(100))
    with refuses("mask", fix="pse_shift", kind=TypeError):
        acl_attn.attention(q, k, v, mask=acl_attn.Mask.dense(np.where(keep, 0.0, -1e9), true_means="masked"))
    with pytest.raises((TypeError, ValueError), match="mask: expected"):
        acl_attn.attention(q, k, v, mask=keep)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_row_that_sees_nothing_is_zero(dtype: type) -> None:
    """Neither NaN nor the mean of the values."""
    q, k, v = (normal(1, 4, 2, 32, dtype=dtype) for _ in range(3))
    v = v + dtype(5)
    hidden = np.zeros((4, 4), bool)
    hidden[2] = True
    mask = acl_attn.Mask.dense(hidden, true_means="masked")
    out, lse = acl_attn.attention(q, k, v, mask=mask, return_lse=True)
    assert not out[0, 2].any()
    assert np.isposinf(np.asarray(lse)[0, :, 2]).all()
    assert (out[0, [0, 1, 3]] != 0).all()
    check(q, k, v, mask=mask)


def test_out_buffers_are_used() -> None:
    q, k = normal(1, 5, 2, 32), normal(1, 9, 2, 32)
    want, want_lse = acl_attn.attention(q, k, k, return_lse=True)
    out, lse = np.empty_like(q), np.empty((1, 2, 5, 1), np.float32)
    got, got_lse = acl_attn.attention(q, k, k, out=out, lse_out=lse, return_lse=True)
    assert got is out
    assert np.shares_memory(np.asarray(got_lse), lse) or got_lse is lse
    assert_same_bits(out, want)
    assert_same_bits(lse, np.asarray(want_lse))


def test_states_merge_into_the_whole() -> None:
    """Keys in two parts, joined by their LSE, which is natural: a base-2 LSE would miss by far."""
    q, k, v = normal(1, 3, 4, 128), normal(1, 4160, 4, 128), normal(1, 4160, 4, 128)
    parts = [acl_attn.attention(q, k[:, s], v[:, s], return_lse=True) for s in (slice(0, 4096), slice(4096, None))]
    out, lse = acl_attn.merge_states(*parts[0], *parts[1])
    want, want_lse = reference.attention(q, k, v, return_lse=True)
    # Three roundings to float16 instead of one.
    assert_close(out, want, tolerance=acl_attn.testing.compare.TOLERANCES["float16"].times(3))
    assert_close(np.asarray(lse), want_lse)


def test_padded_head_dims_need_the_scale_of_the_unpadded() -> None:
    q, k, v = normal(1, 5, 2, 84), normal(1, 9, 2, 84), normal(1, 9, 2, 84)
    wide = [np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 44))) for x in (q, k, v)]
    padded = acl_attn.attention(*wide, scale=1 / math.sqrt(84))
    assert_close(padded[..., :84], reference.attention(q, k, v))
    assert not padded[..., 84:].any()


def test_block_tables_of_empty_sequences_may_be_all_minus_one() -> None:
    paging = Paging("BnNBsD", 16)
    tokens = (normal(0, 2, 32), normal(0, 2, 32))
    caches = fill_cache(tokens, *block_table([0, 0], paging), paging)
    table = np.full((2, 3), -1, np.int32)
    out, lse = acl_attn.attention(
        normal(2, 1, 4, 32), caches, caches, block_table=table, kv_lengths=[0, 0], return_lse=True
    )
    assert not out.any()
    assert np.isposinf(np.asarray(lse)).all()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"mask": "Causal"}, "mask"),
        ({"mask": "causal_top_left", "window": (1, 0)}, "mask|window"),
        ({"window": (1, 2, 3)}, "window"),
        ({"window": 5}, "window"),
        ({"window": (-2, 0)}, "window"),
        ({"window": (1.0, 0)}, "window"),
        ({"layout": "BHSD"}, "layout"),
        ({"layout": "TND"}, "query"),
        ({"num_heads": 3}, "num_heads|num_kv_heads|query"),
        ({"num_kv_heads": 3}, "num_kv_heads|key"),
        ({"scale": "1"}, "scale"),
        ({"q_lengths": [4, 4, 4]}, "q_lengths"),
        ({"q_lengths": [4]}, "q_lengths"),
        ({"q_lengths": [4, 7]}, "q_lengths"),
        ({"kv_lengths": [4, -1]}, "kv_lengths"),
        ({"kv_lengths": [0, 9, 18]}, "kv_lengths"),
        ({"kv_lengths": 10}, "kv_lengths"),
        ({"block_table": np.zeros((2, 1), np.int32)}, "key|kv_lengths|block_table|block_size"),
        ({"block_size": 16}, "block_size"),
        ({"out": np.zeros((2, 6, 2, 31), np.float16)}, "out"),
        ({"lse_out": np.zeros((2, 2, 5, 1), np.float32), "return_lse": True}, "lse_out"),
    ],
)
def test_wrong_arguments(change: dict[str, Any], parameter: str) -> None:
    q, k = normal(2, 6, 2, 32), normal(2, 9, 2, 32)
    acl_attn.attention(q, k, k)
    with refuses(parameter, kind=(TypeError, ValueError)):
        acl_attn.attention(q, k, k, **change)


def test_lengths_that_do_not_fill_a_packed_query() -> None:
    """Padded to 72 tokens but 65 given: the message says what to do."""
    q, k = normal(72, 8, 32), normal(65, 8, 32)
    with refuses("q_lengths", got="65", fix="72|65"):
        acl_attn.attention(q, k, k, q_lengths=[65], kv_lengths=[65])
    padded = acl_attn.attention(q, k, k, q_lengths=[65, 7], kv_lengths=[65, 0])
    assert not padded[65:].any()


def test_views_that_are_not_dense_are_refused_and_not_misread() -> None:
    packed = normal(10, 3 * 4 * 32)
    q, k, v = (part.reshape(10, 4, 32) for part in np.split(packed, 3, axis=1))
    with refuses("query|key|value", fix="contiguous|copy"):
        acl_attn.attention(q, k, v, q_lengths=[10], kv_lengths=[10])
    heads_first = normal(1, 4, 10, 32).transpose(0, 2, 1, 3)
    with refuses("query", fix="contiguous|copy"):
        acl_attn.attention(heads_first, k[None].copy(), v[None].copy())
    check(*(np.ascontiguousarray(x) for x in (q, k, v)), q_lengths=[10], kv_lengths=[10])
