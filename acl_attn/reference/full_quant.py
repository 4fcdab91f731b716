# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The fully quantised schemes but the one per tensor: how scales are read, and how weights are rounded.

Products and sums are float64 here; what is rounded is what the scheme rounds: the weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import (
    E4M3_MAX,
    HIFLOAT8_MAX,
    as_float64,
    round_to_e4m3,
    round_to_hifloat8,
    round_to_int8,
)
from acl_attn.reference.layouts import canonical
from acl_attn.reference.online import Scheme, online
from acl_attn.reference.storage import Paged

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl_attn.reference.attend import Float64
    from acl_attn.reference.storage import Contiguous, Members

Array = NDArray[Any]

# The constants of the device are float32.
_INVERSE_LN2 = np.float32(1.44269502)
_LN2 = np.float32(0.693147182)


def attend_rounded(
    query: Float64,
    key: Float64,
    value: Float64,
    *,
    scheme: Scheme,
    scale: Float64,
    visible: NDArray[np.bool_],
) -> tuple[Float64, Float64]:
    """Attention of one sequence with rounded weights.

    Parameters
    ----------
    query : ndarray of float64, shape (sq, heads, dim)
        Query rows.
    key, value : ndarray of float64, shape (skv, kv_heads, dim or dim_v)
        Keys and values.
    scheme : Scheme
        How weights are rounded.
    scale : ndarray of float64, shape (sq, heads, skv)
        Multiplies the products; broadcast.
    visible : ndarray of bool, shape (sq, skv)
        Which keys a row sees.

    Returns
    -------
    out : ndarray of float64, shape (sq, heads, dim_v)
        The weighted means.
    lse : ndarray of float64, shape (sq, heads)
        As the scheme defines it.
    """
    sq, heads, _ = query.shape
    skv, kv_heads, dim_v = value.shape
    out, lse = np.zeros((sq, heads, dim_v)), np.full((sq, heads), np.inf)
    if skv == 0:
        return out, lse
    scale = np.broadcast_to(scale, (sq, heads, skv))
    for head in range(heads):
        of = head // (heads // kv_heads)
        logits = np.where(visible, (query[:, head] @ key[:, of].T) * scale[:, head], -np.inf)
        out[:, head], lse[:, head] = online(logits, value[:, of], scheme)
    return out, lse


def mla_scheme(stored: str) -> Scheme:
    """Weights of decode MLA: rounded relative to their own tile's largest.

    Parameters
    ----------
    stored : str
        Format of query and key.

    Returns
    -------
    Scheme
        The scheme.
    """
    if stored == "int8":
        gain, rounding = 127.0, round_to_int8
    elif stored == "float8_e4m3fn":
        gain, rounding = E4M3_MAX, round_to_e4m3
    else:
        gain, rounding = HIFLOAT8_MAX, round_to_hifloat8

    def quantise(weights: Float64, factor: Float64, is_first: NDArray[np.bool_]) -> tuple[Float64, Float64]:
        factor = factor + np.where(is_first, 0.0, 2.0**-52)
        return rounding(weights / factor[:, None] * gain), factor

    return Scheme(tile=128, top_of_tile=lambda top: top, shift=0.0, quantise=quantise, gain=gain)


def gqa_fp8_scheme(p_scale: float) -> Scheme:
    """Weights of FP8 with scales per token and head: up to ``p_scale``, rounded to E4M3."""
    shift = math.log(p_scale)
    return Scheme(tile=256, top_of_tile=lambda top: top - shift, shift=0.0, quantise=_to_e4m3)


def mxfp8_scheme(p_scale: float) -> Scheme:
    """Weights of MXFP8: the maximum is rounded up to a multiple of ln 2, so that rescaling is exact."""

    def top_of_tile(top: Float64) -> Float64:
        return as_float64(np.ceil(top.astype(np.float32) * _INVERSE_LN2) * _LN2)

    return Scheme(tile=256, top_of_tile=top_of_tile, shift=math.log(p_scale), quantise=_to_e4m3)


