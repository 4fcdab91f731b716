# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""HIFLOAT8: all codes, both roundings, both overflows."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn.dtypes import decode_hifloat8, encode_hifloat8, hifloat8
from acl_attn.errors import ArgumentTypeError, InvalidArgumentError

from .by_definition import all_hifloat8, finite_hifloat8, nearest

CODES = np.arange(256, dtype=np.uint8)

KNOWN = {
    0x00: 0.0, 0x01: 2.0**-22, 0x07: 2.0**-16, 0x08: 1.0, 0x0F: 1.875, 0x10: 2.0, 0x17: 3.75, 0x18: 0.5, 0x1F: 0.9375,
    0x20: 4.0, 0x28: 8.0, 0x30: 0.25, 0x38: 0.125, 0x40: 16.0, 0x4C: 128.0, 0x50: 0.0625, 0x5C: 2.0**-7, 0x60: 256.0,
    0x6D: 24576.0, 0x6E: 32768.0, 0x70: 2.0**-8, 0x7E: 2.0**-15, 0x7F: 1.5 * 2.0**-15,
}  # fmt: skip


def codes_of(values: object, **how: str) -> np.ndarray:
    return encode_hifloat8(np.asarray(values), **how).view(np.uint8)


def probes() -> np.ndarray:
    """Numbers where rounding decides, and random ones of every size, as float32."""
    numbers = finite_hifloat8()
    middles = (numbers[1:] + numbers[:-1]) / 2
    around = np.concatenate([numbers, middles]).astype(np.float32)
    generator = np.random.default_rng(5)
    random = generator.uniform(1, 2, 100_000) * 2.0 ** generator.integers(-26, 18, 100_000)
    random = (random * generator.choice([-1, 1], random.shape)).astype(np.float32)
    return np.concatenate([around, np.nextafter(around, np.inf), np.nextafter(around, -np.inf), random])


def test_known_codes() -> None:
    for code, number in KNOWN.items():
        assert decode_hifloat8(np.array(code, np.uint8)) == number
    np.testing.assert_array_equal(decode_hifloat8(CODES), all_hifloat8().astype(np.float32))


def test_every_number_encodes_to_its_code() -> None:
    for rounding in ("nearest", "hybrid"):
        np.testing.assert_array_equal(codes_of(decode_hifloat8(CODES), rounding=rounding, overflow="infinity"), CODES)


def test_special_numbers() -> None:
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1e-30, 40959.0, 40960.0, 2.0**-23, np.nextafter(2.0**-23, 0)]
    assert codes_of(values).tolist() == [0x80, 0x6E, 0xEE, 0, 0, 0, 0x6E, 0x6E, 1, 0]
    assert codes_of(values, overflow="infinity").tolist() == [0x80, 0x6F, 0xEF, 0, 0, 0, 0x6E, 0x6F, 1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest(dtype: type) -> None:
    inputs = probes().astype(dtype)
    np.testing.assert_array_equal(decode_hifloat8(encode_hifloat8(inputs)), nearest(inputs, finite_hifloat8()))


def test_float64_is_rounded_once() -> None:
    tie = 1.0 + 1.0 / 16
    assert codes_of([tie, tie - 1e-12, -tie + 1e-12]).tolist() == [0x09, 0x08, 0x88]


def test_hybrid_takes_a_neighbour_and_nearest_near_one() -> None:
    inputs = probes()
    inputs = inputs[np.abs(inputs) <= 32768]
    plain, hybrid = (decode_hifloat8(encode_hifloat8(inputs, rounding=r)) for r in ("nearest", "hybrid"))
    numbers = finite_hifloat8()
    below = numbers[np.searchsorted(numbers, inputs, side="right") - 1]
    above = numbers[np.minimum(np.searchsorted(numbers, inputs, side="left"), len(numbers) - 1)]
    assert ((hybrid == below) | (hybrid == above)).all()
    near_one = (np.abs(inputs) >= 1 / 8) & (np.abs(inputs) < 16)
    np.testing.assert_array_equal(hybrid[near_one], plain[near_one])
    assert (hybrid != plain).any()


def test_hybrid_by_hand() -> None:
    # |E| = 4, two bits of mantissa, so 21 discarded bits; up if the upper 14 are at least the lower 14.
    fractions = np.array([0x000001, 0x000080, 0x000081, 0x00FF81, 0x100000, 0x1FFFFF, 0x010000], np.uint32)
    numbers = (np.uint32(131 << 23) | fractions).view(np.float32)
    assert codes_of(numbers, rounding="hybrid").tolist() == [0x40, 0x40, 0x40, 0x40, 0x41, 0x41, 0x41]


def test_shapes_and_layouts_stay() -> None:
    codes = encode_hifloat8(np.arange(24.0).reshape(2, 3, 4))
    assert codes.dtype == hifloat8
    assert codes.shape == (2, 3, 4)
    np.testing.assert_array_equal(decode_hifloat8(codes.transpose(2, 0, 1)), decode_hifloat8(codes).transpose(2, 0, 1))
    np.testing.assert_array_equal(decode_hifloat8(codes[:, ::2]), decode_hifloat8(codes)[:, ::2])
    assert decode_hifloat8(encode_hifloat8(1.5)) == 1.5
    assert encode_hifloat8(np.zeros((0, 3))).shape == (0, 3)


def test_refusals() -> None:
    with pytest.raises(InvalidArgumentError, match="rounding: expected 'nearest' or 'hybrid'"):
        encode_hifloat8([1.0], rounding="up")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="overflow: expected"):
        encode_hifloat8([1.0], overflow="wrap")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="codes: expected dtype hifloat8 or uint8, got dtype int64"):
        decode_hifloat8(np.array([1]))
