# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.fused_infer_attention_score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.attend import Float64, attend
from acl_attn.reference.extents import LengthsLike, lengths_per_sequence, packed_rows
from acl_attn.reference.layouts import Layout, find_layout, from_canonical
from acl_attn.reference.storage import Contiguous, Members, Paged
from acl_attn.reference.visibility import TOKEN_LIMIT, full_mask, visible_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[Any]


def fused_infer_attention_score(
    query: Array,
    key: Array | Sequence[Array],
    value: Array | Sequence[Array],
    *,
    num_heads: int,
    input_layout: str = "BSH",
    scale_value: float | None = None,
    num_key_value_heads: int = 0,
    atten_mask: Array | None = None,
    actual_seq_lengths: LengthsLike = None,
    actual_seq_lengths_kv: LengthsLike = None,
    sparse_mode: int = 0,
    pre_tokens: int = TOKEN_LIMIT,
    next_tokens: int = TOKEN_LIMIT,
    block_table: Array | None = None,
    block_size: int = 0,
    inner_precise: int = 1,
    softmax_lse_flag: bool = False,
    **not_yet: object,
) -> tuple[Float64, Float64 | None]:
    """Fused attention in float64, with the arguments of the operator.

    Parameters
    ----------
    query : ndarray
        Axes as ``input_layout`` says.
    key, value : ndarray or sequence of ndarray
        A tensor; several tensors, one per sequence; or, with ``block_table``, a paged cache.
    num_heads : int
        Number of query heads.
    input_layout : str
        Axes of query, unpaged key and value, and output.
    scale_value : float, optional
        Multiplies the products of query and key, narrowed to float32 first. None: 1 / sqrt(head dim).
    num_key_value_heads : int
        Number of key and value heads; 0: as many as query heads.
    atten_mask : ndarray, optional
        Modes 0 and 1: non-zero hides a key. Modes 2 to 4 follow from lengths, and ignore it.
    actual_seq_lengths, actual_seq_lengths_kv : int or sequence of int, optional
        LengthsLike of the sequences; cumulative for packed layouts, except those of a paged cache.
    sparse_mode : int
        See `acl_attn.reference.visibility.visible_keys`.
    pre_tokens, next_tokens : int
        The window of modes 0 and 4.
    block_table : ndarray of int32, shape (batch, blocks), optional
        The blocks of each sequence in a paged cache.
    block_size : int
        Tokens in a block.
    inner_precise : int
        0 to 3; without influence on the result.
    softmax_lse_flag : bool
        Whether to return the second result.
    **not_yet : object
        The remaining parameters of the operator; they must be None, 0, or False.

    Returns
    -------
    attention_out : ndarray of float64
        Axes as ``input_layout`` says; not rounded. Rows that see no key, and rows beyond a sequence's length, are 0.
    softmax_lse : ndarray of float64 or None
        Shape (batch, heads, rows, 1), or (tokens, heads, 1) for packed layouts. +inf where attention_out is 0 as above.

    Raises
    ------
    NotImplementedError
        If a parameter carries something that this reference does not know.
    ValueError
        If the arguments contradict each other.
    """
    for name, given in not_yet.items():
        if given is not None and given is not False and not (isinstance(given, int) and given == 0):
            raise NotImplementedError(f"{name}: not supported yet by the reference, got {given!r}")
    if not 0 <= inner_precise <= 3:
        raise ValueError(f"inner_precise: expected 0 to 3, got {inner_precise}")
    layout = find_layout(input_layout)
    kv_heads = num_key_value_heads or num_heads
    if num_heads < 1 or kv_heads < 1 or num_heads % kv_heads:
        raise ValueError(f"num_key_value_heads: expected a divisor of num_heads {num_heads}, got {kv_heads}")
    q = Contiguous(query, layout.query, num_heads, "query")
    k = _open(key, "key", layout=layout, kv_heads=kv_heads, block_table=block_table, block_size=block_size)
    v = _open(value, "value", layout=layout, kv_heads=kv_heads, block_table=block_table, block_size=block_size)
    if k.dim != q.dim:
        raise ValueError(f"key: expected head dim {q.dim} as query has, got {k.dim}")
    q_rows = _query_rows(q, actual_seq_lengths)
    batch = len(q_rows)
    kv_rows = _kv_rows(k, batch, actual_seq_lengths_kv)
    hidden = None
    if atten_mask is not None and sparse_mode in (0, 1):
        hidden = full_mask(atten_mask, batch, _longest(q_rows), _longest(kv_rows))
    scale = np.float32(1.0 / np.sqrt(q.dim) if scale_value is None else scale_value)

    out = np.zeros((*q.tokens.shape[:-1], v.dim))
    lse = np.full(out.shape[:-1], np.inf)
    for sequence in range(batch):
        rows, columns = q_rows[sequence], kv_rows[sequence]
        if not _extent(rows):
            continue  # nobody looks at its keys, not even at its row of a block table
        visible = visible_keys(
            _extent(rows),
            _extent(columns),
            sparse_mode=sparse_mode,
            pre_tokens=pre_tokens,
            next_tokens=next_tokens,
            hidden=None if hidden is None else hidden[sequence],
        )
        place: Any = rows if layout.is_packed else (sequence, rows)
        out[place], lse[place] = attend(
            q.read(sequence, rows),
            k.read(sequence, columns),
            v.read(sequence, columns),
            scale=float(scale),
            visible=visible,
        )
    # The packed form keeps tokens before heads whatever the layout; the batched one heads before tokens.
    lse = lse[..., None] if layout.is_packed else lse.transpose(0, 2, 1)[..., None]
    return from_canonical(out, layout.out), np.ascontiguousarray(lse) if softmax_lse_flag else None


def _open(
    tensors: Array | Sequence[Array],
    parameter: str,
    *,
    layout: Layout,
    kv_heads: int,
    block_table: Array | None,
    block_size: int,
) -> Contiguous | Members | Paged:
    members = list(tensors) if isinstance(tensors, list | tuple) else [np.asarray(tensors)]
    if block_table is not None:
        if len(members) != 1:
            raise ValueError(f"{parameter}: expected one paged cache with block_table, got {len(members)} tensors")
        return Paged(members[0], block_table, block_size, kv_heads, parameter)
    if len(members) == 1:
        return Contiguous(members[0], layout.query, kv_heads, parameter)
    return Members(members, layout.query, kv_heads, parameter)


def _query_rows(query: Contiguous, lengths: LengthsLike) -> list[slice]:
    name = "actual_seq_lengths"
    if query.is_packed:
        return packed_rows(lengths, len(query.tokens), name)
    return [slice(0, n) for n in lengths_per_sequence(lengths, query.rooms(len(query.tokens)), name)]


def _kv_rows(key: Contiguous | Members | Paged, batch: int, lengths: LengthsLike) -> list[slice]:
    name = "actual_seq_lengths_kv"
    if isinstance(key, Contiguous) and key.is_packed:
        rows = packed_rows(lengths, len(key.tokens), name)
        if len(rows) != batch:
            raise ValueError(f"{name}: expected {batch} entries, got {len(rows)}")
        return rows
    if isinstance(key, Paged) and lengths is None:
        raise ValueError(f"{name}: expected the lengths of the sequences in the paged cache, got None")
    return [slice(0, n) for n in lengths_per_sequence(lengths, key.rooms(batch), name)]


def _longest(rows: list[slice]) -> int:
    return max(map(_extent, rows), default=0)


def _extent(rows: slice) -> int:
    return int(rows.stop - rows.start)