def _to_e4m3(weights: Float64, _: Float64, is_first: NDArray[np.bool_]) -> tuple[Float64, Float64]:
    return round_to_e4m3(weights), np.ones(len(is_first))


def query_scales(scale: Array, axes: str, heads: int) -> Array:
    """Scales per query token and head, as (batch, token, head) or (token, head).

    Parameters
    ----------
    scale : ndarray
        The query's shape without channels; for BSH as for BSND.
    axes : str
        The query's order of axes.
    heads : int
        Number of query heads.

    Returns
    -------
    ndarray
        A view.
    """
    return canonical(scale[..., None], {"BSH": "BSND"}.get(axes, axes), heads, "dequant_scale_query")[..., 0]


def group_query_scales(scale: Array) -> Array:
    """Scales per token, head and 32 channels of a packed query, as (token, head, group).

    Parameters
    ----------
    scale : ndarray
        Shape (tokens, heads, dim / 64, 2) or (kv_heads, tokens, heads / kv_heads, dim / 64, 2).

    Returns
    -------
    ndarray
        Rearranged.
    """
    if scale.ndim == 5:
        scale = scale.transpose(1, 0, 2, 3, 4)
        scale = scale.reshape(len(scale), -1, *scale.shape[3:])
    return scale.reshape(*scale.shape[:2], -1)


def group_key_scales(scale: Array, key: Contiguous | Members | Paged) -> Callable[[int, slice], Float64]:
    """Scales per token, head and 32 channels of a key.

    Parameters
    ----------
    scale : ndarray
        Shape (tokens, heads, dim / 64, 2); with pages (blocks, heads, block_size, dim / 64, 2) or
        (blocks, heads, block_size / 16, dim / 64, 16, 2).
    key : Reader
        The key.

    Returns
    -------
    callable
        From sequence and rows to (row, head, group).
    """
    if not isinstance(key, Paged):
        flat = scale.reshape(*scale.shape[:2], -1)
        return lambda _, rows: as_float64(flat[rows])
    order = (0, 2, 1, 3, 4) if scale.ndim == 5 else (0, 2, 4, 1, 3, 5)
    blocks = scale.transpose(order).reshape(len(scale), key.block_size, scale.shape[1], -1)
    return lambda sequence, rows: as_float64(key.rows(blocks, sequence, rows))


def group_value_scales(
    scale: Array, value: Contiguous | Members | Paged, lengths: list[int]
) -> Callable[[int, slice], Float64]:
    """Scales per 32 tokens, head and channel of a value.

    Parameters
    ----------
    scale : ndarray
        Shape (pairs of groups, heads, dim, 2), each sequence beginning a pair; with pages
        (blocks, heads, block_size / 64, dim, 2) or (blocks, heads, dim / 16, block_size / 64, 16, 2).
    value : Reader
        The value.
    lengths : list of int
        Tokens of each sequence.

    Returns
    -------
    callable
        From sequence and rows to (row, head, channel).
    """
    if not isinstance(value, Paged):
        pairs = [-(-length // 64) for length in lengths]

        def read(sequence: int, rows: slice) -> Float64:
            first = sum(pairs[:sequence])
            own = scale[first : first + pairs[sequence]].transpose(0, 3, 1, 2)
            groups = own.reshape(-1, *own.shape[2:])
            return np.repeat(as_float64(groups), 32, axis=0)[: rows.stop - rows.start]

        return read
    order = (0, 2, 4, 1, 3) if scale.ndim == 5 else (0, 3, 5, 1, 2, 4)
    groups = scale.transpose(order).reshape(len(scale), value.block_size // 32, scale.shape[1], value.dim)
    blocks = np.repeat(groups, 32, axis=1)
    return lambda sequence, rows: as_float64(value.rows(blocks, sequence, rows))
