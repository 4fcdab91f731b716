# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which keys a row sees: the sparse modes, written as one boolean matrix per sequence."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TOKEN_LIMIT = 2147483647


def visible_keys(
    sq: int,
    skv: int,
    *,
    sparse_mode: int,
    pre_tokens: int = TOKEN_LIMIT,
    next_tokens: int = TOKEN_LIMIT,
    hidden: NDArray[Any] | None = None,
    is_windowed: bool = True,
) -> NDArray[np.bool_]:
    """Tell which keys each query row of one sequence sees.

    Parameters
    ----------
    sq, skv : int
        Actual lengths of the sequence.
    sparse_mode : int
        0: mask and window from the top left corner; 1: mask only; 2: causal from the top left corner;
        3: causal from the bottom right corner; 4: window from the bottom right corner; 9: all but the last ``sq``
        keys are seen, and the mask decides about these.
    pre_tokens, next_tokens : int
        Keys seen before and after the diagonal, in modes 0 (with a mask) and 4. May be negative.
    hidden : ndarray, shape (>= sq, >= skv), optional
        Modes 0 and 1: non-zero hides a key. Mode 9: shape (sq, sq).
    is_windowed : bool
        Whether the window counts in mode 0. It does not where sequences are padded on the left.

    Returns
    -------
    ndarray of bool, shape (sq, skv)
        True where the row sees the key.

    Raises
    ------
    ValueError
        If the mode does not exist, or lacks its mask.
    """
    row = np.arange(sq, dtype=np.int64)[:, None]
    column = np.arange(skv, dtype=np.int64)[None, :]
    pre = min(max(pre_tokens, -TOKEN_LIMIT), TOKEN_LIMIT)
    following = min(max(next_tokens, -TOKEN_LIMIT), TOKEN_LIMIT)
    shift = skv - sq
    visible = np.ones((sq, skv), dtype=np.bool_)
    if sparse_mode == 0:
        if hidden is not None:
            if is_windowed:
                visible &= (row - pre <= column) & (column <= row + following)
            visible &= hidden[:sq, :skv] == 0
    elif sparse_mode == 1:
        if hidden is not None:
            visible &= hidden[:sq, :skv] == 0
        elif skv > 0:
            raise ValueError("atten_mask: expected a mask for sparse_mode 1, got None")
    elif sparse_mode == 2:
        visible &= column <= row
    elif sparse_mode == 3:
        visible &= column <= row + shift
    elif sparse_mode == 4:
        visible &= (row + shift - pre <= column) & (column <= row + shift + following)
    elif sparse_mode == 9:
        if hidden is None or shift < 0:
            raise ValueError(
                f"atten_mask: expected a mask, and no more rows than keys, for sparse_mode 9, got {shift=}"
            )
        visible[:, shift:] = hidden[:sq, :sq] == 0
    else:
        raise ValueError(f"sparse_mode: expected 0 to 4 or 9, got {sparse_mode}")
    return visible


def full_mask(mask: NDArray[Any], batch: int, rows: int, columns: int) -> NDArray[Any]:
    """View the mask tensor of modes 0 and 1 as one matrix per sequence.

    Parameters
    ----------
    mask : ndarray
        Shape (rows, columns), (1 or batch, rows, columns) or (1 or batch, 1, rows, columns); rows and columns may be
        more than needed.
    batch, rows, columns : int
        Number of sequences, and the extents that the mask must at least have.

    Returns
    -------
    ndarray, shape (batch, >= rows, >= columns)
        A view.

    Raises
    ------
    ValueError
        If the shape does not fit.
    """
    matrices = mask
    if mask.ndim == 4 and mask.shape[1] == 1:
        matrices = mask[:, 0]
    elif mask.ndim == 2:
        matrices = mask[None]
    if (
        matrices.ndim != 3
        or matrices.shape[0] not in (1, batch)
        or matrices.shape[1] < rows
        or matrices.shape[2] < columns
    ):
        raise ValueError(
            f"atten_mask: expected shape (1 or {batch}, 1, >= {rows}, >= {columns}), "
            f"or without the second axis, got {mask.shape}"
        )
    return np.broadcast_to(matrices, (batch, *matrices.shape[1:]))


def tree_mask(mask: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[Any]]:
    """Take the mask tensor of mode 9 apart.

    Parameters
    ----------
    mask : ndarray
        Shape (batch, rows, rows); or of one axis, with the square of each sequence's length of elements for it.
    lengths : sequence of int
        Rows of each sequence.

    Returns
    -------
    list of ndarray
        For each sequence a matrix of at least (rows, rows).
    """
    if mask.ndim > 1:
        return list(mask.reshape(-1, *mask.shape[-2:]))
    ends = list(accumulate(length * length for length in lengths))
    return [
        mask[end - length * length : end].reshape(length, length) for end, length in zip(ends, lengths, strict=True)
    ]
