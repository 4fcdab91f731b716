# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which rows of a token axis belong to which sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LengthsLike = int | Sequence[int] | NDArray[np.integer[Any]] | None


def packed_rows(ends: LengthsLike, tokens: int, parameter: str) -> list[slice]:
    """Rows of each sequence on a packed token axis.

    Parameters
    ----------
    ends : sequence of int
        Where each sequence ends: cumulative lengths without a leading 0.
    tokens : int
        Extent of the token axis.
    parameter : str
        Name in messages.

    Returns
    -------
    list of slice
        One per sequence.

    Raises
    ------
    ValueError
        If lengths are missing, decrease, or do not end at ``tokens``.
    """
    given = as_list(ends, parameter)
    if not given and not tokens:
        return []
    if not given:
        raise ValueError(f"{parameter}: expected one end per sequence for a packed layout, got none")
    starts = [0, *given[:-1]]
    for position, (start, end) in enumerate(zip(starts, given, strict=True)):
        if end < start:
            raise ValueError(f"{parameter}[{position}]: expected at least {start}, got {end}; lengths are cumulative")
    if given[-1] != tokens:
        raise ValueError(f"{parameter}[-1]: expected {tokens}, the extent of the token axis, got {given[-1]}")
    return [slice(start, end) for start, end in zip(starts, given, strict=True)]


def lengths_per_sequence(lengths: LengthsLike, capacities: Sequence[int], parameter: str) -> list[int]:
    """Length of each sequence of a batch.

    Parameters
    ----------
    lengths : int, sequence of int or None
        None: full. One number: the same for all. Otherwise at least one per sequence; more are ignored.
    capacities : sequence of int
        The room each sequence has; as many as there are sequences.
    parameter : str
        Name in messages.

    Returns
    -------
    list of int
        One per sequence.

    Raises
    ------
    ValueError
        If there are too few lengths, or one is negative or beyond its room.
    """
    batch = len(capacities)
    given = as_list(lengths, parameter)
    if not given:
        return list(capacities)
    if len(given) == 1:
        given = given * batch
    if len(given) < batch:
        raise ValueError(f"{parameter}: expected 1 or at least {batch} lengths, got {len(given)}")
    for position, (length, room) in enumerate(zip(given, capacities, strict=False)):
        if not 0 <= length <= room:
            raise ValueError(f"{parameter}[{position}]: expected 0 to {room}, got {length}")
    return given[:batch]


def padded_rows(lengths: Sequence[int], capacities: Sequence[int], padding: int | None) -> list[slice]:
    """Rows of each sequence on a token axis of its own.

    Parameters
    ----------
    lengths, capacities : sequence of int
        Length of each sequence, and the room it has.
    padding : int or None
        Rows after the sequence's last one, if sequences stand at the end of their room; negative counts as 0. None:
        they stand at its start.

    Returns
    -------
    list of slice
        One per sequence. Empty if sequence and padding do not fit.
    """
    if padding is None:
        return [slice(0, length) for length in lengths]
    ends = [room - max(padding, 0) for room in capacities]
    return [
        slice(end - length, end) if length <= end else slice(0, 0) for end, length in zip(ends, lengths, strict=True)
    ]


def as_list(lengths: LengthsLike, parameter: str) -> list[int]:
    """Accept one length or several.

    Parameters
    ----------
    lengths : int, sequence of int or None
        What the caller gave.
    parameter : str
        Name in messages.

    Returns
    -------
    list of int
        Empty for None.

    Raises
    ------
    TypeError
        If an entry is no integer.
    """
    if lengths is None:
        return []
    entries = np.atleast_1d(np.asarray(lengths))
    if entries.ndim != 1 or (entries.size and entries.dtype.kind not in "iu"):
        raise TypeError(f"{parameter}: expected integers, got {lengths!r}")
    return [int(entry) for entry in entries]
