# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How many tokens of a tensor each sequence has, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Extents:
    """The sequences of one tensor.

    Attributes
    ----------
    starts : tuple of int
        Where each sequence begins on the token axis; 0 unless sequences share one.
    counts : tuple of int
        Tokens that count.
    """

    starts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return len(self.counts)


def batch_of(layout_q: str, query: Array, cu_seqlens_q: Array | None) -> int:
    """Count the sequences of a call.

    Parameters
    ----------
    layout_q : {"BSND", "TND"}
        Axes of the query.
    query : ndarray
        The query.
    cu_seqlens_q : ndarray or None
        Running totals of its lengths, with a leading 0; for TND.

    Returns
    -------
    int
        The batch.
    """
    if layout_q == "BSND":
        return len(query)
    if cu_seqlens_q is None:
        raise ValueError("cu_seqlens_q: expected running totals for layout_q TND, got None")
    return len(cu_seqlens_q) - 1


def extents(batch: int, room: int, cu_seqlens: Array | None, seqused: Array | None, parameter: str) -> Extents:
    """Tell the sequences of a tensor from what a call says about them.

    Parameters
    ----------
    batch : int
        Number of sequences.
    room : int
        Tokens that there is room for: of the token axis if sequences share one, otherwise of each sequence.
    cu_seqlens : ndarray of int32, shape (batch + 1,), or None
        Running totals with a leading 0, if sequences share a token axis.
    seqused : ndarray of int32, shape (batch,), or None
        How many tokens count; otherwise all that there is room for.
    parameter : str
        What messages call the tensor: "q", "ori_kv" or "cmp_kv".

    Returns
    -------
    Extents
        The sequences.

    Raises
    ------
    ValueError
        If totals decrease or do not end at the token axis' end, or more tokens count than there are.
    """
    starts, rooms = [0] * batch, [room] * batch
    if cu_seqlens is not None:
        totals = [int(total) for total in cu_seqlens]
        if len(totals) != batch + 1 or totals[0] != 0 or totals[-1] != room or totals != sorted(totals):
            raise ValueError(
                f"cu_seqlens_{parameter}: expected {batch + 1} totals that rise from 0 to {room}, got {totals}"
            )
        starts, rooms = totals[:-1], np.diff(totals).tolist()
    counts = rooms if seqused is None else [int(count) for count in seqused]
    if len(counts) != batch:
        raise ValueError(f"seqused_{parameter}: expected {batch} counts, got {len(counts)}")
    for sequence, (count, most) in enumerate(zip(counts, rooms, strict=True)):
        if not 0 <= count <= most:
            raise ValueError(f"seqused_{parameter}[{sequence}]: expected 0 to {most}, got {count}")
    return Extents(tuple(starts), tuple(counts))
