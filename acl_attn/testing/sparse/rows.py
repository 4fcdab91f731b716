# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random rows, index lists, and the memory that they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.dtypes import encode
from acl_attn.testing.elements import ELEMENTS
from acl_attn.testing.pages import Paging, block_table
from acl_attn.testing.poison import poisoned
from acl_attn.testing.sparse.cases import DIM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.sparse.cases import SparseCase

Array = NDArray[Any]
Lists = NDArray[np.int32]

PACKED_BYTES = 640


def random_rows(generator: np.random.Generator, count: int, case: SparseCase) -> Array:
    """Draw rows, packed if the case has such.

    Parameters
    ----------
    generator : numpy.random.Generator
        Where they come from.
    count : int
        How many.
    case : SparseCase
        Says of what format.

    Returns
    -------
    ndarray, shape (count, 1, 512) or (count, 1, 640)
        The rows.
    """
    if not case.kv_format:
        return generator.standard_normal((count, 1, DIM)).astype(ELEMENTS[case.dtype])
    row = np.full((count, PACKED_BYTES), 0xFF, np.uint8)  # the padding is never looked at
    row[:, :128] = generator.standard_normal((count, 64)).astype(ml_dtypes.bfloat16).view(np.uint8)
    nope = generator.standard_normal((count, 448))
    exponents = generator.integers(-3, 2, (count, 7))
    coded = encode(nope / np.repeat(2.0**exponents, 64, axis=1), case.kv_format)
    row[:, 128:576] = coded.view(np.uint8)
    row[:, 576:583] = (exponents + 127).astype(np.uint8)
    return row.view(ELEMENTS[case.kv_format]).reshape(count, 1, PACKED_BYTES)


def random_list(
    generator: np.random.Generator, entries: int, visible: int, stored: int, looked_at: int, how: str
) -> Lists:
    """Draw an index list. Behind its end, and beyond what is looked at, stands what may not be read.

    Parameters
    ----------
    generator : numpy.random.Generator
        Where it comes from.
    entries : int
        Entries.
    visible, stored : int
        Rows that the query may see, and that there are.
    looked_at : int
        How many entries are looked at.
    how : str
        As for `SparseCase`.

    Returns
    -------
    ndarray of int32, shape (entries,)
        The list.
    """
    made = generator.choice(np.array([-7, 2**31 - 1, -(2**31), stored + 1, -1], np.int64), entries).astype(np.int32)
    looked_at = min(entries, max(looked_at, 0))
    count = {"empty": 0, "short": int(generator.integers(0, looked_at + 1))}.get(how, looked_at)
    if how in ("ahead", "repeated"):
        among = stored if how == "ahead" else visible
        chosen = generator.integers(0, among, count) if among else np.empty(0, np.int64)
    else:
        chosen = generator.permutation(visible)[:count]
    made[: len(chosen)] = chosen
    if len(chosen) < looked_at:
        made[len(chosen)] = -1
    return made


def batched(sequences: Sequence[Array], room: int) -> Array:
    """Put sequences on axes of their own, in front of poison.

    Parameters
    ----------
    sequences : sequence of ndarray
        Shapes (tokens, ...).
    room : int
        Tokens beyond the longest.

    Returns
    -------
    ndarray, shape (batch, tokens, ...)
        All of them.
    """
    longest = max((len(own) for own in sequences), default=0)
    made = poisoned((len(sequences), max(longest + room, 1), *sequences[0].shape[1:]), sequences[0].dtype)
    for target, own in zip(made, sequences, strict=True):
        target[: len(own)] = own
    return made


def packed(sequences: Sequence[Array], rooms: Sequence[int]) -> Array:
    """Put sequences behind one another, poison in between.

    Parameters
    ----------
    sequences : sequence of ndarray
        Shapes (tokens, ...).
    rooms : sequence of int
        Tokens that each has room for.

    Returns
    -------
    ndarray, shape (sum of rooms, ...)
        All of them.
    """
    made = poisoned((sum(rooms), *sequences[0].shape[1:]), sequences[0].dtype)
    start = 0
    for own, room in zip(sequences, rooms, strict=True):
        made[start : start + len(own)] = own
        start += room
    return made


def pools(case: SparseCase, streams: Sequence[Sequence[Array]]) -> list[tuple[Array, NDArray[np.int32]]]:
    """Put streams into pools of pages; what no sequence has is poisoned.

    Parameters
    ----------
    case : SparseCase
        Says how pools are laid out.
    streams : sequence of sequence of ndarray
        For each stream, each sequence's rows, (tokens, 1, width).

    Returns
    -------
    list of (ndarray, ndarray)
        For each stream the pool, (blocks, block_size, 1, width), and the block table.
    """
    sizes = (case.block_size, case.cmp_block_size)[: len(streams)]
    width, dtype = streams[0][0].shape[-1], streams[0][0].dtype
    tables = [
        block_table([len(own) for own in rows], Paging(block_size=size, seed=case.seed + number))
        for number, (rows, size) in enumerate(zip(streams, sizes, strict=True))
    ]
    made = []
    if case.is_fused:
        count = max(blocks for _, blocks in tables)
        memory = poisoned((count, sum(sizes) * width + case.block_gap), dtype)
        starts = np.cumsum([0, *sizes]) * width
        views = [memory[:, start : start + size * width] for start, size in zip(starts, sizes, strict=False)]
    else:
        views = [
            poisoned((blocks, size * width + case.block_gap), dtype)[:, : size * width]
            for (_, blocks), size in zip(tables, sizes, strict=True)
        ]
    for view, (table, _), rows, size in zip(views, tables, streams, sizes, strict=True):
        itemsize = dtype.itemsize
        pool = np.lib.stride_tricks.as_strided(
            view,
            (len(view), size, 1, width),
            (view.strides[0], width * itemsize, width * itemsize, itemsize),
        )
        for blocks, own in zip(table, rows, strict=True):
            for start in range(0, len(own), size):
                part = own[start : start + size]
                pool[blocks[start // size], : len(part)] = part
        made.append((pool, table))
    return made
