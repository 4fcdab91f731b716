# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The fully quantised references against loops that follow the schemes step by step, and against plain attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from acl_attn import reference
from acl_attn.reference.attend import attend
from acl_attn.reference.formats import as_float64, elements, round_to_e4m3, round_to_hifloat8, round_to_int8
from acl_attn.reference.full_quant import (
    gqa_fp8_scheme,
    group_key_scales,
    group_query_scales,
    group_value_scales,
    mla_scheme,
    mxfp8_scheme,
)
from acl_attn.reference.online import Scheme, online
from acl_attn.reference.per_tensor import attend_per_tensor, scale_word
from acl_attn.reference.storage import Contiguous, Paged
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

ROUNDINGS = {"int8": (127.0, round_to_int8), "float8_e4m3fn": (448.0, round_to_e4m3)}
ROUNDINGS["hifloat8"] = (32768.0, round_to_hifloat8)

GENERATOR = np.random.default_rng(5)
LOGITS = GENERATOR.standard_normal((4, 700)) * 3
LOGITS[1, 300:] = -np.inf
LOGITS[2, :520] = -np.inf
LOGITS[3] = -np.inf
VALUE = GENERATOR.standard_normal((700, 8))


def rounded(number: float, rounding: Callable[[np.ndarray], np.ndarray]) -> float:
    return float(rounding(np.array([number]))[0])


def step_by_step_mla(logits: np.ndarray, value: np.ndarray, stored: str) -> tuple[list[float], float]:
    largest, rounding = ROUNDINGS[stored]
    m, total, out = -math.inf, 0.0, [0.0] * value.shape[1]
    for start in range(0, len(logits), 128):
        tile = range(start, min(start + 128, len(logits)))
        top = max(logits[j] for j in tile)
        if top == -math.inf:
            continue
        first, new = m == -math.inf, max(m, top)
        kept = 0.0 if first else math.exp(m - new)
        c = 1.0 if first else math.exp(top - new) + 2.0**-52
        total = total * kept + sum(math.exp(logits[j] - new) for j in tile)
        p = {j: rounded(math.exp(logits[j] - new) / c * largest, rounding) for j in tile}
        out = [o * kept + sum(p[j] * value[j, d] for j in tile) * c for d, o in enumerate(out)]
        m = new
    return [o / largest / total for o in out], m + math.log(total)


def step_by_step_fp8(
    logits: np.ndarray, value: np.ndarray, p_scale: float, *, is_mx: bool
) -> tuple[list[float], float]:
    m, total, out = -3.4028e38, 0.0, [0.0] * value.shape[1]
    for start in range(0, len(logits), 256):
        tile = range(start, min(start + 256, len(logits)))
        top = max(logits[j] for j in tile)
        if top == -math.inf:
            continue
        if is_mx:
            powers = np.ceil(np.float32(top) * np.float32(1.44269502))
            new, shift = max(m, float(powers * np.float32(0.693147182))), math.log(p_scale)
        else:
            new, shift = max(m, top - math.log(p_scale)), 0.0
        kept = math.exp(m - new) if m > -1e38 else 0.0
        weights = [math.exp(logits[j] - new + shift) for j in tile]
        assert max(weights) <= p_scale * (1 + 1e-6)
        total = total * kept + sum(weights)
        p = [rounded(weight, round_to_e4m3) for weight in weights]
        terms = [sum(w * value[j, d] for w, j in zip(p, tile, strict=True)) for d in range(value.shape[1])]
        out = [o * kept + term for o, term in zip(out, terms, strict=True)]
        m = new
    return [o / total for o in out], m + math.log(total)


@pytest.mark.parametrize("stored", ROUNDINGS)
def test_mla_weights(stored: str) -> None:
    out, lse = online(LOGITS, VALUE, mla_scheme(stored))
    for row in range(3):
        want, want_lse = step_by_step_mla(LOGITS[row], VALUE, stored)
        np.testing.assert_allclose(out[row], want, rtol=1e-10)
        np.testing.assert_allclose(lse[row], want_lse, rtol=1e-12)
    assert not out[3].any()
    assert lse[3] == math.inf


