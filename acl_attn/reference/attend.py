# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of one sequence: the formula that every operator of this package reduces to.

Readers turn what an operator is given (layouts, pages, quantised caches ...) into the plain arrays taken here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def attend(
    query: Float64,
    key: Float64,
    value: Float64,
    *,
    scale: float,
    visible: NDArray[np.bool_],
    bias: Float64 | None = None,
    sink: Float64 | None = None,
) -> tuple[Float64, Float64]:
    """Softmax attention of one sequence in float64.

    Parameters
    ----------
    query : ndarray of float64, shape (sq, heads, dim)
        Query rows.
    key : ndarray of float64, shape (skv, kv_heads, dim)
        Query head ``h`` reads key head ``h // (heads // kv_heads)``.
    value : ndarray of float64, shape (skv, kv_heads, dim_v)
        Values of the keys.
    scale : float
        Multiplies the products of query and key, before the bias is added.
    visible : ndarray of bool, shape (sq, skv)
        Which keys a row sees. A key that a row does not see is absent for it, even if it holds NaN.
    bias : ndarray of float64, shape (heads, sq, skv), optional
        Added to the scaled products.
    sink : ndarray of float64, shape (heads,) or (heads, sq), optional
        One more logit per head, or per head and row, that takes part in the denominator only. It is not scaled.

    Returns
    -------
    out : ndarray of float64, shape (sq, heads, dim_v)
        The weighted means of the values; 0 for a row that sees no key, or whose logits are all minus infinity.
    lse : ndarray of float64, shape (sq, heads)
        Natural logarithm of the softmax denominator, sink included; +inf where `out` is 0 as above.
    """
    sq, heads, _ = query.shape
    _, kv_heads, dim_v = value.shape
    group = heads // kv_heads
    out = np.zeros((sq, heads, dim_v))
    lse = np.full((sq, heads), np.inf)
    if not visible.size:
        return out, lse
    alive = visible.any(axis=1)
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        for head in range(heads):
            k, v = key[:, head // group], value[:, head // group]
            logits = (query[:, head] @ k.T) * scale
            if bias is not None:
                logits = logits + bias[head]
            logits = np.where(visible, logits, -np.inf)
            top = np.where(alive, logits.max(axis=1), 0.0)
            if sink is not None:
                top = np.maximum(top, sink[head])
            top = np.where(np.isneginf(top), 0.0, top)  # of a difference of infinities, NaN would come
            weights = np.exp(logits - top[:, None])
            total = weights.sum(axis=1)
            if sink is not None:
                total = total + np.exp(sink[head] - top)
            mixed = mix(weights, v, visible)
            out[alive, head] = mixed[alive] / np.where(total == 0, 1.0, total)[alive, None]
            lse[alive, head] = np.where(total == 0, np.inf, top + np.log(total))[alive]
    return out, lse


def mix(weights: Float64, value: Float64, visible: NDArray[np.bool_]) -> Float64:
    """Weighted sums of the values that each row sees.

    Parameters
    ----------
    weights : ndarray of float64, shape (rows, keys)
        0 where a row does not see a key.
    value : ndarray of float64, shape (keys, channels)
        Values of the keys.
    visible : ndarray of bool, shape (rows, keys)
        Which keys a row sees.

    Returns
    -------
    ndarray of float64, shape (rows, channels)
        The sums.
    """
    if np.isfinite(value).all():
        return weights @ value
    # A hidden key has weight 0, but 0 * NaN is NaN: such rows of value must not be touched at all.
    return np.stack([row[seen] @ value[seen] for row, seen in zip(weights, visible, strict=True)])
