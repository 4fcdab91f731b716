# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""HIFLOAT8: a float of 8 bits whose exponent takes fewer bits near 1, where the mantissa gets them.

Largest finite number 2^15, smallest 2^-22, one zero, one NaN, two infinities.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import invalid, wrong_type
from ..values import as_array
from .carriers import hifloat8

__all__ = ["decode_hifloat8", "encode_hifloat8"]

_NAN, _INFINITY, _LARGEST = 0x80, 0x6F, 0x6E
_OVERFLOWS = 1.25 * 2.0**15  # halfway to where 1.5 * 2^15 would be, were its code not infinity's


def decode_hifloat8(codes: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Give the numbers that HIFLOAT8 codes stand for.

    Parameters
    ----------
    codes : ndarray of hifloat8 or uint8
        The codes.

    Returns
    -------
    ndarray of float32
        The numbers, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> decode_hifloat8(np.array([0x08, 0x17, 0x6E, 0x01], np.uint8)).tolist()
    [1.0, 3.75, 32768.0, 2.384185791015625e-07]
    """
    array = as_array(codes, "codes")
    if array.dtype not in (hifloat8, np.uint8):
        raise wrong_type("codes", "dtype hifloat8 or uint8", f"dtype {array.dtype}")
    numbers: npt.NDArray[np.float32] = _numbers()[array.view(np.uint8)]
    return numbers


def encode_hifloat8(
    values: npt.ArrayLike,
    *,
    rounding: Literal["nearest", "hybrid"] = "nearest",
    overflow: Literal["saturate", "infinity"] = "saturate",
) -> npt.NDArray[Any]:
    """Round numbers to HIFLOAT8.

    Parameters
    ----------
    values : array_like
        The numbers.
    rounding : {"nearest", "hybrid"}
        To nearest with ties away from zero; or that only for numbers of size 1/8 to 16, and beyond by the discarded
        bits of the fp32 number themselves, which is how devices round results: pseudo-random, and reproducible.
    overflow : {"saturate", "infinity"}
        What numbers of 40960 and more become: 2^15, or infinity.

    Returns
    -------
    ndarray of hifloat8
        The codes. NaN stays NaN; there is no negative zero.

    Examples
    --------
    >>> decode_hifloat8(encode_hifloat8([1.07, -1e6, 1e-9])).tolist()
    [1.125, -32768.0, 0.0]
    """
    if rounding not in ("nearest", "hybrid"):
        raise invalid("rounding", "'nearest' or 'hybrid'", repr(rounding))
    if overflow not in ("saturate", "infinity"):
        raise invalid("overflow", "'saturate' or 'infinity'", repr(overflow))
    numbers = as_array(values, "values")
    numbers = numbers if numbers.dtype == np.float64 and rounding == "nearest" else numbers.astype(np.float32)
    size = np.abs(numbers)
    if rounding == "hybrid":
        size = _round_hybrid(size)
    sorted_numbers, sorted_codes = _sorted()
    ties = ((sorted_numbers[1:] + sorted_numbers[:-1]) / 2).astype(size.dtype)
    codes = sorted_codes[np.searchsorted(ties, size, side="right")]
    codes = np.where(size >= _OVERFLOWS, _LARGEST if overflow == "saturate" else _INFINITY, codes)
    codes = np.where((numbers < 0) & (codes != 0), codes | 0x80, codes)
    return np.where(np.isnan(numbers), _NAN, codes).astype(np.uint8).view(hifloat8)


def _round_hybrid(size: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Round where the hybrid rule differs from the nearest; what is left to round is within 1/8 to 16."""
    bits = size.view(np.uint32)
    exponent = (bits >> 23).astype(np.int32) - 127
    distance = np.abs(exponent)
    dropped = 20 + (distance > 3) + (distance > 7) + (distance > 15)
    unit = np.left_shift(np.uint32(1), dropped.astype(np.uint32))
    rest = bits & (unit - 1)
    # The upper and the lower 14 of the discarded bits. Exact numbers stay, though 0 >= 0.
    up = (rest != 0) & ((rest >> (dropped - 14).astype(np.uint32)) >= (rest & 0x3FFF))
    rounded = bits - rest + np.where(up, unit, 0).astype(np.uint32)
    fraction = bits & 0x7FFFFF
    smallest = np.uint32(0x34800000)  # 2^-22
    tiny = np.where((exponent == -23) & ((fraction >> 10) + 8192 >= (fraction & 0x3FFF)), smallest, 0)
    rounded = np.where(exponent < -22, tiny, rounded)
    # Beyond the largest number, infinities and NaN included, the caller decides; below, 1.5 * 2^15 overflows too.
    changes = (distance > 3) & (size < _OVERFLOWS)
    return np.where(changes, rounded, bits).astype(np.uint32).view(np.float32)


@cache
def _numbers() -> npt.NDArray[np.float32]:
    numbers = np.zeros(256, np.float32)
    for code in range(1, 128):
        numbers[code] = _number(code)
    numbers[128:] = -numbers[:128]
    numbers[_NAN] = np.nan
    numbers.flags.writeable = False
    return numbers


def _number(code: int) -> float:
    if code == _INFINITY:
        return float("inf")
    if code < 0x08:
        return 2.0 ** (code - 23)
    if code < 0x10:
        return 1 + (code & 7) / 8
    # Where a class of codes begins; the exponent's implied leading one; bits of mantissa.
    start, leading, bits = next(
        row for row in ((0x60, 8, 1), (0x40, 4, 2), (0x20, 2, 3), (0x10, 1, 3)) if code >= row[0]
    )
    field, mantissa = divmod(code - start, 2**bits)
    # At the place of the leading one the field has the exponent's sign.
    exponent = -field if field & leading else field + leading
    return float((1 + mantissa / 2**bits) * 2.0**exponent)


@cache
def _sorted() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Give the finite numbers from 0 up, and their codes: codes do not grow with the numbers."""
    codes = np.delete(np.arange(128, dtype=np.uint8), _INFINITY)
    codes = codes[np.argsort(_numbers()[codes])]
    return _numbers()[codes].astype(np.float64), codes
