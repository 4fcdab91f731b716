# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.attention`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.extents import LengthsLike, as_list
from acl_attn.reference.formats import elements
from acl_attn.reference.layouts import find_layout
from acl_attn.reference.operands import as_members
from acl_attn.reference.ops.features import feature_arguments
from acl_attn.reference.ops.fused_infer_attention_score import fused_infer_attention_score
from acl_attn.reference.visibility import TOKEN_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acl_attn.lengths import Lengths
    from acl_attn.masks import Mask
    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


def attention(
    query: Array,
    key: Array | Sequence[Array],
    value: Array | Sequence[Array] | None,
    *,
    layout: str | None = None,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    q_lengths: LengthsLike | Lengths = None,
    kv_lengths: LengthsLike | Lengths = None,
    mask: str | Mask | None = None,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    block_table: Array | None = None,
    block_size: int | None = None,
    return_lse: bool = False,
    **features: Any,
) -> Float64 | tuple[Float64, Float64]:
    """Attention in float64, with the arguments of `acl_attn.attention`.

    Parameters
    ----------
    query : ndarray
        Axes as ``layout`` says.
    key, value : ndarray or sequence of ndarray
        A tensor; several tensors, one per sequence; or, with ``block_table``, a paged cache. No value (None) where,
        with rope, the key is the value too.
    layout : str, optional
        One of `acl_attn.reference.layouts.LAYOUTS`. None: BSND for a query of rank 4, TND for one of rank 3.
    num_heads, num_kv_heads : int, optional
        Number of heads; None: what the shapes say. BSH needs ``num_heads``.
    q_lengths, kv_lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence; never cumulative.
    mask : {"causal", "causal_top_left"} or Mask, optional
        Causal, with the last row at the last key or the first row at the first key; or any mask.
    window : tuple of int, optional
        Keys seen (before, after) the diagonal that ends at the last key; -1: all. With "causal" none after.
    scale : float, optional
        Multiplies the products of query and key. None: 1 / sqrt(head dim).
    block_table : ndarray of int32, shape (batch, blocks), optional
        The blocks of each sequence in a paged cache.
    block_size : int, optional
        Tokens in a block; None: what the cache's shape says.
    return_lse : bool
        Whether to return the second result.
    **features
        Any of rope, bias, alibi, sink, prefix, left_padding, kv_quant, full_quant and out_quant, as for
        `acl_attn.attention`.

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
    first_key = elements(as_members(key)[0])
    if num_heads is None:
        if axes == "BSH":
            raise ValueError("num_heads: expected a number for layout BSH, got None")
        num_heads = query.shape[axes.index("N")]
    dim = query.shape[-1] // (num_heads if axes == "BSH" else 1)
    if num_kv_heads is None:
        num_kv_heads = _kv_heads(first_key, axes, dim, is_paged=block_table is not None)
    if block_size is None and block_table is not None:
        block_size = first_key.shape[{3: 1, 4: 2, 5: 3}[first_key.ndim]]
    chosen = _read_mask(mask, window)
    if "T" in axes:
        rows = _lengths(q_lengths, lambda length: query.shape[axes.index("T")] // length, "q_lengths")
        keys = _lengths(kv_lengths, lambda _: len(rows or ()), "kv_lengths")
        if rows is None or keys is None:
            raise ValueError(f"q_lengths, kv_lengths: expected lengths for layout {name}, got None")
        rows = list(accumulate(rows))
        keys = list(accumulate(keys)) if block_table is None else keys
    else:
        rows, keys = (
            _lengths(lengths, lambda _: query.shape[0], parameter)
            for lengths, parameter in ((q_lengths, "q_lengths"), (kv_lengths, "kv_lengths"))
        )
    out, lse = fused_infer_attention_score(
        query,
        key,
        key if value is None else value,
        num_heads=num_heads,
        num_key_value_heads=num_kv_heads,
        input_layout=name,
        scale_value=scale,
        actual_seq_lengths=rows,
        actual_seq_lengths_kv=keys,
        block_table=block_table,
        block_size=block_size or 0,
        softmax_lse_flag=True,
        atten_mask=chosen.atten_mask,
        sparse_mode=chosen.sparse_mode,
        pre_tokens=chosen.pre_tokens,
        next_tokens=chosen.next_tokens,
        **feature_arguments(**features),
    )
    assert lse is not None  # noqa: S101 - asked for above
    return (out, lse) if return_lse else out


@dataclass(frozen=True)
class _Visibility:
    """What decides which keys are seen, in the operator's terms."""

    sparse_mode: int = 0
    pre_tokens: int = TOKEN_LIMIT
    next_tokens: int = TOKEN_LIMIT
    atten_mask: Array | None = None


def _read_mask(mask: str | Mask | None, window: tuple[int, int] | None) -> _Visibility:
    if window is not None:
        before, after = (TOKEN_LIMIT if tokens == -1 else tokens for tokens in window)
        if mask not in (None, "causal"):
            raise ValueError(f"window: expected None beside a mask other than 'causal', got {window}")
        return _Visibility(4, before, after if mask is None else 0)
    if mask is None:
        return _Visibility()
    if isinstance(mask, str):
        modes = {"causal_top_left": 2, "causal": 3}
        if mask not in modes:
            raise ValueError(f"mask: expected one of {', '.join(modes)}, got {mask!r}")
        return _Visibility(modes[mask])
    if not hasattr(mask, "hidden"):
        raise TypeError(f"mask: expected a name or a Mask, got {type(mask).__name__}")
    if mask.hidden is not None:
        return _Visibility(1, atten_mask=mask.hidden)
    before, after = (TOKEN_LIMIT if tokens is None else tokens for tokens in (mask.left, mask.right))
    if mask.align == "bottom_right":
        return _Visibility(4, before, after)
    if (before, after) != (TOKEN_LIMIT, 0):
        raise NotImplementedError("mask: a window from the top left is not supported yet by the reference")
    return _Visibility(2)


def _kv_heads(key: Array, axes: str, dim: int, *, is_paged: bool) -> int:
    """Read the number of key heads from the shape of the key."""
    if is_paged:
        return int(key.shape[1] if key.ndim > 3 else key.shape[2] // dim)
    return int(key.shape[2] // dim if axes == "BSH" else key.shape[axes.index("N")])


def _lengths(lengths: LengthsLike | Lengths, batch_of: Callable[[int], int], parameter: str) -> list[int] | None:
    """List the lengths of the sequences; one number stands for as many as ``batch_of`` says."""
    # Not isinstance(): its module loads the compiled library, which the reference does without.
    given: Any = getattr(lengths, "per_sequence", lengths)
    if given is None:
        return None
    plain = as_list(given, parameter)
    return plain * batch_of(plain[0]) if np.ndim(given) == 0 else plain
