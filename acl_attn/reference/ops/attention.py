# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.attention`."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.extents import Lengths, as_list
from acl_attn.reference.layouts import find_layout
from acl_attn.reference.ops.fused_infer_attention_score import fused_infer_attention_score
from acl_attn.reference.visibility import TOKEN_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


def attention(
    query: Array,
    key: Array | Sequence[Array],
    value: Array | Sequence[Array],
    *,
    layout: str | None = None,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    q_lengths: Lengths = None,
    kv_lengths: Lengths = None,
    mask: str | None = None,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    block_table: Array | None = None,
    block_size: int | None = None,
    return_lse: bool = False,
) -> Float64 | tuple[Float64, Float64]:
    """Attention in float64, with the arguments of `acl_attn.attention`.

    Parameters
    ----------
    query : ndarray
        Axes as ``layout`` says.
    key, value : ndarray or sequence of ndarray
        A tensor; several tensors, one per sequence; or, with ``block_table``, a paged cache.
    layout : str, optional
        One of `acl_attn.reference.layouts.LAYOUTS`. None: BSND for a query of rank 4, TND for one of rank 3.
    num_heads, num_kv_heads : int, optional
        Number of heads; None: what the shapes say. BSH needs ``num_heads``.
    q_lengths, kv_lengths : int or sequence of int, optional
        Tokens of each sequence; never cumulative.
    mask : {"causal", "causal_top_left"}, optional
        Causal, with the last row at the last key or the first row at the first key.
    window : tuple of int, optional
        Keys seen (before, after) the diagonal that ends at the last key; -1: all.
    scale : float, optional
        Multiplies the products of query and key. None: 1 / sqrt(head dim).
    block_table : ndarray of int32, shape (batch, blocks), optional
        The blocks of each sequence in a paged cache.
    block_size : int, optional
        Tokens in a block; None: what the cache's shape says.
    return_lse : bool
        Whether to return the second result.

    Returns
    -------
    out : ndarray of float64
        Not rounded.
    lse : ndarray of float64
        Natural logarithm of the softmax denominator, as from `fused_infer_attention_score`; with ``return_lse`` only.

    Raises
    ------
    ValueError
        If the arguments contradict each other.
    """
    name = layout or {4: "BSND", 3: "TND"}.get(query.ndim, "BSH")
    axes = find_layout(name).query
    first_key = key[0] if isinstance(key, list | tuple) else np.asarray(key)
    if num_heads is None:
        if axes == "BSH":
            raise ValueError("num_heads: expected a number for layout BSH, got None")
        num_heads = query.shape[axes.index("N")]
    if num_kv_heads is None and block_table is None and axes != "BSH":
        num_kv_heads = first_key.shape[axes.index("N")]
    if num_kv_heads is None and block_table is not None and first_key.ndim > 3:
        num_kv_heads = first_key.shape[1]
    if block_size is None and block_table is not None:
        block_size = first_key.shape[{3: 1, 4: 2, 5: 3}[first_key.ndim]]
    sparse_mode = {None: 0, "causal_top_left": 2, "causal": 3}[mask]
    before, after = TOKEN_LIMIT, TOKEN_LIMIT
    if window is not None:
        sparse_mode = 4
        before, after = (TOKEN_LIMIT if tokens == -1 else tokens for tokens in window)
    packed = "T" in axes
    out, lse = fused_infer_attention_score(
        query,
        key,
        value,
        num_heads=num_heads,
        num_key_value_heads=num_kv_heads or 0,
        input_layout=name,
        scale_value=scale,
        actual_seq_lengths=_cumulative(q_lengths, query.shape[axes.index("T")], "q_lengths") if packed else q_lengths,
        actual_seq_lengths_kv=(
            _cumulative(kv_lengths, first_key.shape[axes.index("T")], "kv_lengths")
            if packed and block_table is None
            else kv_lengths
        ),
        block_table=block_table,
        block_size=block_size or 0,
        softmax_lse_flag=True,
        sparse_mode=sparse_mode,
        pre_tokens=before,
        next_tokens=after,
    )
    assert lse is not None  # noqa: S101 - asked for above
    return (out, lse) if return_lse else out


def _cumulative(lengths: Lengths, tokens: int, parameter: str) -> list[int]:
    """Say where sequences end; without lengths all tokens are one sequence."""
    return list(accumulate(as_list(lengths, parameter))) if lengths is not None else [tokens]
