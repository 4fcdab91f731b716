# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised keys and values: every mode, element type and layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn import Lengths
from acl_attn.dtypes import as_dtype, encode
from acl_attn.errors import ArgumentTypeError, InvalidArgumentError
from acl_attn.kvcache import AntiquantMode, dequantize, from_nz, quantize, to_nz

from .by_index import element, places, scale_of, stored_numbers

INT = ("int8", "int4_x2")
TYPES = {
    0: ("int8", "int4_x2", "hifloat8", "float8_e4m3fn"),
    1: ("int8", "int4_x2", "float8_e4m3fn"),
    2: ("int8",),
    3: ("int8", "int4_x2"),
    4: ("int8", "float8_e4m3fn"),
    5: ("int8",),
    6: ("float4_e2m1fn_x2",),
}
LAYOUTS = ("BSH", "BSND", "BNSD", "TND")
CACHES = ("BnBsH", "BnNBsD", "NZ")
CASES = [
    (mode, name, layout, asymmetric)
    for mode, names in TYPES.items()
    for name in names
    for layout in (CACHES if mode in (4, 5) else LAYOUTS if mode in (1, 3, 6) else (*LAYOUTS, *CACHES))
    for asymmetric in ((False, True) if name in INT else (False,))  # only integers have offsets
]
OUTER, HEADS, TOKENS, DIM = 3, 2, 16, 64
LENGTHS = Lengths((16, 3, 9))

# Half a unit in the last place, relative to the number; and the unit of the smallest ones, relative to the scale.
ERRORS = {
    "int8": (0, 0.5),
    "int4_x2": (0, 0.5),
    "hifloat8": (2.0**-4, 2.0**-6),
    "float8_e4m3fn": (2.0**-4, 2.0**-10),
    "float4_e2m1fn_x2": (0.2, 0.25),
}


def numbers(dtype: object = np.float16, seed: int = 0) -> np.ndarray:
    """(outer, head, token, channel)."""
    x = np.random.default_rng(seed).standard_normal((OUTER, HEADS, TOKENS, DIM))
    return (x * np.exp2(np.arange(HEADS)[:, None, None]) * np.exp2(-np.arange(TOKENS) % 3)[:, None]).astype(dtype)


def arranged(common: np.ndarray, layout: str) -> np.ndarray:
    if layout in ("BSH", "BnBsH"):
        return common.transpose(0, 2, 1, 3).reshape(OUTER, TOKENS, HEADS * DIM)
    if layout == "BSND":
        return common.transpose(0, 2, 1, 3)
    if layout == "TND":
        return np.concatenate([x[:, :n].transpose(1, 0, 2) for x, n in zip(common, LENGTHS.per_sequence, strict=True)])
    return to_nz(common, 16) if layout == "NZ" else common


def how(layout: str) -> dict[str, object]:
    return {
        "layout": layout,
        "num_heads": HEADS if layout in ("BSH", "BnBsH") else None,
        "lengths": LENGTHS if layout == "TND" else None,
    }


@pytest.mark.parametrize(("mode", "name", "layout", "asymmetric"), CASES)
def test_each_element_is_near_what_it_stands_for(mode: int, name: str, layout: str, asymmetric: bool) -> None:
    x = arranged(numbers(), layout)
    made = quantize(x, mode, name, asymmetric=asymmetric, **how(layout))
    assert made.values.dtype == as_dtype(name)
    stored = stored_numbers(made.values)
    assert stored.shape == x.shape
    back = dequantize(made.values, made.scale, made.offset, mode=mode, **how(layout))
    relative, absolute = ERRORS[name]
    lengths = LENGTHS if layout == "TND" else None
    for at in places((OUTER, min(LENGTHS.per_sequence) if lengths else TOKENS, HEADS, DIM), 300, seed=mode):
        scale = scale_of(made.scale, mode, at)
        offset = 0.0 if made.offset is None else scale_of(made.offset, mode, at)
        want = float(element(x, layout, HEADS, lengths, at))
        got = (element(stored, layout, HEADS, lengths, at) + offset) * scale
        assert abs(got - want) <= relative * abs(want) + absolute * scale * (1 + 1e-5), (at, got, want)
        near = pytest.approx(got, rel=1e-6, abs=1e-6 * abs(offset * scale))
        assert element(back, layout, HEADS, lengths, at) == near