@pytest.mark.parametrize("p_scale", [1.0, 20.0, 448.0])
@pytest.mark.parametrize(("make", "is_mx"), [(gqa_fp8_scheme, False), (mxfp8_scheme, True)], ids=["gqa", "mx"])
def test_fp8_weights(make: Callable[[float], Scheme], is_mx: bool, p_scale: float) -> None:
    out, lse = online(LOGITS, VALUE, make(p_scale))
    for row in range(3):
        want, want_lse = step_by_step_fp8(LOGITS[row], VALUE, p_scale, is_mx=is_mx)
        np.testing.assert_allclose(out[row], want, rtol=1e-10)
        np.testing.assert_allclose(lse[row], want_lse, rtol=1e-12)
    assert not out[3].any()
    assert lse[3] == math.inf


def test_lse_conventions() -> None:
    true = np.log(np.exp(LOGITS[0]).sum())
    assert online(LOGITS[:1], VALUE, gqa_fp8_scheme(448.0))[1].item() == pytest.approx(true)
    assert online(LOGITS[:1], VALUE, mla_scheme("int8"))[1].item() == pytest.approx(true)
    assert online(LOGITS[:1], VALUE, mxfp8_scheme(448.0))[1].item() == pytest.approx(true + math.log(448))


def test_per_tensor_step_by_step() -> None:
    q, k, v = (GENERATOR.integers(-128, 128, (rows, 1, 16)).astype(float) for rows in (2, 1500, 1500))
    bias = GENERATOR.standard_normal((1, 2, 1500)).astype(np.float16).astype(float)
    visible = GENERATOR.random((2, 1500)) < 0.9
    deq1, quant1, deq2, scale = scale_word(np.array([3e-5], np.float32)), 127.0, 1e-4, 0.25
    out, lse = attend_per_tensor(
        q, k, v, scale=scale, visible=visible, bias=bias, scores_scale=deq1, weights_scale=quant1, out_scale=deq2
    )
    half = np.float16
    for row in range(2):
        top, total, mixed = -math.inf, 0.0, np.zeros(16)
        for start in (0, 1024):
            tile = [j for j in range(start, min(start + 1024, 1500)) if visible[row, j]]
            scores = {}
            for j in tile:
                score = half(np.float32(q[row, 0] @ k[j, 0]) * np.float32(deq1))
                scores[j] = float(half(half(score * half(scale)) + half(bias[0, row, j])))
            new = max(top, *scores.values())
            kept = math.exp(top - new) if top > -math.inf else 0.0
            total = total * kept + sum(math.exp(score - new) for score in scores.values())
            p = {j: min(127.0, float(np.rint(half(math.exp(scores[j] - new)) * half(quant1)))) for j in tile}
            own = sum(p[j] * v[j, 0] for j in tile) * deq2
            mixed = mixed * kept + (own.astype(half).astype(float) if start else own)
            top = new
        np.testing.assert_allclose(out[row, 0], mixed / float(half(total)), rtol=1e-9)
        np.testing.assert_allclose(lse[row, 0], top + math.log(total), rtol=1e-12)


def test_the_matrix_unit_sees_19_bits_of_a_scale() -> None:
    scale = np.array([1.2345678], np.float32)
    word = np.array([0xABCD_0000_0000_0000 | int(scale.view(np.uint32)[0])], np.uint64)
    assert scale_word(scale) == scale_word(word) == pytest.approx(1.2345678, rel=2**-10)
    assert np.array([scale_word(scale)], np.float32).view(np.uint32)[0] & 0x1FFF == 0
    assert scale_word(scale) != float(scale[0])


