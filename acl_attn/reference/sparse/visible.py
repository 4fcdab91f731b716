# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which rows of the original and of the compressed stream a query row sees.

Queries are aligned to the right: the last one stands at the last original token, so row ``i`` of ``sq`` stands at
``p = so - sq + i``, which is negative where there are more queries than tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

NO_MASK, CAUSAL, BAND = 0, 3, 4


def window(position: int, so: int, mask_mode: int, left: int, right: int) -> Indices:
    """Original tokens that a query at a position sees without an index list.

    Parameters
    ----------
    position : int
        Where the query stands.
    so : int
        Original tokens.
    mask_mode : int
        0: all; 3: up to its own position; 4: the window.
    left, right : int
        Tokens before and after its own, -1 for all; mode 4.

    Returns
    -------
    ndarray of int64
        Positions, ascending.
    """
    first, last = 0, so - 1
    if mask_mode == CAUSAL:
        last = min(position, last)
    elif mask_mode == BAND:
        if left != -1:
            first = max(position - left, 0)
        if right != -1:
            last = min(position + right, last)
    elif mask_mode != NO_MASK:
        raise ValueError(f"ori_mask_mode: expected 0, 3 or 4, got {mask_mode}")
    return np.arange(first, last + 1, dtype=np.int64)


def compressed_count(position: int, sc: int, ratio: int, mask_mode: int) -> int:
    """Count the compressed rows that a query at a position may see.

    Compressed row ``c`` stands for the tokens from ``c * ratio`` on and is seen once its last token is not ahead.

    Parameters
    ----------
    position : int
        Where the query stands among the tokens that the compressed stream stands for.
    sc : int
        Compressed rows.
    ratio : int
        Tokens that a row stands for.
    mask_mode : int
        0: all rows; 3: those that are not ahead.

    Returns
    -------
    int
        So many rows from the first on.
    """
    if mask_mode == NO_MASK:
        return sc
    if mask_mode != CAUSAL:
        raise ValueError(f"cmp_mask_mode: expected 0 or 3, got {mask_mode}")
    return min(max((position + 1) // ratio, 0), sc)


def listed(entries: NDArray[Any], looked_at: int, visible: int, stored: int, parameter: str) -> Indices:
    """Walk an index list.

    Parameters
    ----------
    entries : ndarray of int32, shape (k,)
        The list of one query row. A row that stands in it twice counts twice.
    looked_at : int
        How many entries from the first on are looked at.
    visible : int
        Rows that the query may see; entries of rows beyond are passed over.
    stored : int
        Rows that there are.
    parameter : str
        Name in messages.

    Returns
    -------
    ndarray of int64
        Rows in the order of the list, up to the first -1.

    Raises
    ------
    ValueError
        If an entry ahead of the first -1 is a row that there is not.
    """
    taken = entries[: max(looked_at, 0)].astype(np.int64)
    ends = np.flatnonzero(taken == -1)
    if ends.size:
        taken = taken[: ends[0]]
    wrong = (taken < -1) | (taken >= stored)
    if wrong.any():
        where = int(wrong.argmax())
        raise ValueError(f"{parameter}[..., {where}]: expected -1 or a row in 0 to {stored - 1}, got {taken[where]}")
    return taken[taken < visible]
