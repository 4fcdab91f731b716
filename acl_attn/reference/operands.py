# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From the tensors of a call to readers: lists, pages, shared prefixes, and quantised caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acl_attn.reference.extents import LengthsLike, as_list, lengths_per_sequence, packed_rows, padded_rows
from acl_attn.reference.formats import elements
from acl_attn.reference.scales import Dequantised
from acl_attn.reference.storage import Contiguous, Members, Paged, Prefixed, Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.reference.layouts import Layout
    from acl_attn.reference.storage import Reader

Array = NDArray[Any]
Store: TypeAlias = Contiguous | Members | Paged


@dataclass(frozen=True)
class KvScale:
    """Scale and offset of a quantised key or value, and how they are to be read.

    Attributes
    ----------
    mode : int
        See `acl_attn.reference.scales.Dequantised`.
    scale : ndarray
        The scale.
    offset : ndarray or None
        The offset.
    """

    mode: int
    scale: Array
    offset: Array | None


def open_store(
    tensors: Array | Sequence[Array],
    parameter: str,
    *,
    layout: Layout,
    kv_heads: int,
    block_table: Array | None,
    block_size: int,
) -> Store:
    """Open a key or value.

    Parameters
    ----------
    tensors : ndarray or sequence of ndarray
        One tensor, or one for each sequence, or a paged cache.
    parameter : str
        Name in messages.
    layout : Layout
        The call's.
    kv_heads : int
        Its number of heads.
    block_table : ndarray or None
        Given for a paged cache.
    block_size : int
        Tokens in a block.

    Returns
    -------
    Reader
        Of the stored numbers.
    """
    members = [elements(member) for member in as_members(tensors)]
    if block_table is not None:
        if len(members) != 1:
            raise ValueError(f"{parameter}: expected one paged cache with block_table, got {len(members)} tensors")
        return Paged(members[0], block_table, block_size, kv_heads, parameter)
    if len(members) == 1:
        return Contiguous(members[0], layout.query, kv_heads, parameter)
    return Members(members, layout.query, kv_heads, parameter)


def as_members(tensors: Array | Sequence[Array]) -> list[Array]:
    """List the tensors of a key or value."""
    return list(tensors) if isinstance(tensors, list | tuple) else [np.asarray(tensors)]


def dequantised(store: Store | Shared, scale: KvScale | None, rounded_to: DTypeLike | None, **where: Any) -> Reader:
    """Read what stored numbers stand for; without a scale themselves."""
    if scale is None:
        return store
    return Dequantised(store, scale.scale, scale.offset, scale.mode, rounded_to=rounded_to, **where)


def with_prefix(own: Reader, prefix: Reader, room: int, length: Sequence[int] | None) -> Prefixed:
    """Put a shared prefix before every sequence.

    Parameters
    ----------
    own, prefix : Reader
        The sequences' tokens and the shared ones.
    room : int
        How many shared ones there are.
    length : sequence of int or None
        How many of them count; None: all.

    Returns
    -------
    Prefixed
        Both.
    """
    count = room if length is None or len(length) == 0 else int(length[0])
    if not 0 <= count <= room:
        raise ValueError(f"actual_shared_prefix_len: expected 0 to {room}, got {count}")
    return Prefixed(prefix, count, own)


def query_rows(query: Contiguous, lengths: LengthsLike, padding: Array | None) -> list[slice]:
    """Rows of each sequence on the query's token axis."""
    name = "actual_seq_lengths"
    if query.is_packed:
        return packed_rows(lengths, len(query.tokens), name)
    rooms = query.rooms(len(query.tokens))
    # One row has nothing to its left: the operator takes no notice of the padding then.
    after = first_of(padding, "query_padding_size") if query.tokens.shape[1] > 1 else None
    if after is not None and not as_list(lengths, name):
        raise ValueError(f"{name}: expected lengths with query_padding_size, got none")
    return padded_rows(lengths_per_sequence(lengths, rooms, name), rooms, after)


def kv_rows(key: Store, batch: int, lengths: LengthsLike, padding: Array | None) -> list[slice]:
    """Rows of each sequence on the key's token axis."""
    name = "actual_seq_lengths_kv"
    if isinstance(key, Contiguous) and key.is_packed:
        rows = packed_rows(lengths, len(key.tokens), name)
        if len(rows) != batch:
            raise ValueError(f"{name}: expected {batch} entries, got {len(rows)}")
        return rows
    after = first_of(padding, "kv_padding_size")
    if (isinstance(key, Paged) or after is not None) and lengths is None:
        raise ValueError(f"{name}: expected the lengths of the sequences, got None")
    rooms = key.rooms(batch)
    return padded_rows(lengths_per_sequence(lengths, rooms, name), rooms, after)


def first_of(tensor: Array | None, parameter: str) -> int | None:
    """Read a tensor of one element; None for no tensor or an empty one."""
    if tensor is None or np.size(tensor) == 0:
        return None
    if np.size(tensor) != 1:
        raise ValueError(f"{parameter}: expected one element, got shape {np.shape(tensor)}")
    return int(np.reshape(tensor, -1)[0])
