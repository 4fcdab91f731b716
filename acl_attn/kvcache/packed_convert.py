# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packed rows of 640 bytes from and to the rows of other operators and libraries."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import dtype_name
from ..errors import invalid, wrong_type
from ..values import as_array, flag
from .packed import as_packed
from .packed_calls import call_pack, call_unpack
from .packed_layout import PACKED, RowLayout, find_layout
from .packed_planes import join_planes, split_planes

__all__ = ["from_foreign_rows", "to_foreign_rows"]

Array = npt.NDArray[Any]
Octets = npt.NDArray[np.uint8]

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_FOREIGN = (584, 608, 656)


def from_foreign_rows(rows: Array, *, block_planar: bool | None = None, exact: bool = False) -> Array:
    """Convert rows of 608, 584 or 656 bytes to packed rows of 640 bytes with E8M0 scales.

    Codes and rope are copied. Scales that are powers of two are, too; a row with others is quantised anew. Rows of 656
    bytes have 64 channels of nope more, 448 to 511: they have to be zeros.

    Parameters
    ----------
    rows : ndarray of float8_e4m3fn, uint8 or int8, shape (..., 608), (..., 584) or (..., 656)
        Foreign rows; the last axis says which.
    block_planar : bool, optional
        Rows of 584 bytes only, where it has to be said: whether blocks, of shape (blocks, block_size, 584) or
        (blocks, block_size, 1, 584), hold all of their codes and rope first, then all scales, as FlashMLA's do.
        False: each row is by itself.
    exact : bool
        Refuse rows that would have to be quantised anew.

    Returns
    -------
    ndarray of float8_e4m3fn, shape (..., 640)
        Packed rows.

    Raises
    ------
    InvalidArgumentError
        Rows of another size, numbers that are not finite or that rows of 640 bytes can't hold, or with ``exact`` rows
        that are not copied as they are.

    See Also
    --------
    to_foreign_rows : The way back.
    packed_byte_map : Where the parts lie.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.zeros((2, 608), np.uint8)
    >>> rows[:, 576:590] = np.tile([0x80, 0x3F], 7)  # scales: bfloat16 of 1
    >>> rows[:, 128] = 0x38  # 1 as float8_e4m3fn
    >>> packed = from_foreign_rows(rows)
    >>> packed.shape, packed.view(np.uint8)[0, [128, 576]]
    ((2, 640), array([ 56, 127], dtype=uint8))
    """
    if not isinstance(rows, np.ndarray):
        raise wrong_type("rows", "an ndarray", type(rows).__name__)
    if rows.dtype not in (_E4M3, np.uint8, np.int8):
        raise wrong_type("rows", "float8_e4m3fn, or the same as uint8 or int8", str(rows.dtype))
    rows, exact = as_array(rows, "rows"), flag(exact, "exact")
    size = rows.shape[-1] if rows.ndim else 0
    if size not in _FOREIGN:
        fix = "they are packed rows already" if size == PACKED.row_bytes else ""
        raise invalid("rows", "rows of 608, 584 or 656 bytes on the last axis", f"shape {rows.shape}", fix)
    layout = find_layout(size)
    octets = np.ascontiguousarray(rows).view(np.uint8)
    if _is_planar(layout, block_planar):
        octets = join_planes(octets, "rows")
    flat = octets.reshape(-1, size)
    _check_dropped(flat, layout)
    exponents, is_power = _exponents(layout.part(flat, "scales"))
    made = np.zeros((len(flat), PACKED.row_bytes), np.uint8)
    made[:, PACKED.parts["rope"]] = layout.part(flat, "rope")
    made[:, PACKED.parts["nope"]] = layout.part(flat, "nope")[:, : PACKED.scaled]
    made[:, PACKED.parts["scales"]] = np.repeat(exponents, layout.tile // PACKED.tile, axis=1)[:, :7]
    _requantize(flat, layout, made, PACKED, np.flatnonzero(~is_power.all(axis=1)), exact=exact)
    return made.reshape(*rows.shape[:-1], PACKED.row_bytes).view(_E4M3)


def to_foreign_rows(
    rows: Array, row_bytes: int, *, block_planar: bool | None = None, exact: bool = False
) -> npt.NDArray[np.uint8]:
    """Convert packed rows of 640 bytes with E8M0 scales to rows of 608, 584 or 656 bytes.

    Codes, rope and scales are copied, but for rows of 656 bytes, whose tiles are of 128: where two tiles that become
    one have different scales, the row is quantised anew. Their channels 448 to 511 of nope become zeros.

    Parameters
    ----------
    rows : ndarray of float8_e4m3fn or uint8, shape (..., 640)
        Packed rows.
    row_bytes : {608, 584, 656}
        Which rows to make.
    block_planar : bool, optional
        As for `from_foreign_rows`: has to be said for 584, and only there.
    exact : bool
        Refuse rows that would have to be quantised anew.

    Returns
    -------
    ndarray of uint8, shape (..., row_bytes)
        The rows.

    Raises
    ------
    InvalidArgumentError
        An option is not as said, or with ``exact`` a row is not copied as it is.

    See Also
    --------
    from_foreign_rows : The way back.

    Examples
    --------
    >>> import numpy as np
    >>> packed = np.zeros((2, 16, 1, 640), np.uint8)
    >>> to_foreign_rows(packed, 584, block_planar=True).shape
    (2, 16, 1, 584)
    """
    array, exact = as_packed(rows, "rows"), flag(exact, "exact")
    if array.dtype not in (_E4M3, np.uint8):
        raise wrong_type("rows", "float8_e4m3fn or uint8: the other rows have no hifloat8", dtype_name(array.dtype))
    if row_bytes not in _FOREIGN:
        raise invalid("row_bytes", "608, 584 or 656", repr(row_bytes))
    layout = find_layout(row_bytes)
    is_planar = _is_planar(layout, block_planar)
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(-1, PACKED.row_bytes)
    codes = flat[:, PACKED.parts["scales"]]
    made = np.zeros((len(flat), row_bytes), np.uint8)
    made[:, layout.parts["rope"]] = flat[:, PACKED.parts["rope"]]
    made[:, layout.codes : layout.codes + PACKED.scaled] = flat[:, PACKED.parts["nope"]]
    anew = np.empty(0, np.int64)
    if layout.tile != PACKED.tile:
        codes = np.concatenate([codes, codes[:, -1:]], axis=1)  # the last tile's other half is zeros
        anew = np.flatnonzero((codes[:, ::2] != codes[:, 1::2]).any(axis=1))
        codes = codes[:, ::2]
    scales = np.ascontiguousarray(codes).view(ml_dtypes.float8_e8m0fnu).astype(layout.scale_dtype)
    made[:, layout.parts["scales"]] = scales.view(np.uint8)
    _requantize(flat, PACKED, made, layout, anew, exact=exact)
    made = made.reshape(*array.shape[:-1], row_bytes)
    return split_planes(made, "rows") if is_planar else made


def _is_planar(layout: RowLayout, block_planar: bool | None) -> bool:
    is_planar = block_planar is not None and flag(block_planar, "block_planar")
    has_choice = layout.row_bytes == 584
    if has_choice != (block_planar is not None):
        expected = "True or False for rows of 584 bytes" if has_choice else f"None for rows of {layout.row_bytes} bytes"
        raise invalid("block_planar", expected, block_planar, "FlashMLA's blocks are planar" if has_choice else "")
    return is_planar


def _check_dropped(flat: Octets, layout: RowLayout) -> None:
    """Refuse numbers in channels that packed rows do not have."""
    dropped = layout.part(flat, "nope")[:, PACKED.scaled :] & 0x7F
    if dropped.any():
        row, channel = np.argwhere(dropped)[0]
        raise invalid(
            f"rows[{row}], channel {PACKED.scaled + channel}",
            f"zeros in channels {PACKED.scaled} to {layout.scaled - 1}, which rows of {PACKED.row_bytes} bytes lack",
            "another number", "such rows belong to a model with 512 channels of nope",
        )  # fmt: skip


def _exponents(scales: Array) -> tuple[Octets, npt.NDArray[np.bool_]]:
    """Give scales as E8M0 codes, and which of them those stand for exactly."""
    if scales.dtype == ml_dtypes.float8_e8m0fnu:
        return scales.view(np.uint8), np.ones(scales.shape, np.bool_)
    with np.errstate(invalid="ignore"):
        numbers = scales.astype(np.float32)
    bits = numbers.view(np.uint32)
    is_normal = (bits & 0x807FFFFF == 0) & (bits != 0)
    return (bits >> 23).astype(np.uint8), is_normal & (bits < 0x7F800000) | (bits == 0x00400000)


def _requantize(
    source: Octets,
    source_layout: RowLayout,
    target: Octets,
    layout: RowLayout,
    chosen: npt.NDArray[Any],
    *,
    exact: bool,
) -> None:
    """Quantise the rows anew whose scales the other layout can't hold."""
    if not len(chosen):
        return
    if exact:
        raise invalid(
            f"rows[{chosen[0]}]", f"scales that rows of {layout.row_bytes} bytes hold", "others",
            "exact=False quantises such rows anew",
        )  # fmt: skip
    taken = np.empty((len(chosen), source_layout.channels), np.float32)
    call_unpack(np.ascontiguousarray(source[chosen])[None], taken, source_layout, _E4M3, None)
    wrong = np.argwhere(~np.isfinite(taken))
    if len(wrong):
        raise invalid(f"rows[{chosen[wrong[0][0]]}], channel {wrong[0][1]}", "finite numbers", "infinity or NaN")
    nope = min(layout.scaled, source_layout.scaled)
    numbers = np.zeros((len(chosen), layout.channels), np.float32)
    numbers[:, :nope], numbers[:, layout.scaled :] = taken[:, :nope], taken[:, source_layout.scaled :]
    made = np.empty((1, len(chosen), layout.row_bytes), np.uint8)
    call_pack(numbers, made, layout, _E4M3, None, None)
    target[chosen] = made[0]
