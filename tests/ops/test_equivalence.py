# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A call said in other words gives the same result: by the reference to its last bits, by the operator to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import reference
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_close, tolerance_of
from acl_attn.testing.equivalents import left_shifts, moved_to_the_front, prefix_in_place, rope_joined
from acl_attn.testing.layouts import out_axes, to_sequences

Arguments = dict[str, Any]
Run = Callable[[Arguments], tuple[np.ndarray, np.ndarray]]

RAGGED = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 70, 9), "heads": 6, "kv_heads": 2, "q_room": 2, "kv_room": 3}
BATCHED = ("BSH", "BSND", "BNSD", "BNSD_BSND")


def _reference(given: Arguments) -> tuple[np.ndarray, np.ndarray]:
    return reference.fused_infer_attention_score(**given, softmax_lse_flag=True)


def _operator(given: Arguments) -> tuple[np.ndarray, np.ndarray]:
    return acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)


@pytest.fixture(params=[_reference, _operator], ids=["reference", "operator"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param


def assert_equivalent(left: np.ndarray, right: np.ndarray, name: str) -> None:
    if left.dtype == np.float64:
        np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-12, err_msg=name)
    else:
        assert_close(left, right.astype(np.float64), name=name, tolerance=tolerance_of(left.dtype).times(2))


def assert_same(run: Run, one: Arguments, other: Arguments) -> None:
    for name, left, right in zip(("attention_out", "softmax_lse"), run(one), run(other), strict=True):
        assert_equivalent(left, right, name)


@pytest.mark.parametrize("layout", BATCHED)
@pytest.mark.parametrize(
    "feature",
    [{}, {"sparse_mode": 3}, {"sparse_mode": 4, "pre_tokens": 30, "next_tokens": 4}, {"mask": 0.4}, {"bias": "tensor"}],
    ids=["plain", "causal", "band", "mask", "bias"],
)
def test_a_prefix_is_keys_in_front_of_every_sequence(run: Run, layout: str, feature: Arguments) -> None:
    given = arguments(Call(layout, **RAGGED, prefix=21, prefix_room=4, **feature))
    assert_same(run, given, prefix_in_place(given))


@pytest.mark.parametrize("mode", [0, 1])
def test_a_quantised_prefix_is_keys_in_front_of_every_sequence(run: Run, mode: int) -> None:
    call = Call("BSND", **{**RAGGED, "q_lengths": (1, 1, 1), "q_room": 0}, dim=64, dim_v=64, prefix=21)
    given = arguments(replace(call, kv_format="int8", modes=(mode, mode), offsets=True))
    assert_same(run, given, prefix_in_place(given))


@pytest.mark.parametrize("layout", BATCHED)
@pytest.mark.parametrize("paddings", [(3, None), (None, 2), (0, 0), (3, 2)])
@pytest.mark.parametrize(
    "feature",
    [{}, {"sparse_mode": 3}, {"sparse_mode": 2}, {"mask": 0.4, "pre_tokens": 3}, {"bias": "tensor"}],
    ids=["plain", "causal", "top_left", "mask", "bias"],
)
def test_left_padding_is_sequences_elsewhere(
    run: Run, layout: str, paddings: tuple[int | None, int | None], feature: Arguments
) -> None:
    call = Call(layout, **RAGGED, q_padding=paddings[0], kv_padding=paddings[1], **feature)
    given = arguments(call)
    out, lse = run(given)
    plain_out, plain_lse = run(moved_to_the_front(given))
    rooms = [call.q_axis] * call.batch
    shifts = left_shifts(given)[0]
    for name, left, right, axes in (("out", out, plain_out, out_axes(layout)), ("lse", lse, plain_lse, "BNSD")):
        pairs = zip(*(to_sequences(part, axes, rooms, call.heads) for part in (left, right)), strict=True)
        for (one, other), shift, length in zip(pairs, shifts, call.q_lengths, strict=True):
            assert_equivalent(one[shift : shift + length], other[:length], name)
            outside = np.delete(one, range(shift, shift + length), axis=0).astype(np.float64)
            assert (outside == (0 if name == "out" else np.inf)).all()


@pytest.mark.parametrize("layout", ["TND", "BSH", "BNSD", "NTD_TND"])
@pytest.mark.parametrize("sparse_mode", [0, 3])
def test_rope_parts_are_more_channels(run: Run, layout: str, sparse_mode: int) -> None:
    given = arguments(Call(layout, **RAGGED, dim=128, dim_v=128, rope=64, sparse_mode=sparse_mode))
    assert_same(run, given, rope_joined(given))


@pytest.mark.parametrize("storage", ["dense", "BnBsH", "NZ"])
def test_in_decode_mla_the_value_is_the_key(run: Run, storage: str) -> None:
    call = Call("TND", (2, 1), (40, 70), 4, 1, dim=512, dim_v=512, rope=64, storage=storage, sparse_mode=3)
    given = arguments(call)
    assert_same(run, given, {**given, "value": given["key"]})


@pytest.mark.parametrize("modes", [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1)])
def test_a_quantised_cache_stands_for_plain_numbers(run: Run, modes: tuple[int, int]) -> None:
    call = Call("BSND", (1, 1), (40, 70), 4, 2, dim=64, dim_v=64, kv_format="int8", modes=modes, offsets=True)
    given = arguments(call)
    plain = {name: part for name, part in given.items() if "antiquant" not in name}
    for name, mode in zip(("key", "value"), modes, strict=True):
        # Powers of two and small integers, so that float16 holds the products.
        scale = np.exp2(np.rint(np.log2(given[f"{name}_antiquant_scale"].astype(np.float64))))
        offset = np.rint(given[f"{name}_antiquant_offset"].astype(np.float64))
        given[f"{name}_antiquant_scale"] = scale.astype(given[f"{name}_antiquant_scale"].dtype)
        given[f"{name}_antiquant_offset"] = offset.astype(given[f"{name}_antiquant_offset"].dtype)
        shape = {0: (1, 1, 2, 64), 1: (2, 70, 1, 1), 2: (1, 1, 2, 1), 3: (2, 2, 70)}[mode]
        scale, offset = scale.reshape(shape), offset.reshape(shape)
        if mode == 3:
            scale, offset = (part.transpose(0, 2, 1)[..., None] for part in (scale, offset))
        plain[name] = ((given[name] + offset) * scale).astype(np.float16)
    assert_same(run, given, plain)


