# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of every element format as float64, and rounding of float64 to the formats that operators round to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from acl_attn.dtypes import (
    decode_hifloat8,
    dtype_name,
    encode,
    encode_hifloat8,
    float4_e2m1fn_x2,
    hifloat8,
    int4_x2,
    unpack_float4,
    unpack_int4,
)

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


def elements(array: Array) -> Array:
    """Give an array of one element per number.

    Parameters
    ----------
    array : ndarray
        Of an element type that operators take; int32 stands for eight packed 4-bit integers.

    Returns
    -------
    ndarray
        Of a dtype that `as_float64` knows.
    """
    found = np.asarray(array)
    if found.dtype == hifloat8:
        return decode_hifloat8(found)
    if found.dtype in (int4_x2, np.dtype(np.int32)):
        return unpack_int4(found)
    return unpack_float4(found) if found.dtype == float4_e2m1fn_x2 else found


def format_of(array: Array) -> str:
    """Name the format of a tensor's numbers."""
    return dtype_name(np.asarray(array).dtype)


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
    return as_float64(encode(values, "float8_e4m3fn"))


def round_to_hifloat8(values: Float64) -> Float64:
    """Round to HIFLOAT8, to the nearest and halfway away from zero; saturates.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.

    Returns
    -------
    ndarray of float64
        Numbers of that format.
    """
    return as_float64(decode_hifloat8(encode_hifloat8(values)))


def _to_odd_float32(values: Float64) -> NDArray[np.float32]:
    near = values.astype(np.float32)
    inexact = (near.astype(np.float64) != values) & np.isfinite(near)
    # Towards zero, and then the last bit set.
    too_far = np.abs(near.astype(np.float64)) > np.abs(values)
    bits = near.view(np.uint32) - too_far.astype(np.uint32)
    return np.where(inexact, bits | 1, near.view(np.uint32)).view(np.float32)
