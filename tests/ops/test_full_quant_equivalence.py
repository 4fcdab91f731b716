# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls with quantised queries said in other words give the same bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Lengths
from acl_attn.kvcache import group_query_scale, quantize_mxfp8, to_nz
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.equivalents import left_shifts, moved_to_the_front

from . import checks

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]

E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
LENGTHS = (70, 0, 300, 64)


def run(given: Arguments) -> tuple[Array, Array]:
    """Output and softmax_lse in memory of their own."""
    return checks.run({**given, "attention_out": np.empty_like(given["attention_out"])})


def assert_same(one: Arguments, other: Arguments, *, factor: float = 1.0) -> None:
    (out, lse), (other_out, other_lse) = run(one), run(other)
    assert_same_bits((out.astype(np.float32) * factor).astype(out.dtype), other_out, name="attention_out")
    assert_same_bits(lse, other_lse, name="softmax_lse")


def mxfp8() -> Arguments:
    call = Call("TND", (5, 1, 18), (40, 700, 9), 6, 2, 64, 64, "bfloat16", scheme="mxfp8", q_format="float8_e4m3fn")
    given = arguments(call)
    while given["dequant_scale_query"].ndim != 4:
        call = replace(call, seed=call.seed + 1)
        given = arguments(call)
    return given


def times(scale: Array, factor: float) -> Array:
    with np.errstate(invalid="ignore"):  # NaN where a scale belongs to nobody
        return (scale.astype(np.float64) * factor).astype(scale.dtype)


def test_a_scale_of_all_scores_may_stand_in_any_place() -> None:
    given = mxfp8()
    half = {**given, "scale_value": given["scale_value"] / 2}
    assert_same(given, {**half, "key_antiquant_scale": times(given["key_antiquant_scale"], 2)})
    assert_same(given, {**half, "dequant_scale_query": times(given["dequant_scale_query"], 2)})


def test_the_values_scale_is_the_outputs() -> None:
    given = mxfp8()
    assert_same(given, {**given, "value_antiquant_scale": times(given["value_antiquant_scale"], 4)}, factor=4)


def test_both_forms_of_query_scales() -> None:
    given = mxfp8()
    grouped = group_query_scale(given["dequant_scale_query"], 2)
    assert_same(given, {**given, "dequant_scale_query": grouped})


@pytest.mark.parametrize("nz", [False, True])
@pytest.mark.parametrize("size", [64, 128])
@pytest.mark.parametrize("dim", [64, 128])
def test_groups_of_packed_and_of_paged_keys(dim: int, size: int, nz: bool) -> None:
    random = np.random.default_rng(dim)
    q = random.standard_normal((7, 4, dim))
    k, v = random.standard_normal((2, sum(LENGTHS), 2, dim))
    packed = quantize_mxfp8(q, k, v, kv_lengths=Lengths(LENGTHS))
    columns = -(-max(LENGTHS) // size)
    table = random.permutation(len(LENGTHS) * columns).astype(np.int32).reshape(len(LENGTHS), columns)
    caches = np.zeros((2, table.size, 2, size, dim))
    start = 0
    for row, length in zip(table, LENGTHS, strict=True):
        for token in range(length):
            for cache, own in zip(caches, (k, v), strict=True):
                cache[row[token // size], :, token % size] = own[start + token]
        start += length
        row[-(-length // size) :] = -1
    paged = quantize_mxfp8(q, *caches, nz=nz)
    said: Arguments = {"q_lengths": [2, 1, 3, 1], "kv_lengths": LENGTHS, "mask": "causal", "return_lse": True}
    want = acl_attn.attention(packed.query, packed.key, packed.value, full_quant=packed, **said)
    got = acl_attn.attention(paged.query, paged.key, paged.value, full_quant=paged, block_table=table, **said)
    for one, other in zip(got, want, strict=True):
        assert_same_bits(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("paddings", [(3, None), (None, 2), (3, 2)])
@pytest.mark.parametrize("feature", [{"sparse_mode": 3}, {"mask": 0.4}, {"bias": "tensor"}])
def test_left_padding_is_sequences_elsewhere(paddings: tuple[int | None, int | None], feature: Arguments) -> None:
    call = Call("BNSD", (5, 2, 18), (40, 70, 9), 6, 2, 64, 64, scheme="per_tensor", q_format="int8")
    call = replace(call, q_room=2, kv_room=3, q_padding=paddings[0], kv_padding=paddings[1], **feature)
    given = arguments(call)
    (out, lse), (plain_out, plain_lse) = run(given), run(moved_to_the_front(given))
    for sequence, (shift, length) in enumerate(zip(left_shifts(given)[0], call.q_lengths, strict=True)):
        for one, other in ((out, plain_out), (lse, plain_lse)):
            assert_same_bits(
                np.ascontiguousarray(one[sequence, :, shift : shift + length]),
                np.ascontiguousarray(other[sequence, :, :length]),
            )


@pytest.mark.parametrize("name", ["key_antiquant_scale", "value_antiquant_scale"])
def test_scales_of_a_cache_may_lie_apart(name: str) -> None:
    given = arguments(
        replace(
            Call("TND", (5, 1), (40, 300), 6, 2, 64, 64, storage="NZ", block_size=128),
            scheme="mxfp8",
            q_format="float8_e4m3fn",
        )
    )
    scale = given[name]
    wide = np.full((scale.shape[0], 2 * scale.shape[1], *scale.shape[2:]), np.nan).astype(E8M0)
    wide[:, ::2] = scale
    assert_same(given, {**given, name: wide[:, ::2]})


def test_a_cache_in_the_nz_layout_is_the_same_cache() -> None:
    call = Call("TND", (3, 1), (130, 300), 8, 1, 512, 512, "bfloat16", rope=64, storage="BnNBsD", block_size=128)
    given = arguments(replace(call, scheme="mla", q_format="float8_e4m3fn"))
    chunked = {name: to_nz(given[name], 32) for name in ("key", "value")}
    assert_same(given, {**given, **chunked, "key_rope": to_nz(given["key_rope"], 16)})
