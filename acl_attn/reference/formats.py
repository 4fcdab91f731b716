# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of every element format as float64, and rounding of float64 to the formats that operators round to.

Rounding goes by the list of a format's values and not by its bits, so that it can be held against code that does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

Array = NDArray[Any]

E4M3_MAX = 448.0
HIFLOAT8_MAX = 32768.0


def as_float64(array: Array) -> Float64:
    """Convert numbers to float64, exactly.

    Parameters
    ----------
    array : ndarray
        Of any floating or integer dtype, those of ml_dtypes included.

    Returns
    -------
    ndarray of float64
        The same numbers.
    """
    return array.astype(np.float64)


def elements(array: Any) -> Array:
    """Give an array of one element per number.

    Parameters
    ----------
    array : ndarray or carrier of `acl_attn.dtypes`
        int32 stands for eight packed 4-bit integers.

    Returns
    -------
    ndarray
        Of a dtype that `as_float64` knows.
    """
    if format_of(array) == "hifloat8":
        found: Array = hifloat8_values()[np.asarray(array.codes)]
        return found
    plain = np.asarray(array)
    if plain.dtype == np.int32:
        nibbles = (np.ascontiguousarray(plain)[..., None] >> np.arange(0, 32, 4)) & 15
        return ((nibbles ^ 8) - 8).reshape(*plain.shape[:-1], plain.shape[-1] * 8).astype(np.int8)
    return plain


def format_of(array: Any) -> str:
    """Name the format of a tensor's numbers."""
    if not isinstance(array, np.ndarray):
        return "hifloat8"
    return "int4" if array.dtype == np.int32 else str(array.dtype.name)


def round_to(values: Float64, dtype: DTypeLike) -> Float64:
    """Round to a floating dtype, to the nearest and halfway to even.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.
    dtype : dtype-like
        float16, bfloat16 or float32.

    Returns
    -------
    ndarray of float64
        Numbers of that dtype.
    """
    with np.errstate(over="ignore"):
        # ml_dtypes rounds float64 by way of float32; one rounding to odd in between keeps the result right.
        if np.dtype(dtype) == ml_dtypes.bfloat16:
            return _to_odd_float32(values).astype(dtype).astype(np.float64)
        return values.astype(dtype).astype(np.float64)


def round_to_int8(values: Float64) -> Float64:
    """Round to int8 by way of float16, as the device does; saturates.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.

    Returns
    -------
    ndarray of float64
        Integers from -128 to 127.
    """
    return np.clip(np.rint(round_to(values, np.float16)), -128, 127)


def round_to_e4m3(values: Float64) -> Float64:
    """Round to float8_e4m3fn, to the nearest and halfway to even; saturates.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.

    Returns
    -------
    ndarray of float64
        Numbers of that format.
    """
    limited = np.clip(values, -E4M3_MAX, E4M3_MAX)
    exponent = np.maximum(np.frexp(limited)[1] - 1, -6)
    step = np.ldexp(1.0, exponent - 3)
    return np.rint(limited / step) * step


def round_to_hifloat8(values: Float64) -> Float64:
    """Round to HiFloat8, to the nearest and halfway away from zero; saturates.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.

    Returns
    -------
    ndarray of float64
        Numbers of that format.
    """
    numbers, limits = _positive_hifloat8()
    size = np.abs(values)
    return np.copysign(numbers[np.searchsorted(limits, size, side="right")], values) + 0.0


@cache
def hifloat8_values() -> Float64:
    """Give the number that each of the 256 codes of HiFloat8 stands for.

    Returns
    -------
    ndarray of float64, shape (256,)
        By code.
    """
    numbers = np.empty(256)
    for code in range(128):
        numbers[code] = _positive_value(code)
        numbers[code | 0x80] = -numbers[code]
    numbers[0x80] = np.nan
    return numbers


def _positive_value(code: int) -> float:
    """Read the prefix code: it says how many bits of exponent follow, and the rest is mantissa."""
    if code == 0x6F:
        return float("inf")
    for prefix_bits, prefix, exponent_bits in ((2, 0b11, 4), (2, 0b10, 3), (2, 0b01, 2), (3, 0b001, 1), (4, 0b0001, 0)):
        rest = 7 - prefix_bits
        if code >> rest == prefix:
            mantissa_bits = rest - exponent_bits
            exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
            mantissa = 1 + (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
            if exponent_bits == 0:
                return mantissa
            # The first bit of the exponent is its sign; its leading one is implied.
            is_negative = exponent >> (exponent_bits - 1)
            size = exponent if is_negative else exponent + (1 << (exponent_bits - 1))
            return float(mantissa * 2.0 ** (-size if is_negative else size))
    return 2.0 ** (code - 23) if code else 0.0


@cache
def _positive_hifloat8() -> tuple[Float64, Float64]:
    """List the finite numbers from 0 up, and where each gives way to the next."""
    numbers = np.sort([x for x in hifloat8_values()[:128] if np.isfinite(x)])
    return numbers, (numbers[1:] + numbers[:-1]) / 2


def _to_odd_float32(values: Float64) -> NDArray[np.float32]:
    near = values.astype(np.float32)
    inexact = (near.astype(np.float64) != values) & np.isfinite(near)
    # Towards zero, and then the last bit set.
    too_far = np.abs(near.astype(np.float64)) > np.abs(values)
    bits = near.view(np.uint32) - too_far.astype(np.uint32)
    return np.where(inexact, bits | 1, near.view(np.uint32)).view(np.float32)
