# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""4-bit elements: two a byte, or eight an int32, the first in the lowest bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import invalid, wrong_type
from ..values import as_array
from .carriers import float4_e2m1fn_x2, int4_x2

__all__ = ["pack_float4", "pack_int4", "unpack_float4", "unpack_int4"]


def pack_int4(values: npt.ArrayLike, *, dtype: npt.DTypeLike = int4_x2) -> npt.NDArray[Any]:
    """Pack integers of -8 to 7.

    Parameters
    ----------
    values : array_like of integers
        The elements. Their last axis is even (for int32: a multiple of 8).
    dtype : {int4_x2, int32}
        Two elements an item, or eight. Memory holds the same bytes.

    Returns
    -------
    ndarray of int4_x2 or int32
        The last axis is half (an eighth) as long.

    Examples
    --------
    >>> pack_int4([1, -1, 7, -8]).view("uint8").tolist()
    [241, 135]
    """
    array: npt.NDArray[Any] = as_array(values, "values")
    if array.dtype == ml_dtypes.int4:
        array = array.astype(np.int8)
    if array.dtype.kind not in "iu":
        raise wrong_type("values", "integers", f"dtype {array.dtype}", "round them first: acl_attn.dtypes.encode")
    if array.size and (array.min() < -8 or array.max() > 7):
        raise invalid("values", "integers of -8 to 7", f"{array.min()} to {array.max()}")
    carrier = np.dtype(dtype)
    if carrier not in (int4_x2, np.dtype(np.int32)):
        raise invalid("dtype", "int4_x2 or int32", carrier)
    codes: npt.NDArray[np.uint8] = array.astype(np.uint8) & np.uint8(15)
    return _pack(codes, carrier)


def unpack_int4(packed: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """Undo `pack_int4`.

    Parameters
    ----------
    packed : ndarray of int4_x2 or int32
        Packed elements.

    Returns
    -------
    ndarray of int8
        Integers of -8 to 7.
    """
    array = as_array(packed, "packed")
    if array.dtype not in (int4_x2, np.dtype(np.int32)):
        raise wrong_type("packed", "dtype int4_x2 or int32", f"dtype {array.dtype}")
    integers: npt.NDArray[np.int8] = (_unpack(array) ^ 8).astype(np.int8) - np.int8(8)
    return integers


def pack_float4(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Pack FLOAT4_E2M1 numbers.

    Parameters
    ----------
    values : array_like
        Numbers that the format has, of any dtype, or ``ml_dtypes.float4_e2m1fn``. Their last axis is even.

    Returns
    -------
    ndarray of float4_e2m1fn_x2
        The last axis is half as long.

    Examples
    --------
    >>> pack_float4([0.5, -6.0]).view("uint8").tolist()
    [241]
    """
    array: npt.NDArray[Any] = as_array(values, "values")
    codes = array
    if array.dtype != ml_dtypes.float4_e2m1fn:
        codes = array.astype(ml_dtypes.float4_e2m1fn)
        if not np.array_equal(codes.astype(np.float64), array.astype(np.float64)):
            raise invalid(
                "values", "numbers of FLOAT4_E2M1 (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives)", "others",
                "round them with acl_attn.dtypes.encode",
            )  # fmt: skip
    return _pack(codes.view(np.uint8), float4_e2m1fn_x2)


def unpack_float4(packed: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Undo `pack_float4`.

    Parameters
    ----------
    packed : ndarray of float4_e2m1fn_x2
        Packed elements.

    Returns
    -------
    ndarray of ml_dtypes.float4_e2m1fn
        One element an item.
    """
    array = as_array(packed, "packed")
    if array.dtype != float4_e2m1fn_x2:
        raise wrong_type("packed", "dtype float4_e2m1fn_x2", f"dtype {array.dtype}")
    return _unpack(array).view(ml_dtypes.float4_e2m1fn)


def _pack(codes: npt.NDArray[np.uint8], carrier: np.dtype[Any]) -> npt.NDArray[Any]:
    """Pack codes of 0 to 15 into an array of `carrier`."""
    count = 2 * carrier.itemsize
    if not codes.ndim or codes.shape[-1] % count:
        raise invalid("values", f"a last axis that {count} divides", f"shape {codes.shape}")
    halves = codes.reshape(*codes.shape[:-1], codes.shape[-1] // 2, 2)
    return np.ascontiguousarray(halves[..., 0] | halves[..., 1] << 4).view(carrier)


def _unpack(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    if not array.ndim:
        raise invalid("packed", "at least one axis", "a scalar")
    pairs = np.ascontiguousarray(array).view(np.uint8)
    return np.stack((pairs & 15, pairs >> 4), axis=-1).reshape(*pairs.shape[:-1], 2 * pairs.shape[-1])
