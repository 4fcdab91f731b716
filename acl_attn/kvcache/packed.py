# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packed rows of 640 bytes, which `kv_quant_sparse_attn_sharedkv` reads, from numbers and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import as_dtype
from ..errors import invalid, wrong_type
from .packed_calls import as_numbers, call_pack, call_unpack, number_dtype
from .packed_layout import PACKED, check_codes, find_layout

__all__ = ["as_packed", "pack", "unpack"]

Array = npt.NDArray[Any]

_CONVERTED = {584, 608, 656}


def pack(
    values: npt.ArrayLike,
    dtype: npt.DTypeLike = ml_dtypes.float8_e4m3fn,
    *,
    scale_kind: str,
    full_scale: float | None = None,
) -> Array:
    """Quantise rows of 512 channels to packed rows of 640 bytes.

    Channels 0 to 447 become one-byte floats, each 64 of which share a scale; channels 448 to 511, rope, become
    bfloat16. What exceeds a format saturates.

    Parameters
    ----------
    values : array_like of float32, float16 or bfloat16, shape (..., 512)
        Rows, nope before rope. Finite.
    dtype : dtype or its name
        Of the codes: float8_e4m3fn or hifloat8.
    scale_kind : {"e8m0", "bf16"}
        Kind of scale: a power of two, which is what the operator takes, or a bfloat16 number. There is no default,
        because rows do not say which they have.
    full_scale : float, optional
        The number that the largest one of a tile is brought to at most, from 1 to the format's largest. By default 448
        for float8_e4m3fn, its largest, and 15 for hifloat8, which has fewer bits of mantissa beyond.

    Returns
    -------
    ndarray of float8_e4m3fn or hifloat8, shape (..., 640)
        Packed rows. Their padding is 0.

    Raises
    ------
    InvalidArgumentError
        A number is not finite, or a shape or option is not as said.
    ArgumentTypeError
        A dtype is not as said.

    See Also
    --------
    unpack : The way back.
    write_packed : Straight into a pool of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> rows = pack(np.ones((3, 512), np.float32), scale_kind="e8m0")
    >>> rows.shape, rows.dtype
    ((3, 640), dtype(float8_e4m3fn))
    >>> unpack(rows, scale_kind="e8m0")[0, :4]
    array([1., 1., 1., 1.], dtype=float32)
    """
    layout = find_layout(PACKED.row_bytes, scale_kind)
    codes = check_codes(dtype, layout)
    numbers = as_numbers(values, layout)
    rows = np.empty((1, max(len(numbers), 1), layout.row_bytes), np.uint8)
    call_pack(numbers, rows, layout, codes, None, full_scale)
    return rows[0, : len(numbers)].reshape(*np.shape(values)[:-1], layout.row_bytes).view(codes)


def unpack(
    rows: Array,
    dtype: npt.DTypeLike = np.float32,
    *,
    scale_kind: str,
    codes: npt.DTypeLike | None = None,
) -> Array:
    """Give the numbers that packed rows of 640 bytes stand for.

    Parameters
    ----------
    rows : ndarray of float8_e4m3fn, hifloat8 or uint8, shape (..., 640)
        Packed rows.
    dtype : dtype or its name
        Of the numbers. float32: code times scale, not rounded. float16 or bfloat16: that rounded; bfloat16 is what
        the operator computes with.
    scale_kind : {"e8m0", "bf16"}
        Kind of scale.
    codes : dtype or its name, optional
        What rows of uint8 hold: float8_e4m3fn or hifloat8.

    Returns
    -------
    ndarray, shape (..., 512)
        Rows, nope before rope.

    Raises
    ------
    InvalidArgumentError
        Rows have another size, or an option is not as said.
    ArgumentTypeError
        A dtype is not as said.

    See Also
    --------
    pack : The way there.
    from_foreign_rows : For rows of other sizes.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.linspace(-3, 3, 512, dtype=np.float32)
    >>> back = unpack(pack(values, scale_kind="e8m0"), scale_kind="e8m0")
    >>> bool(np.abs(back - values).max() <= 0.125)
    True
    """
    layout = find_layout(PACKED.row_bytes, scale_kind)
    array = as_packed(rows, "rows")
    own = check_codes(_codes_of(array, codes), layout, "rows")
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(1, -1, layout.row_bytes)
    count = flat.shape[1]
    numbers = np.empty((count, layout.channels), number_dtype(as_dtype(dtype), "dtype"))
    if count:
        call_unpack(flat, numbers, layout, own, None)
    return numbers.reshape(*array.shape[:-1], layout.channels)


def as_packed(rows: object, parameter: str) -> Array:
    """Check that an array has rows of 640 bytes; for others, name who converts them."""
    if not isinstance(rows, np.ndarray):
        raise wrong_type(parameter, "an ndarray", type(rows).__name__)
    size = rows.shape[-1] if rows.ndim else 0
    if rows.dtype.itemsize != 1:
        raise wrong_type(parameter, "float8_e4m3fn, hifloat8 or uint8", str(rows.dtype))
    if size != PACKED.row_bytes:
        fix = f"acl_attn.kvcache.from_foreign_rows converts rows of {size} bytes" if size in _CONVERTED else ""
        if size == PACKED.channels:
            fix = "rows of numbers, or of codes without scales, have to be packed: acl_attn.kvcache.pack"
        raise invalid(parameter, f"rows of {PACKED.row_bytes} bytes on the last axis", f"shape {rows.shape}", fix)
    return rows


def _codes_of(array: Array, codes: npt.DTypeLike | None) -> npt.DTypeLike:
    if array.dtype != np.uint8:
        if codes is not None and as_dtype(codes, "codes") != array.dtype:
            raise invalid("codes", "None, as the rows have a dtype that says it", repr(codes))
        return array.dtype
    if codes is None:
        raise invalid("codes", "float8_e4m3fn or hifloat8 for rows of uint8", None)
    return codes
