# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Padding to the shapes that operators want or that a recorded plan has, in ways that do not change results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import invalid
from ..lengths import Lengths, LengthsLike, as_lengths, packed_lengths
from ..values import as_array, integer, new_array, positive

__all__ = ["PackedPadding", "pad_heads", "pad_tnd"]

Array = npt.NDArray[Any]


class PackedPadding(NamedTuple):
    """A padded packed batch.

    Attributes
    ----------
    query : ndarray
        The tokens, and zeros up to the wanted number.
    q_lengths, kv_lengths : Lengths
        With one more sequence, of the zeros and without keys.
    block_table : ndarray or None
        With one more row, of -1.
    """

    query: Array
    q_lengths: Lengths
    kv_lengths: Lengths
    block_table: npt.NDArray[np.int32] | None


def pad_tnd(
    query: Array,
    q_lengths: LengthsLike,
    kv_lengths: LengthsLike,
    tokens: int,
    *,
    token_axis: int = 0,
    block_table: npt.NDArray[np.int32] | None = None,
) -> PackedPadding:
    """Pad a packed query to a number of tokens, by one more sequence.

    A packed layout's last running total must be the number of tokens that the query has, so rows that merely fill it up
    have to belong to a sequence. That sequence has no keys: its output is 0, and its LSE +inf.

    Parameters
    ----------
    query : ndarray
        Packed tokens.
    q_lengths, kv_lengths : int, sequence of int or Lengths
        Tokens and keys of each sequence.
    tokens : int
        How many tokens there shall be.
    token_axis : int
        0 for TND, 1 for NTD.
    block_table : ndarray of int32, optional
        The block table of a paged cache.

    Returns
    -------
    PackedPadding
        Query, lengths and block table. There is one more sequence even if no token had to be added, so that shapes
        depend on `tokens` alone.

    See Also
    --------
    pad_heads : Pads the head dim.

    Examples
    --------
    >>> import numpy as np
    >>> padded = pad_tnd(np.ones((65, 8, 128), np.float16), [65], [300], 72)
    >>> padded.query.shape, padded.q_lengths.cumulative, padded.kv_lengths.per_sequence
    ((72, 8, 128), (65, 72), (300, 0))
    """
    array, tokens, token_axis = as_array(query, "query"), integer(tokens, "tokens"), integer(token_axis, "token_axis")
    if not 0 <= token_axis < array.ndim:
        raise invalid("token_axis", f"an axis of shape {array.shape}", token_axis)
    have = array.shape[token_axis]
    q = packed_lengths(q_lengths, have, "q_lengths", "query", "TND")
    kv = as_lengths(kv_lengths, q.batch, "kv_lengths", "as q_lengths has")
    if tokens < have:
        raise invalid("tokens", f"at least {have}, the tokens of query", tokens)
    table = None if block_table is None else as_array(block_table, "block_table")
    if table is not None:
        if table.ndim != 2 or table.shape[0] != q.batch:
            raise invalid("block_table", f"{q.batch} rows, one a sequence", f"shape {table.shape}")
        table = np.concatenate([table, np.full((1, table.shape[1]), -1, table.dtype)])
    return PackedPadding(
        _pad(array, token_axis, tokens - have, "tokens"),
        Lengths((*q.per_sequence, tokens - have)),
        Lengths((*kv.per_sequence, 0)),
        table,
    )


def pad_heads(array: Array, dim: int, *, num_heads: int | None = None) -> Array:
    """Pad the head dim with zeros, for operators that take only some head dims.

    The scores do not change, but a default scale would: pass ``scale=1 / sqrt(old_dim)``. Of an output with a padded
    value, the first channels of each head are the result.

    Parameters
    ----------
    array : ndarray
        Query, key or value whose last axis is the head dim.
    dim : int
        The wanted head dim.
    num_heads : int, optional
        For layouts that fuse heads and channels (BSH, BnBsH): how many heads the last axis holds.

    Returns
    -------
    ndarray
        A copy with the last axis `dim` (times `num_heads`) long.

    See Also
    --------
    pad_tnd : Pads a packed batch.

    Examples
    --------
    >>> import numpy as np
    >>> pad_heads(np.ones((2, 5, 3 * 84), np.float16), 128, num_heads=3).shape
    (2, 5, 384)
    """
    known, dim = as_array(array, "array"), integer(dim, "dim")
    heads = 1 if num_heads is None else positive(num_heads, "num_heads")
    if known.ndim == 0 or known.shape[-1] % heads:
        raise invalid("array", f"a last axis that {heads} heads divide", f"shape {known.shape}")
    own = known.shape[-1] // heads
    if dim < own:
        raise invalid("dim", f"at least {own}, the head dim of the array", dim)
    split = known.reshape(*known.shape[:-1], heads, own)
    return _pad(split, split.ndim - 1, dim - own, "dim").reshape(*known.shape[:-1], heads * dim)


def _pad(array: Array, axis: int, count: int, parameter: str) -> Array:
    """Append zeros; all element types have them as bytes of 0, records included."""
    shape = list(array.shape)
    shape[axis] = count
    zeros = new_array(tuple(shape), array.dtype, parameter)
    zeros[...] = np.zeros((), array.dtype)
    return np.concatenate([array, zeros], axis=axis)
