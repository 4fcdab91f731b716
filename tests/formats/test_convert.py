# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers to element types and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn.dtypes import (
    decode,
    decode_scale_words,
    encode,
    encode_e8m0,
    encode_scale_words,
    float4_e2m1fn_x2,
    int4_x2,
    largest,
    pack_float4,
    pack_int4,
    unpack_float4,
    unpack_int4,
)
from acl_attn.errors import ArgumentTypeError, InvalidArgumentError

TYPES = ("int8", "int4_x2", "hifloat8", "float8_e4m3fn", "float4_e2m1fn_x2")


def numbers_of(name: str) -> np.ndarray:
    """All finite numbers of a type, in order."""
    if name == "int4_x2":
        return np.arange(-8.0, 8)
    if name == "float4_e2m1fn_x2":
        half = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        return np.concatenate([-half[:0:-1], half])
    codes = np.arange(256, dtype=np.uint8)
    found = decode(codes.view({"int8": np.int8, "hifloat8": [("hifloat8", "V1")]}.get(name, ml_dtypes.float8_e4m3fn)))
    return np.unique(found[np.isfinite(found)]).astype(np.float64)


@pytest.mark.parametrize("name", TYPES)
def test_nearest_number(name: str) -> None:
    numbers = numbers_of(name)
    assert largest(name) == numbers[-1]
    generator = np.random.default_rng(1)
    inputs = generator.uniform(1, 2, 4000) * 2.0 ** generator.integers(-14, 17, 4000) * generator.choice([-1, 1], 4000)
    got = decode(encode(inputs, name)).astype(np.float64)
    assert np.isin(got, numbers).all()
    best = np.abs(np.clip(inputs, numbers[0], numbers[-1])[:, None] - numbers).min(axis=1)
    np.testing.assert_array_equal(np.abs(np.clip(inputs, numbers[0], numbers[-1]) - got), best)


@pytest.mark.parametrize("name", ["int8", "int4_x2", "float8_e4m3fn", "float4_e2m1fn_x2"])
def test_ties_go_to_even(name: str) -> None:
    numbers = numbers_of(name)
    middles = (numbers[1:] + numbers[:-1]) / 2
    for inputs in (middles.astype(np.float32), middles):
        got = decode(encode(np.append(inputs, inputs[:1])[: inputs.size // 2 * 2], name)).astype(np.float64)
        steps = np.searchsorted(numbers, got)
        # The numbers of all four are spaced so that the position counted from 0 is as even as the code.
        assert ((steps - np.searchsorted(numbers, 0.0)) % 2 == 0).all()


def test_float64_is_rounded_once() -> None:
    tie = 1.0 + 1.0 / 16
    assert decode(encode([tie, tie + 1e-12, tie - 1e-12], "float8_e4m3fn")).tolist() == [1.0, 1.125, 1.0]
    # Through fp32 this would become the tie, and then the even number below.
    assert decode(encode([0.0625 * 1.0625 + 1e-17, 0.0], "float8_e4m3fn")).tolist() == [0.0625 * 1.125, 0.0]


def test_encoding_saturates() -> None:
    for name, lowest in (("int8", -128), ("int4_x2", -8), ("hifloat8", -32768), ("float8_e4m3fn", -448)):
        assert decode(encode([np.inf, -np.inf, 1e30, -1e30], name)).tolist() == [largest(name), lowest] * 2
    assert decode(encode([np.inf, -7.0], float4_e2m1fn_x2)).tolist() == [6, -6]


def test_nan() -> None:
    assert np.isnan(decode(encode([np.nan], "float8_e4m3fn"))).all()
    assert np.isnan(decode(encode([np.nan], "hifloat8"))).all()
    assert decode(encode([np.nan, np.nan], "int8")).tolist() == [0, 0]
    assert decode(encode([np.nan, np.nan], "int4_x2")).tolist() == [0, 0]
    assert decode(encode([np.nan, np.nan], "float4_e2m1fn_x2")).tolist() == [6, 6]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int8, np.int64])
def test_any_numbers(dtype: type) -> None:
    inputs = np.array([[1, 2], [-3, 4]], dtype)
    for name in TYPES:
        assert decode(encode(inputs, name)).tolist() == [[1, 2], [-3, 4]]


def test_nibble_order() -> None:
    elements = np.array([[1, 2, 3, 4, 5, 6, 7, -8], [0, -1, -2, -3, -4, -5, -6, -7]])
    words = pack_int4(elements, dtype=np.int32)
    assert [hex(word) for word in words.view(np.uint32).ravel()] == ["0x87654321", "0x9abcdef0"]
    pairs = pack_int4(elements)
    assert pairs.dtype == int4_x2
    assert pairs.shape == (2, 4)
    assert pairs.tobytes() == words.tobytes()
    for packed in (pairs, words):
        np.testing.assert_array_equal(unpack_int4(packed), elements)
    np.testing.assert_array_equal(unpack_int4(pairs[:, ::2]), elements.reshape(2, 4, 2)[:, ::2].reshape(2, 4))


def test_float4() -> None:
    numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    packed = pack_float4(np.stack([numbers, -numbers]))
    assert packed.view(np.uint8).tolist() == [[0x10, 0x32, 0x54, 0x76], [0x98, 0xBA, 0xDC, 0xFE]]
    np.testing.assert_array_equal(unpack_float4(packed).astype(np.float64), np.stack([numbers, -numbers]))
    np.testing.assert_array_equal(packed, pack_float4(unpack_float4(packed)))


def test_e8m0_rounds_down_and_saturates() -> None:
    scales = np.array([1.0, 1.999, 2.0, 1e-45, 3e38, 2.0**-126])
    assert encode_e8m0(scales).view(np.uint8).tolist() == [127, 127, 128, 0, 254, 1]


def test_scale_words() -> None:
    scales = np.array([1.0 + 2.0**-10 + 2.0**-11, 0.5], np.float32)
    words = encode_scale_words(scales)
    assert words.tolist() == [0x3F803000, 0x3F000000]
    used = [1.0 + 2.0**-10, 0.5]
    assert decode_scale_words(words | np.uint64(0xDEADBEEF << 32)).tolist() == used
    assert decode_scale_words(scales).tolist() == used


def test_refusals() -> None:
    with pytest.raises(InvalidArgumentError, match="dtype: expected one of int8, int4_x2, hifloat8"):
        encode([1.0], np.float16)
    with pytest.raises(InvalidArgumentError, match=r"values: expected a last axis that 2 divides, got shape \(3,\)"):
        pack_int4([1, 2, 3])
    with pytest.raises(InvalidArgumentError, match=r"values: expected integers of -8 to 7, got 1 to 8"):
        pack_int4([1, 8])
    with pytest.raises(ArgumentTypeError, match="values: expected integers, got dtype float64; round them first"):
        pack_int4([1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="values: expected numbers of FLOAT4_E2M1"):
        pack_float4([0.7, 1.0])
    with pytest.raises(ArgumentTypeError, match="packed: expected dtype int4_x2 or int32, got dtype uint8"):
        unpack_int4(np.zeros(2, np.uint8))
    with pytest.raises(ArgumentTypeError, match="packed: expected dtype float4_e2m1fn_x2"):
        unpack_float4(np.zeros(2, np.uint8))
    with pytest.raises(InvalidArgumentError, match="scales: expected positive finite numbers"):
        encode_e8m0([0.0])
    with pytest.raises(ArgumentTypeError, match="words: expected dtype uint64 or float32"):
        decode_scale_words(np.zeros(2, np.int32))
