# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packed rows in pools of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import as_dtype
from ..errors import invalid, wrong_type
from ..values import as_array, integer
from .packed import as_packed
from .packed_calls import Slots, as_numbers, call_pack, call_unpack, number_dtype
from .packed_layout import PACKED, check_codes, find_layout

__all__ = ["read_packed", "slot_mapping", "write_packed"]

Array = npt.NDArray[Any]


def slot_mapping(
    block_table: npt.ArrayLike, lengths: npt.ArrayLike, block_size: int, *, first: npt.ArrayLike = 0
) -> Slots:
    """Give the slots of tokens in a pool: row ``t % block_size`` of its sequence's block ``t // block_size``.

    Parameters
    ----------
    block_table : array_like of int, shape (batch, blocks)
        Blocks of each sequence.
    lengths : array_like of int, shape (batch,)
        Tokens of each sequence, the new ones included.
    block_size : int
        Tokens of a block.
    first : int or array_like of int, shape (batch,)
        Where the new tokens begin: tokens ``first`` to ``lengths - 1`` are meant.

    Returns
    -------
    ndarray of int64, shape (sum of lengths - first,)
        Slots, one sequence behind the other.

    Raises
    ------
    InvalidArgumentError
        A length or block is out of range.

    See Also
    --------
    write_packed : Takes them.

    Examples
    --------
    >>> slot_mapping([[7, 2]], [5], 4, first=2)
    array([30, 31,  8])
    """
    table, ends, begins = (
        _integers(block_table, "block_table"),
        _integers(lengths, "lengths"),
        _integers(first, "first"),
    )
    block_size = integer(block_size, "block_size")
    if block_size < 1:
        raise invalid("block_size", "1 or more", block_size)
    if table.ndim != 2 or ends.shape != table.shape[:1]:
        raise invalid(
            "lengths", "shape (batch,), beside a block_table of (batch, blocks)", f"{ends.shape}, {table.shape}"
        )
    if begins.shape not in ((), ends.shape):
        raise invalid("first", f"one number, or shape {ends.shape}", f"shape {begins.shape}")
    begins = np.broadcast_to(begins, ends.shape)
    room = table.shape[1] * block_size
    _require((ends >= 0) & (ends <= room), ends, "lengths", f"0 to {room}, what the block table has room for")
    _require((begins >= 0) & (begins <= ends), begins, "first", "0 to the length")
    counts = ends - begins
    sequence = np.repeat(np.arange(len(ends)), counts)
    token = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - begins, counts)
    blocks = table[sequence, token // block_size]
    limit = np.iinfo(np.int64).max // block_size - 1
    wrong = np.flatnonzero((blocks < 0) | (blocks > limit))
    if wrong.size:
        where = f"block_table[{sequence[wrong[0]]}, {token[wrong[0]] // block_size}]"
        raise invalid(where, "a block, as the length needs it", int(blocks[wrong[0]]))
    result: Slots = blocks * block_size + token % block_size
    return result


def write_packed(
    pool: Array, values: npt.ArrayLike, slots: npt.ArrayLike, *, scale_kind: str, full_scale: float | None = None
) -> None:
    """Quantise rows of 512 channels, as `pack` does, straight into a pool of blocks.

    Parameters
    ----------
    pool : ndarray of float8_e4m3fn or hifloat8, shape (blocks, block_size, 640) or (blocks, block_size, 1, 640)
        Where to write. The block axis may have any stride that keeps blocks apart.
    values : array_like of float32, float16 or bfloat16, shape (..., 512)
        Rows. Finite.
    slots : array_like of int, one for each row
        ``block * block_size + row`` in the block, each at most once; -1: the row is passed over. See `slot_mapping`.
    scale_kind : {"e8m0", "bf16"}
        Kind of scale; the operator takes ``"e8m0"``.
    full_scale : float, optional
        As for `pack`.

    Raises
    ------
    InvalidArgumentError
        A slot is out of range or occurs twice, or memory overlaps: nothing was written. Or a number is not finite: its
        row was not written, other rows may have been.
    ArgumentTypeError
        A dtype is not as said.

    See Also
    --------
    read_packed : The way back.

    Examples
    --------
    >>> import ml_dtypes, numpy as np
    >>> pool = np.zeros((8, 4, 1, 640), ml_dtypes.float8_e4m3fn)
    >>> write_packed(pool, np.ones((3, 512), np.float32), slot_mapping([[7, 2]], [5], 4, first=2), scale_kind="e8m0")
    >>> read_packed(pool, [31, 0], scale_kind="e8m0")[:, 0]
    array([1., 0.], dtype=float32)
    """
    layout = find_layout(PACKED.row_bytes, scale_kind)
    blocks = _as_blocks(pool)
    codes = check_codes(pool.dtype, layout, "pool")
    if not pool.flags.writeable:
        raise invalid("pool", "an array that may be written", "a read-only one")
    numbers = as_numbers(values, layout)
    call_pack(numbers, blocks, layout, codes, _as_slots(slots, np.shape(values)[:-1]), full_scale)


def read_packed(pool: Array, slots: npt.ArrayLike, dtype: npt.DTypeLike = np.float32, *, scale_kind: str) -> Array:
    """Give the numbers that rows of a pool stand for.

    Parameters
    ----------
    pool : ndarray of float8_e4m3fn or hifloat8, shape (blocks, block_size, 640) or (blocks, block_size, 1, 640)
        Packed rows.
    slots : array_like of int
        Which ones; -1 gives zeros.
    dtype : dtype or its name
        As for `unpack`.
    scale_kind : {"e8m0", "bf16"}
        Kind of scale.

    Returns
    -------
    ndarray, shape slots.shape + (512,)
        Rows, nope before rope.

    Raises
    ------
    InvalidArgumentError
        A slot is out of range.

    See Also
    --------
    write_packed : The way there.
    """
    layout = find_layout(PACKED.row_bytes, scale_kind)
    blocks = _as_blocks(pool)
    codes = check_codes(pool.dtype, layout, "pool")
    slots = as_array(slots, "slots")
    shape = slots.shape
    wanted = _as_slots(slots, shape)
    numbers = np.empty((wanted.size, layout.channels), number_dtype(as_dtype(dtype), "dtype"))
    call_unpack(blocks, numbers, layout, codes, wanted)
    return numbers.reshape(*shape, layout.channels)


def _as_blocks(pool: object) -> Array:
    """View a pool as octets of shape (blocks, block_size, 640)."""
    array = as_packed(pool, "pool")
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[2] != 1) or array.shape[1] == 0:
        expected = "shape (blocks, block_size, 640) or (blocks, block_size, 1, 640)"
        raise invalid("pool", expected, f"shape {array.shape}")
    blocks = (array[:, :, 0] if array.ndim == 4 else array).view(np.uint8)
    is_dense = blocks.strides[2] == 1 and (blocks.shape[1] == 1 or blocks.strides[1] == PACKED.row_bytes)
    if not is_dense:
        raise invalid("pool", "blocks whose rows are dense", f"strides {array.strides}")
    return blocks


def _as_slots(slots: npt.ArrayLike, shape: tuple[int, ...]) -> Slots:
    array = _integers(slots, "slots")
    count = int(np.prod(shape))
    if array.size != count or (array.shape != shape and array.ndim != 1):
        raise invalid("slots", f"one for each row: shape {shape}", f"shape {array.shape}")
    return np.ascontiguousarray(array).reshape(-1)


def _integers(values: npt.ArrayLike, parameter: str) -> npt.NDArray[np.int64]:
    array = as_array(values, parameter)
    if array.size == 0 and array.dtype == np.float64:  # an empty list
        return array.astype(np.int64)
    if array.dtype.kind != "i" and array.dtype not in (np.uint8, np.uint16, np.uint32):
        raise wrong_type(parameter, "integers up to int64", f"dtype {array.dtype}")
    return array.astype(np.int64)


def _require(holds: npt.NDArray[np.bool_], values: npt.NDArray[np.int64], parameter: str, expected: str) -> None:
    wrong = np.flatnonzero(~holds)
    if wrong.size:
        raise invalid(f"{parameter}[{wrong[0]}]", expected, int(values[wrong[0]]))
