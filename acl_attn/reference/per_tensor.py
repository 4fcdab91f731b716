# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""INT8 attention with one scale per tensor: scores and weights in float16, as the device keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import round_to

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

TILE = 1024
_LARGEST = 65504.0


def scale_word(scale: NDArray[Any]) -> float:
    """Read a scale that the matrix unit takes.

    Parameters
    ----------
    scale : ndarray
        One element: float32, or uint64 with a float32 in its low half.

    Returns
    -------
    float
        What the unit multiplies by: it looks at the upper 19 bits only.
    """
    word = scale.reshape(-1)[:1]
    bits = (word & 0xFFFFFFFF).astype(np.uint32) if word.dtype == np.uint64 else word.astype(np.float32).view(np.uint32)
    return float((bits & np.uint32(0xFFFFE000)).view(np.float32)[0])


def plain_scale(scale: NDArray[Any]) -> float:
    """Read a scale in full: float32, or uint64 with a float32 in its low half."""
    word = scale.reshape(-1)[:1]
    if word.dtype == np.uint64:
        return float((word & 0xFFFFFFFF).astype(np.uint32).view(np.float32)[0])
    return float(word[0])


def attend_per_tensor(
    query: Float64,
    key: Float64,
    value: Float64,
    *,
    scale: float,
    visible: NDArray[np.bool_],
    bias: Float64 | None,
    scores_scale: float,
    weights_scale: float,
    out_scale: float,
) -> tuple[Float64, Float64]:
    """Attention of one sequence.

    Parameters
    ----------
    query, key, value, visible, bias
        As for `acl_attn.reference.attend.attend`; the numbers of query, key and value are integers.
    scale : float
        Multiplies the scores after they have been dequantised.
    scores_scale : float
        Dequantises the products of query and key.
    weights_scale : float
        Quantises the weights.
    out_scale : float
        Dequantises the products of weights and value.

    Returns
    -------
    out : ndarray of float64, shape (sq, heads, dim_v)
        The weighted means.
    lse : ndarray of float64, shape (sq, heads)
        Logarithm of the softmax denominator of the float16 scores.
    """
    sq, heads, _ = query.shape
    skv, kv_heads, dim_v = value.shape
    out, lse = np.zeros((sq, heads, dim_v)), np.full((sq, heads), np.inf)
    for head in range(heads if skv else 0):
        of = head // (heads // kv_heads)
        products = (query[:, head] @ key[:, of].T).astype(np.float32) * np.float32(scores_scale)
        scores = round_to(np.clip(products, -_LARGEST, _LARGEST).astype(np.float64), np.float16)
        scores = round_to(scores * float(np.float16(scale)), np.float16)
        if bias is not None:
            scores = round_to(scores + bias[head], np.float16)
        out[:, head], lse[:, head] = _mix(
            np.where(visible, scores, -np.inf), value[:, of], float(np.float16(weights_scale)), out_scale
        )
    return out, lse


def _mix(scores: Float64, value: Float64, weights_scale: float, out_scale: float) -> tuple[Float64, Float64]:
    rows, keys = scores.shape
    top, total = np.full(rows, -np.inf), np.zeros(rows)
    mixed = np.zeros((rows, value.shape[1]))
    for start in range(0, keys, TILE):
        part = scores[:, start : start + TILE]
        new = np.maximum(top, part.max(axis=1))
        base = np.where(np.isneginf(new), 0.0, new)
        kept = np.exp(top - base)
        weights = np.exp(part - base[:, None])
        total = total * kept + weights.sum(axis=1)
        rounded = np.clip(np.rint(round_to(round_to(weights, np.float16) * weights_scale, np.float16)), -128, 127)
        own = (rounded @ value[start : start + TILE]) * out_scale
        if start:
            own = round_to(np.clip(own, -_LARGEST, _LARGEST), np.float16)
        mixed = mixed * kept[:, None] + own
        top = new
    alive = total != 0  # NaN too is of a row that sees keys
    divisor = np.where(alive, round_to(total, np.float16), 1.0)
    out = np.where(alive[:, None], mixed / divisor[:, None], 0.0)
    return out, np.where(alive, top + np.log(np.where(alive, total, 1.0)), np.inf)