def test_lse_makes_the_weights_and_the_sink_sum_to_one(run: Run) -> None:
    call = Call("BSND", (7,), (50,), 4, 2, dim=64, dim_v=64, sink=True)
    given = arguments(call)
    _, lse = run(given)
    q, k = given["query"][0].astype(float), np.repeat(given["key"][0].astype(float), 2, axis=1)
    logits = np.einsum("ihd,jhd->hij", q, k) * given["scale_value"]
    own = lse[0].astype(float)
    total = np.exp(logits - own).sum(axis=2) + np.exp(given["learnable_sink"].astype(float)[:, None] - own[..., 0])
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_of_the_keys_join_to_the_whole(run: Run, parts: int) -> None:
    call = Call("BSND", (7, 7), (51, 51), 6, 2, dim=64, dim_v=64)
    given = arguments(call)
    out, lse = run(given)
    pieces = []
    for columns in np.array_split(np.arange(51), parts):
        cut = {name: np.ascontiguousarray(given[name][:, columns]) for name in ("key", "value")}
        pieces.append(run({**given, **cut, "actual_seq_lengths_kv": [len(columns)] * 2}))
    joined_lse = np.logaddexp.reduce([part_lse.astype(float) for _, part_lse in pieces])
    weights = [np.exp(part_lse.astype(float) - joined_lse).transpose(0, 2, 1, 3) for _, part_lse in pieces]
    joined = sum(weight * part.astype(float) for weight, (part, _) in zip(weights, pieces, strict=True))
    np.testing.assert_allclose(joined_lse, lse, rtol=3e-6)
    np.testing.assert_allclose(joined, out.astype(float), atol=1e-10 if out.dtype == np.float64 else 2e-3)


@pytest.mark.parametrize("pse_type", ["slope", "slope_sqrt"])
@pytest.mark.parametrize("starts", [(0, 0), (3, -4)])
def test_slopes_are_a_bias_written_out(run: Run, pse_type: str, starts: tuple[int, int]) -> None:
    given = arguments(Call("BNSD", (9, 9), (9, 9), 4, 2, bias=pse_type, starts=starts))
    # Slopes of powers of two times distances up to 15 are exact in float16; roots of squares only.
    slopes = np.exp2(-np.arange(1, 5)).astype(np.float32)
    distance = np.abs(np.arange(9)[None, :] + starts[1] - np.arange(9)[:, None] - starts[0])
    length = np.sqrt(distance) if pse_type == "slope_sqrt" else distance
    bias = (-slopes[:, None, None] * length).astype(np.float16)[None]
    plain = {**given, "pse_shift": bias, "pse_type": 0}
    plain.pop("q_start_idx", None)
    plain.pop("kv_start_idx", None)
    one, other = run({**given, "pse_shift": slopes}), run(plain)
    tolerance = {"rtol": 0, "atol": 2e-3}
    np.testing.assert_allclose(one[0].astype(float), other[0].astype(float), **tolerance)
    np.testing.assert_allclose(one[1], other[1], **tolerance)


def test_a_tree_mask_is_a_full_mask_of_the_last_keys() -> None:
    given = arguments(Call("BSND", (4, 4), (10, 7), 2, 1))
    tree = np.random.default_rng(0).random((2, 4, 4)) < 0.4
    full = np.zeros((2, 1, 4, 10), np.bool_)
    for own, matrix, length in zip(full, tree, (10, 7), strict=True):
        own[0, :, length - 4 : length] = matrix
    assert_same(_reference, {**given, "atten_mask": tree, "sparse_mode": 9}, {**given, "atten_mask": full})


def test_bfloat16_caches_stand_for_plain_numbers_as_the_device_rounds_them() -> None:
    given = arguments(Call("BSND", (1,), (40,), 2, 2, dim=64, dim_v=64, kv_format="int8", dtype="bfloat16"))
    plain = {name: part for name, part in given.items() if "antiquant" not in name}
    for name in ("key", "value"):
        scale = given[f"{name}_antiquant_scale"].astype(np.float32).reshape(2, 64)
        plain[name] = (given[name] * scale).astype(ml_dtypes.bfloat16)
    assert_same(lambda a: reference.fused_infer_attention_score(**a, softmax_lse_flag=True, profile="D"), given, plain)
