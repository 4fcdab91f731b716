# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers to the 8- and 4-bit element types and back, for all of them alike."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import invalid
from ..values import as_array
from .acl import as_dtype, dtype_name
from .carriers import float4_e2m1fn_x2, hifloat8, int4_x2
from .hifloat8_codes import decode_hifloat8, encode_hifloat8
from .packed import pack_float4, pack_int4, unpack_float4, unpack_int4

__all__ = ["decode", "encode", "largest"]

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_INT8 = np.dtype(np.int8)
_LARGEST = {_INT8: 127.0, int4_x2: 7.0, hifloat8: 32768.0, _E4M3: 448.0, float4_e2m1fn_x2: 6.0}


def largest(dtype: npt.DTypeLike) -> float:
    """Give the largest number of an 8- or 4-bit element type.

    Parameters
    ----------
    dtype : dtype or its name
        One of int8, int4_x2, hifloat8, float8_e4m3fn or float4_e2m1fn_x2.

    Returns
    -------
    float
        The largest finite number.
    """
    return _LARGEST[_known(dtype)]


def encode(values: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Round numbers to an 8- or 4-bit element type, saturating.

    Parameters
    ----------
    values : array_like
        The numbers. For packed types their last axis is even.
    dtype : dtype or its name
        One of int8, int4_x2, hifloat8, float8_e4m3fn or float4_e2m1fn_x2.

    Returns
    -------
    ndarray of `dtype`
        The nearest number of the type, of two the even one (for hifloat8 the one away from zero). NaN stays NaN where
        the type has it; integers become 0, and float4_e2m1fn_x2 its largest number.

    See Also
    --------
    decode : The way back.

    Examples
    --------
    >>> encode([0.4, 2.5, 1000.0], "int8").tolist()
    [0, 2, 127]
    """
    target, numbers = _known(dtype), _floating(as_array(values, "values"))
    if target == hifloat8:
        return encode_hifloat8(numbers)
    if target == _E4M3:
        # ml_dtypes turns what is too large into NaN.
        return _nearest(np.clip(numbers, -448, 448), 3, -6).astype(_E4M3)
    if target == float4_e2m1fn_x2:
        inside = np.clip(np.where(np.isnan(numbers), numbers.dtype.type(6), numbers), -6, 6)
        return pack_float4(_nearest(inside, 1, 0).astype(ml_dtypes.float4_e2m1fn))
    least, most = (-8, 7) if target == int4_x2 else (-128, 127)
    integers: npt.NDArray[np.int8] = np.clip(np.rint(np.nan_to_num(numbers, nan=0.0)), least, most).astype(np.int8)
    return pack_int4(integers) if target == int4_x2 else integers


def decode(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Give the numbers of an array of any element type of at most 32 bits, exactly.

    Parameters
    ----------
    array : ndarray
        Of an 8- or 4-bit element type, packed or not, or of any other numeric dtype. An int32 array is an array of
        integers here; if it holds packed INT4, use `unpack_int4`.

    Returns
    -------
    ndarray of float32
        The numbers; the last axis of packed types becomes twice as long.

    Examples
    --------
    >>> decode(encode([[1.0, -3.0], [0.5, 6.0]], "float4_e2m1fn_x2")).tolist()
    [[1.0, -3.0], [0.5, 6.0]]
    """
    known = as_array(array, "array")
    if known.dtype == hifloat8:
        return decode_hifloat8(known)
    if known.dtype == int4_x2:
        return unpack_int4(known).astype(np.float32)
    if known.dtype == float4_e2m1fn_x2:
        return unpack_float4(known).astype(np.float32)
    return known.astype(np.float32)


def _known(dtype: npt.DTypeLike) -> np.dtype[Any]:
    target = as_dtype(dtype)
    if target not in _LARGEST:
        raise invalid("dtype", f"one of {', '.join(dtype_name(known) for known in _LARGEST)}", dtype_name(target))
    return target


def _floating(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert to float32 what fits into it, and the rest to float64."""
    is_wide = numbers.dtype == np.float64 or (numbers.dtype.kind in "iu" and numbers.dtype.itemsize > 2)
    return numbers.astype(np.float64 if is_wide else np.float32)


def _nearest(numbers: npt.NDArray[Any], bits: int, least: int) -> npt.NDArray[Any]:
    """Round float64 to `bits` of mantissa with exponents from `least`, half to even; leave float32 alone.

    ml_dtypes rounds float32 rightly, and float64 by way of it: twice.
    """
    if numbers.dtype != np.float64:
        return numbers
    exponent = np.maximum(np.frexp(np.nan_to_num(numbers))[1] - 1, least)
    step = np.ldexp(1.0, exponent - bits)
    rounded: npt.NDArray[np.float64] = np.rint(numbers / step) * step
    return rounded