@pytest.mark.parametrize("storage", ["dense", "BnNBsD", "NZ"])
def test_group_scales_index_by_index(storage: str) -> None:
    call = Call("TND", (3, 2), (70, 97), 6, 2, dim=128, dim_v=128, storage=storage, block_size=64)
    given = arguments(Call(**{**vars(call), "scheme": "mxfp8", "q_format": "float8_e4m3fn", "dtype": "bfloat16"}))
    of_key, of_value = given["key_antiquant_scale"], given["value_antiquant_scale"]
    keys = [slice(0, 70), slice(70, 167)] if storage == "dense" else [slice(0, 70), slice(0, 97)]
    if storage == "dense":
        key = Contiguous(given["key"], "TND", 2, "key")
    else:
        key = Paged(given["key"], given["block_table"], 64, 2, "key")
    read_key, read_value = group_key_scales(of_key, key), group_value_scales(of_value, key, [70, 97])
    for sequence, length in enumerate((70, 97)):
        own_key, own_value = read_key(sequence, keys[sequence]), read_value(sequence, keys[sequence])
        assert own_key.shape == (length, 2, 4)
        assert own_value.shape == (length, 2, 128)
        for t in range(0, length, 7):
            for hk in range(2):
                for d in range(0, 128, 31):
                    g, first = d // 32, 2 * sequence
                    if storage == "dense":
                        want = of_key[keys[sequence].start + t, hk, g // 2, g % 2]
                        want_value = of_value[first + t // 64, hk, d, t // 32 % 2]
                    else:
                        block, r = given["block_table"][sequence, t // 64], t % 64
                        if storage == "BnNBsD":
                            want = of_key[block, hk, r, g // 2, g % 2]
                            want_value = of_value[block, hk, r // 64, d, r // 32 % 2]
                        else:
                            want = of_key[block, hk, r // 16, g // 2, r % 16, g % 2]
                            want_value = of_value[block, hk, d // 16, r // 64, d % 16, r // 32 % 2]
                    assert own_key[t, hk, g] == float(want)
                    assert own_value[t, hk, d] == float(want_value)


def test_group_scales_of_a_query_in_both_forms() -> None:
    scale = np.exp2(np.arange(5 * 6 * 2 * 2) % 7).reshape(5, 6, 2, 2).astype(ml_dtypes.float8_e8m0fnu)
    grouped = np.ascontiguousarray(scale.reshape(5, 2, 3, 2, 2).transpose(1, 0, 2, 3, 4))
    np.testing.assert_array_equal(as_float64(group_query_scales(scale)), as_float64(group_query_scales(grouped)))


FULL_QUANT = {
    "mla-int8": {"scheme": "mla", "q_format": "int8", "layout": "BSH", "storage": "NZ", "gives_lengths": False},
    "mla-fp8": {"scheme": "mla", "q_format": "float8_e4m3fn", "layout": "TND_NTD", "storage": "BnBsH"},
    "mla-hif8": {"scheme": "mla", "q_format": "hifloat8", "layout": "BNSD", "storage": "BnBsH", "gives_lengths": False},
    "gqa_fp8": {"scheme": "gqa_fp8", "layout": "NTD_TND", "storage": "BnNBsD", "p_scale": 448.0},
    "mxfp8": {"scheme": "mxfp8", "layout": "TND", "p_scale": 256.0},
    "mxfp8-nz": {"scheme": "mxfp8", "layout": "TND", "storage": "NZ", "p_scale": 448.0},
}


@pytest.mark.parametrize("scheme", FULL_QUANT)
def test_rounding_of_weights_is_all_that_differs_from_plain_attention(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_mla = scheme.startswith("mla")
    sizes = {"dim": 512, "dim_v": 512, "rope": 64, "heads": 4, "kv_heads": 1} if is_mla else {"dim": 128, "dim_v": 128}
    if not is_mla:
        sizes |= {"heads": 4, "kv_heads": 2}
    defaults = {"q_format": "float8_e4m3fn", "dtype": "bfloat16", "block_size": 128, "sparse_mode": 3}
    given = arguments(Call(**{**defaults, **sizes, **FULL_QUANT[scheme], "q_lengths": (3, 3), "kv_lengths": (300, 40)}))
    out, lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)

    def exact(logits: np.ndarray, value: np.ndarray, rounding: Scheme) -> tuple[np.ndarray, np.ndarray]:
        found = attend(
            np.ones((len(logits), 1, 1)),
            np.zeros((logits.shape[1], 1, 1)),
            value[:, None],
            scale=1.0,
            visible=~np.isneginf(logits),
            bias=np.where(np.isneginf(logits), 0.0, logits)[None],
        )
        return found[0][:, 0], found[1][:, 0] + rounding.shift

    monkeypatch.setattr("acl_attn.reference.full_quant.online", exact)
    want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
    np.testing.assert_allclose(lse, want_lse, rtol=1e-10)
    error = np.sqrt(np.mean((out - want) ** 2) / np.mean(want**2))
    assert 0 < error < (0.1 if "hif8" in scheme else 0.03)


@pytest.mark.parametrize("name", ["int4", "int4x8", "hifloat8", "float4_e2m1fn"])
def test_carriers_are_taken_apart(name: str) -> None:
    modes = (6, 6) if "float4" in name else (0, 0)
    given = arguments(Call("BSND", (1,), (5,), 2, 2, dim=64, dim_v=64, kv_format=name, modes=modes))
    assert elements(given["key"]).shape == (1, 5, 2, 64)
    assert np.isfinite(as_float64(elements(given["key"]))).all()
