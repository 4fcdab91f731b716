# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised keys and values: every mode with every format it goes with."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, compare, run

DECODE = Call("BNSD", (1, 1, 1), (40, 300, 9), 6, 2, 64, 64)
PREFILL = replace(DECODE, q_lengths=(9, 2, 16), dtype="bfloat16")

# mode of key, of value, formats
MODES = [
    ((0, 0), ("int8", "int4", "int4x8", "hifloat8", "float8_e4m3fn")),
    ((1, 1), ("int8", "int4", "int4x8", "float8_e4m3fn")),
    ((2, 2), ("int8",)),
    ((3, 3), ("int8", "int4", "int4x8")),
    ((0, 1), ("int8", "int4", "int4x8")),
    ((6, 6), ("float4_e2m1fn",)),
]
PAIRS = [(modes, kv_format) for modes, formats in MODES for kv_format in formats]
PAGED = [*PAIRS, ((4, 4), "int8"), ((4, 4), "float8_e4m3fn"), ((5, 5), "int8")]
WITH_OFFSETS = [(modes, kv_format) for modes, kv_format in PAIRS if kv_format.startswith("int")]


def _ids(pair: tuple[tuple[int, int], str]) -> str:
    return f"{pair[1]}-{pair[0][0]}{pair[0][1]}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("pair", PAIRS, ids=_ids)
def test_decode(pair: tuple[tuple[int, int], str], dtype: str) -> None:
    if pair == ((0, 1), "int8") and dtype == "bfloat16":
        pytest.skip("this pair goes with float16 only")
    check(replace(DECODE, modes=pair[0], kv_format=pair[1], dtype=dtype))


@pytest.mark.parametrize("pair", WITH_OFFSETS, ids=_ids)
def test_offsets(pair: tuple[tuple[int, int], str]) -> None:
    check(replace(DECODE, modes=pair[0], kv_format=pair[1], offsets=True))


@pytest.mark.parametrize("offsets", [False, True])
def test_one_scale_for_the_tensor(offsets: bool) -> None:
    check(replace(DECODE, kv_format="int8", per_tensor=True, offsets=offsets))


@pytest.mark.parametrize("storage", ["BnBsH", "BnNBsD", "NZ"])
@pytest.mark.parametrize("pair", PAGED, ids=_ids)
def test_pages(pair: tuple[tuple[int, int], str], storage: str) -> None:
    layout = "BNSD" if storage == "BnNBsD" else "BSND"
    check(replace(DECODE, layout=layout, modes=pair[0], kv_format=pair[1], storage=storage, block_size=64))


@pytest.mark.parametrize("seed", range(7))
def test_every_shape_of_a_channel_scale(seed: int) -> None:
    shapes = {arguments(replace(DECODE, kv_format="int8", seed=s))["key_antiquant_scale"].shape for s in range(40)}
    assert len(shapes) == 7
    check(replace(DECODE, kv_format="int8", seed=seed))


@pytest.mark.parametrize(
    "pair", [(m, f) for m, f in PAGED if m in ((0, 0), (1, 1), (4, 4), (6, 6)) and not f.startswith("int4")], ids=_ids
)
def test_prefill(pair: tuple[tuple[int, int], str]) -> None:
    call = replace(PREFILL, modes=pair[0], kv_format=pair[1], sparse_mode=3)
    if pair[0] == (4, 4):
        call = replace(call, storage="BnBsH", block_size=64)
    if not (pair[0] == (4, 4) and pair[1] == "int8"):
        check(call)
    if pair[1] != "int8":
        check(replace(call, layout="TND", q_lengths=(130, 1, 40)))


@pytest.mark.parametrize("feature", [{"mask": 0.4}, {"bias": "tensor", "bias_per_row": False}, {"kv_padding": 3}])
def test_other_features(feature: dict[str, object]) -> None:
    check(replace(DECODE, kv_format="int8", modes=(1, 1), kv_room=2, **feature))


@pytest.mark.parametrize("kv_format", ["int8", "hifloat8", "float8_e4m3fn"])
def test_quantised_output(kv_format: str) -> None:
    check(replace(DECODE, kv_format=kv_format, out_format=kv_format, out_per_channel=True))


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("offsets", [False, True])
def test_older_versions_take_the_scales_of_key_and_value_in_one_tensor(mode: int, offsets: bool) -> None:
    call = replace(DECODE, kv_format="int8", modes=(mode, mode), offsets=offsets, seed=7)
    given = arguments(call)
    want = run(given)
    del given["key_antiquant_mode"], given["value_antiquant_mode"]
    shape = (2, 2, 64) if mode == 0 else (2, 3, given["key_antiquant_scale"].shape[-1])
    for kind in ("scale", "offset") if offsets else ("scale",):
        sides = [given.pop(f"{side}_antiquant_{kind}") for side in ("key", "value")]
        dtype = given["query"].dtype if mode == 0 else np.float32
        given[f"antiquant_{kind}"] = np.stack(sides).reshape(shape).astype(dtype)
    given.update(antiquant_mode=mode, version=4)
    got = run(given)
    compare(call, given, *got)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_offset_comes_before_the_scale() -> None:
    given = arguments(replace(DECODE, q_lengths=(1,), kv_lengths=(1,), kv_format="int8", per_tensor=True, offsets=True))
    given["value"][...] = 5
    given["value_antiquant_offset"][...] = 3
    given["value_antiquant_scale"][...] = 0.5
    assert (run(given)[0] == 4.0).all()


def test_mixed_modes_take_key_scales_in_both_types() -> None:
    call = replace(DECODE, kv_format="int4", modes=(0, 1))
    given = arguments(call)
    for dtype in (np.float16, np.float32):
        given["key_antiquant_scale"] = given["key_antiquant_scale"].astype(dtype)
        compare(call, given, *run(given))


@pytest.mark.parametrize("exponent", [-20, 0, 9])
def test_group_scales_are_powers_of_two(exponent: int) -> None:
    given = arguments(replace(DECODE, q_lengths=(1,), kv_lengths=(1,), kv_format="float4_e2m1fn", modes=(6, 6)))
    plain = run(given)[0].astype(np.float64)
    scale = given["value_antiquant_scale"]
    given["value_antiquant_scale"] = (scale.astype(np.float64) * 2.0**exponent).astype(ml_dtypes.float8_e8m0fnu)
    np.testing.assert_array_equal(run(given)[0].astype(np.float64), (plain * 2.0**exponent).astype(np.float16))