@pytest.mark.parametrize(
    ("mode", "layout", "shape", "dtype"),
    [
        (0, "BSH", (HEADS, DIM), ml_dtypes.bfloat16),
        (0, "NZ", (HEADS, DIM), ml_dtypes.bfloat16),
        (1, "BNSD", (OUTER, TOKENS), np.float32),
        (1, "TND", (OUTER, 16), np.float32),
        (2, "BSND", (HEADS,), ml_dtypes.bfloat16),
        (3, "BSH", (OUTER, HEADS, TOKENS), np.float32),
        (4, "BnBsH", (OUTER, TOKENS), np.float32),
        (5, "BnNBsD", (OUTER, HEADS, TOKENS), np.float32),
        (6, "TND", (1, OUTER, HEADS, 16, DIM // 32), ml_dtypes.float8_e8m0fnu),
    ],
)
def test_scales_have_the_operators_shape_and_dtype(
    mode: int, layout: str, shape: tuple[int, ...], dtype: object
) -> None:
    x = arranged(numbers(ml_dtypes.bfloat16), layout)
    made = quantize(x, mode, TYPES[mode][0], **how(layout))
    assert made.scale.shape == shape
    assert made.scale.dtype == dtype
    if mode != 6:
        offset = quantize(x, mode, "int8", asymmetric=True, **how(layout)).offset
        assert offset is not None
        assert (offset.shape, offset.dtype) == (shape, dtype)


def test_per_tensor() -> None:
    made = quantize(numbers(), 0, per_tensor=True)
    assert made.scale.shape == (1,)
    assert np.abs(made.values).max() in (126, 127)
    back = dequantize(made.values, made.scale, mode=0)
    assert np.abs(back - numbers()).max() <= 0.5001 * float(made.scale[0])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_layout_changes_nothing(mode: int) -> None:
    made = {layout: quantize(arranged(numbers(), layout), mode, **how(layout)) for layout in ("BSH", "BSND", "BNSD")}
    for layout, one in made.items():
        np.testing.assert_array_equal(one.values, arranged(made["BNSD"].values, layout))
        np.testing.assert_array_equal(one.scale, made["BNSD"].scale)


def test_scale_tokens_makes_room() -> None:
    for mode, name, axis in ((1, "int8", 1), (3, "int8", 2), (6, "float4_e2m1fn_x2", 3)):
        short = quantize(numbers(), mode, name)
        long = quantize(numbers(), mode, name, scale_tokens=48)
        assert long.scale.shape[axis] == 48
        kept, added = np.split(long.scale.astype(np.float32), [TOKENS], axis)
        np.testing.assert_array_equal(kept, short.scale.astype(np.float32))
        assert (added == 1).all()
        np.testing.assert_array_equal(
            dequantize(long.values, long.scale, mode=mode), dequantize(short.values, short.scale, mode=mode)
        )
    with pytest.raises(InvalidArgumentError, match="scale_tokens: expected at least 16"):
        quantize(numbers(), 1, scale_tokens=15)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_tokens_beyond_a_length_do_not_count(mode: int) -> None:
    clean, dirty = numbers(np.float32), numbers(np.float32)
    for row, length in enumerate(LENGTHS.per_sequence):
        dirty[row, :, length:] = [np.nan, np.inf, 1e9][row % 3]
        clean[row, :, length:] = 0
    made = quantize(dirty, mode, lengths=LENGTHS, query_dtype="float16")
    want = quantize(clean, mode, query_dtype="float16")
    np.testing.assert_array_equal(made.values, want.values)
    np.testing.assert_array_equal(made.scale, want.scale)
    offset = quantize(dirty + np.float32(5), mode, lengths=LENGTHS, query_dtype="float16", asymmetric=True)
    assert np.isfinite(offset.scale.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("middle", [0.0, 3.0, -40.0, 300.0])
@pytest.mark.parametrize("name", INT)
def test_offsets_fit_ranges_far_from_zero(name: str, middle: float, dtype: object) -> None:
    x = np.random.default_rng(3).uniform(-1, 1, (2, 2, 64, 32)) + middle
    symmetric = quantize(x, 0, name, query_dtype=dtype)
    made = quantize(x, 0, name, query_dtype=dtype, asymmetric=True)
    error = np.abs(dequantize(made.values, made.scale, made.offset, mode=0) - x)
    scale = made.scale.astype(np.float64)[None, :, None, :]
    assert (error <= 0.5 * scale * 1.0001 + 1e-6 * abs(middle)).all()
    if abs(middle) >= 3:
        plain = np.abs(dequantize(symmetric.values, symmetric.scale, mode=0) - x)
        assert error.mean() < plain.mean()


@pytest.mark.parametrize("value", [0.0, 2.5, -7.0, 1e-7, 6e4])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_constant_numbers(value: float, asymmetric: bool) -> None:
    x = np.full((1, 1, 4, 32), value)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        made = quantize(x, 0, query_dtype=dtype, asymmetric=asymmetric)
        assert (made.scale.astype(np.float64) > 0).all()
        back = dequantize(made.values, made.scale, made.offset, mode=0)
        assert np.abs(back - value).max() <= max(abs(value) * 0.005, 3e-8)


def test_groups_take_the_smallest_power_of_two_that_does() -> None:
    x = np.zeros((1, 1, 3, 64), np.float32)
    x[0, 0, 0, :32] = np.linspace(-6.9, 3, 32)  # rounds to -6
    x[0, 0, 0, 32:] = 7.1  # would round to 8
    x[0, 0, 1, :32] = 0.24
    x[0, 0, 1, 32:] = 1e-42
    made = quantize(x, 6, "float4_e2m1fn_x2")
    # Nothing but zeros: 1.
    assert made.scale.astype(np.float64).ravel().tolist() == [1.0, 2.0, 2.0**-4, 2.0**-127, 1.0, 1.0]
    back = dequantize(made.values, made.scale, mode=6)
    assert back[0, 0, :2, ::32].tolist() == [[-6.0, 8.0], [0.25, 0.0]]
    assert (back[0, 0, 2] == 0).all()


def test_rounding_of_a_device() -> None:
    values = np.array([[[[100, -37, 5, 127]]]], np.int8)
    scale = np.array([0.0123], np.float32)
    offset = np.array([3.3], np.float32)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        s, o = np.dtype(dtype).type(0.0123), np.dtype(dtype).type(3.3)
        moved = (values.astype(dtype) + o).astype(dtype)
        want = (moved * s).astype(dtype).astype(np.float32)
        np.testing.assert_array_equal(dequantize(values, scale, offset, mode=0, rounded_to=dtype), want)
    exact = dequantize(values, scale, offset, mode=0)
    np.testing.assert_array_equal(exact, (values + np.float32(3.3)) * np.float32(0.0123))


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_given_scales_are_used(mode: int, asymmetric: bool) -> None:
    made = quantize(numbers(), mode, asymmetric=asymmetric)
    again = quantize(numbers(), mode, asymmetric=asymmetric, scale=made.scale, offset=made.offset)
    np.testing.assert_array_equal(again.values, made.values)
    assert again.scale is made.scale
    assert again.offset is made.offset
    joined = quantize(numbers() * np.float16(3), mode, asymmetric=asymmetric, scale=made.scale, offset=made.offset)
    assert {joined.values.min(), joined.values.max()} == {-128, 127}


def test_a_device_does_not_round_powers_of_two() -> None:
    values = encode(np.full((1, 1, 1, 32), 6.0), "float4_e2m1fn_x2")
    for exponent, want in ((-26, 6 * 2.0**-24 / 4), (-30, 0.0), (20, 65504.0)):
        scale = np.full((1, 1, 1, 1, 1), 2.0**exponent).astype(ml_dtypes.float8_e8m0fnu)
        got = dequantize(values, scale, mode=6, rounded_to=np.float16)
        assert got[0, 0, 0, 0] == np.float32(np.float16(want))


def test_every_scale_shape_of_the_operator_is_read() -> None:
    n, d = HEADS, DIM
    by_channel, by_token = quantize(numbers(), 0), quantize(numbers(), 1)
    want = dequantize(by_channel.values, by_channel.scale, mode=0)
    for shape in ((1, n, 1, d), (1, 1, n, d), (1, n, d), (n, 1, d), (1, n * d), (n * d,)):
        np.testing.assert_array_equal(dequantize(by_channel.values, by_channel.scale.reshape(shape), mode=0), want)
    want = dequantize(by_token.values, by_token.scale, mode=1)
    np.testing.assert_array_equal(dequantize(by_token.values, by_token.scale[None], mode=1), want)


def test_int32_is_packed_int4() -> None:
    made = quantize(numbers(), 3, "int4_x2")
    words = made.values.view(np.int32)
    np.testing.assert_array_equal(dequantize(words, made.scale, mode=3), dequantize(made.values, made.scale, mode=3))


def test_nz_round_trip() -> None:
    cache = encode(numbers(), "int4_x2")
    nz = to_nz(cache, 8)  # 16 elements
    assert nz.shape == (OUTER, HEADS, DIM // 16, TOKENS, 8)
    np.testing.assert_array_equal(from_nz(nz), cache)
    assert nz[1, 1, 2, 3, 4] == cache[1, 1, 3, 2 * 8 + 4]


def test_mode_names() -> None:
    assert [int(mode) for mode in AntiquantMode] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert AntiquantMode.PER_TOKEN_HEAD == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": 7}, r"mode: expected one of 0 \(PER_CHANNEL\), .*, got 7"),
        ({"mode": 8}, r"mode: expected one of 0 \(PER_CHANNEL\), .*, got 8"),
        ({"mode": 2, "dtype": "int4_x2"}, r"dtype: expected int8 for mode 2 \(PER_HEAD\), got int4_x2"),
        ({"mode": 0, "per_tensor": True, "dtype": "hifloat8"}, "dtype: expected int8 for per tensor, got hifloat8"),
        ({"mode": 1, "per_tensor": True}, "per_tensor: expected False, or mode 0, got True and mode 1"),
        ({"mode": 0, "dtype": "hifloat8", "asymmetric": True}, "asymmetric: expected False: only integers"),
        ({"mode": 4}, "layout: expected BnBsH, BnNBsD or NZ, .*, got BNSD; use mode 1 or 3"),
        ({"mode": 1, "layout": "BnNBsD"}, "layout: expected BSH, BSND, BNSD or TND: .*, got BnNBsD; quantise before"),
        ({"mode": 0, "layout": "SBH"}, "layout: expected one of BSH, BSND"),
        ({"mode": 0, "layout": "BSH"}, r"values: expected rank 3 for layout BSH, got \(3, 2, 16, 64\)"),
        ({"mode": 1, "lengths": [17, 1, 1]}, "lengths: expected at most 16 tokens, got 17"),
        ({"mode": 1, "lengths": [1, 1]}, "lengths: expected 3 lengths"),
        ({"mode": 4, "layout": "BnNBsD", "lengths": [1, 1, 1]}, "lengths: expected None for a cache of blocks"),
        ({"mode": 0, "values": np.full((1, 1, 1, 32), np.nan)}, "values: expected finite numbers, got infinity or NaN"),
        ({"mode": 0, "values": np.full((1, 1, 1, 32), np.inf)}, "values: expected finite numbers, got infinity or NaN"),
        (
            {"mode": 6, "dtype": "float4_e2m1fn_x2", "values": np.ones((1, 1, 1, 48))},
            "values: expected a head dim that 32",
        ),
    ],
)
def test_refusals(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"values": numbers(), "query_dtype": "float16", **changes}
    with pytest.raises(InvalidArgumentError, match=message):
        quantize(**arguments)  # type: ignore[arg-type]


def test_refusals_that_need_more() -> None:
    with pytest.raises(ArgumentTypeError, match=r"query_dtype: expected float16 or bfloat16, .*, got float64"):
        quantize(numbers(np.float64), 0)
    with pytest.raises(InvalidArgumentError, match="num_heads: expected num_heads for this layout"):
        quantize(np.ones((2, 3, 64)), 1, layout="BSH")
    with pytest.raises(InvalidArgumentError, match="values: expected a last axis that 5 heads divide"):
        quantize(np.ones((2, 3, 64)), 1, layout="BSH", num_heads=5)
    with pytest.raises(InvalidArgumentError, match="lengths: expected the length of each packed sequence for layout"):
        quantize(np.ones((3, 2, 64)), 1, layout="TND")
    with pytest.raises(InvalidArgumentError, match="lengths: expected lengths that sum to values's 3 tokens, got 4"):
        quantize(np.ones((3, 2, 64)), 1, layout="TND", lengths=[2, 2])
    made = quantize(numbers(), 3)
    with pytest.raises(
        InvalidArgumentError,
        match=r"scale: expected shape \(2, 64\) or .* for mode 0 ",
    ):
        dequantize(made.values, made.scale, mode=0)
    with pytest.raises(InvalidArgumentError, match="scale: expected a token axis of at least 16"):
        dequantize(made.values, made.scale[..., :8], mode=3)
    with pytest.raises(InvalidArgumentError, match=r"scale: expected shape \(3, 2, 16\) for mode 3"):
        dequantize(made.values, made.scale.transpose(1, 0, 2), mode=3)
    with pytest.raises(ArgumentTypeError, match="rounded_to: expected float16 or bfloat16"):
        dequantize(made.values, made.scale, mode=3, rounded_to=np.float32)
    with pytest.raises(InvalidArgumentError, match="offset: expected None, or a scale too and asymmetric=True"):
        quantize(numbers(), 3, offset=made.scale)
    with pytest.raises(InvalidArgumentError, match="offset: expected an array, as asymmetric is True"):
        quantize(numbers(), 3, scale=made.scale, asymmetric=True)
    with pytest.raises(InvalidArgumentError, match="scale: expected positive numbers"):
        quantize(numbers(), 3, scale=0 * made.scale)
