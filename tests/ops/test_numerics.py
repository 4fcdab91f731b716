# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Errors against float64 within their bounds, however many keys there are and whatever numbers they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import reference
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_close, tolerance_of
from acl_attn.testing.elements import ELEMENTS

from .numerics import FORMATS, KEYS, make_call, measure

Array = np.ndarray[Any, Any]
BOUND = {"float16": 3.0e-4, "bfloat16": 2.0e-3}
DTYPES = ("float16", "bfloat16")


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("kv_format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_error_does_not_grow_with_the_keys(dtype: str, kv_format: str, rows: int, keys: int) -> None:
    if rows > 1 and (kv_format == "int4" or (kv_format == "int8" and dtype == "float16")):
        pytest.skip("not a legal call")
    if rows > 1 and keys > 10000 and kv_format:
        pytest.skip("the reference takes too long")
    got = measure(make_call(keys, rows, dtype, kv_format))
    assert got.rms <= BOUND[dtype], got
    assert got.lse <= 2e-6, got


def _one_dominant_key(q: Array, k: Array, v: Array) -> None:
    k[:, 17] = 4 * q[:, :1, ::3]
    v[:, 17] *= 50


def _constant_rows(q: Array, k: Array, v: Array) -> None:
    q[...] = 1.5
    k[...] = 0.25
    v[...] = v[:, :1]


def _subnormals(q: Array, k: Array, v: Array) -> None:
    tiny = np.finfo(q.dtype).smallest_subnormal if q.dtype == np.float16 else 2.0**-130
    k[...] = (np.sign(k.astype(np.float32)) * 3 * float(tiny)).astype(k.dtype)
    v[...] = (np.sign(v.astype(np.float32)) * 5 * float(tiny)).astype(v.dtype)


def _subnormal_keys_that_matter(q: Array, k: Array, v: Array) -> None:
    del v
    tiny = 2.0**-20 if q.dtype == np.float16 else 2.0**-128
    large = 2.0**13 if q.dtype == np.float16 else 2.0**124
    k[...] = (k.astype(np.float32) * tiny).astype(k.dtype)
    q[...] = (q.astype(np.float32) * large).astype(q.dtype)


def _near_the_largest_value(q: Array, k: Array, v: Array) -> None:
    del q, k
    v[...] = (np.sign(v.astype(np.float32)) * (65000.0 if v.dtype == np.float16 else 3.3e38)).astype(v.dtype)
    v[...] = np.abs(v)


def _large_logits(q: Array, k: Array, v: Array) -> None:
    del v
    q[...] = (q.astype(np.float32) * 100).astype(q.dtype)
    k[...] = (k.astype(np.float32) * 100).astype(k.dtype)


def _all_logits_far_below_zero(q: Array, k: Array, v: Array) -> None:
    del v
    q[...] = 25.0
    k[...] = (-25.0 + k.astype(np.float32) / 16).astype(k.dtype)


def _all_logits_far_above_zero(q: Array, k: Array, v: Array) -> None:
    del v
    q[...] = 25.0
    k[...] = (25.0 + k.astype(np.float32) / 16).astype(k.dtype)


def _growing_maximum(q: Array, k: Array, v: Array) -> None:
    del v
    q[...] = 1.0
    k[...] = (np.arange(k.shape[1], dtype=np.float32) / 30).reshape(1, -1, 1, 1).astype(k.dtype)


HOSTILE: tuple[Callable[[Array, Array, Array], None], ...] = (
    _one_dominant_key,
    _constant_rows,
    _subnormals,
    _subnormal_keys_that_matter,
    _near_the_largest_value,
    _large_logits,
    _all_logits_far_below_zero,
    _all_logits_far_above_zero,
    _growing_maximum,
)


def usable_targets() -> list[str]:
    return [name for name, is_usable in acl_attn.get_cpu_targets().items() if is_usable]


@pytest.fixture
def any_target() -> Iterator[None]:
    """Let a test force instruction sets."""
    yield
    acl_attn.set_cpu_target(None)


# What may be done to numbers beside the key and the value.
FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "rope": {"rope": 64},
    "prefix": {"prefix": 33},
    "sink": {"sink": True},
    "bias": {"bias": "tensor"},
    "chunked": {"storage": "NZ", "block_size": 128},
}
# In a cache not those that say where a token is. Queries of 2**124 are for subnormal keys; those of a prefix are not.
UNFIT = {
    ("chunked", _one_dominant_key),
    ("chunked", _growing_maximum),
    ("chunked", _constant_rows),
    ("prefix", _subnormal_keys_that_matter),
}
HOSTILE_CALLS = [
    pytest.param(spoil, feature, id=f"{spoil.__name__.strip('_')}-{feature}")
    for spoil in HOSTILE
    for feature in FEATURES
    if (feature, spoil) not in UNFIT
]


@pytest.mark.usefixtures("any_target")
@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("spoil", "feature"), HOSTILE_CALLS)
def test_hostile_numbers(spoil: Callable[[Array, Array, Array], None], feature: str, dtype: str, rows: int) -> None:
    given = arguments(Call("BSND", (rows,), (700,), 6, 2, 128, 128, dtype, **FEATURES[feature]))
    spoil(given["query"], given["key"], given["value"])
    if spoil is _large_logits and feature == "plain":
        # 128 products of numbers of size 100: about +-1e4 and beyond, after the scale.
        logits = np.einsum("qd,kd->qk", *(given[name][0, :, 0].astype(np.float64) for name in ("query", "key")))
        assert np.abs(logits * given["scale_value"]).max() > 1e4
    want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
    limit = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}[dtype]
    # Sums of float32 around 1e4 have an absolute error of 1e-3, or a few of these where lanes are few; that is what a
    # weight may be off by.
    spread = np.abs(want_lse).max()
    tolerance = tolerance_of(ELEMENTS[dtype]).times(max(1.0, spread / 100))
    for target in usable_targets():
        acl_attn.set_cpu_target(target)
        out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
        assert np.isfinite(out.astype(np.float32)).all()
        assert_close(out, np.clip(want, -limit, limit), name=f"attention_out of {target}", tolerance=tolerance)
        assert_close(lse, want_lse, name=f"softmax_lse of {target}", tolerance=tolerance_of(np.dtype(np.float32)))


@pytest.mark.parametrize("kv_format", ["int8", "hifloat8", "float8_e4m3fn"])
def test_hostile_scales(kv_format: str) -> None:
    call = Call("BNSD", (1,), (300,), 4, 2, 64, 64, "bfloat16", kv_format=kv_format, per_tensor=kv_format == "int8")
    for key_scale, value_scale in ((1e-30, 1e30), (1e-3, 1e-38), (0.0, 1.0), (-1.0, -1.0), (300.0, 1.0)):
        given = arguments(call)
        for name, number in (("key", key_scale), ("value", value_scale)):
            scale = given[f"{name}_antiquant_scale"]
            scale[...] = number
        out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
        want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
        assert want_lse is not None
        spread = np.abs(want_lse).max()
        tolerance = tolerance_of(ELEMENTS["bfloat16"]).times(max(1.0, spread / 500))
        assert_close(out, want, name="attention_out", tolerance=tolerance)
        assert_close(lse, want_lse, name="softmax_lse", tolerance=tolerance_of(np.dtype(np.float32)).times(2))
