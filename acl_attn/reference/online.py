# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax over tiles of keys with rounded weights: the part that the fully quantised schemes have in common.

How weights are rounded depends on the largest logit so far, and so on the tiles; that is why tiles matter here, and
nowhere else in the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acl_attn.reference.attend import mix

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from acl_attn.reference.attend import Float64


@dataclass(frozen=True)
class Scheme:
    """How weights are rounded.

    Attributes
    ----------
    tile : int
        Keys that share a maximum.
    top_of_tile : callable
        From the largest logit of a tile, by row, to what the running maximum takes in.
    shift : float
        Added to a logit, less the maximum, before the exponential.
    quantise : callable
        From exponentials (row, key), the factor exp(the tile's top - the running maximum) by row, and whether this is
        the row's first tile, to rounded weights and what their sums are multiplied by, by row.
    gain : float
        What the rounded weights are larger by than the exponentials.
    """

    tile: int
    top_of_tile: Callable[[Float64], Float64]
    shift: float
    quantise: Callable[[Float64, Float64, NDArray[np.bool_]], tuple[Float64, Float64]]
    gain: float = 1.0


def online(logits: Float64, value: Float64, scheme: Scheme) -> tuple[Float64, Float64]:
    """Weighted means of values, tile by tile.

    Parameters
    ----------
    logits : ndarray of float64, shape (rows, keys)
        -inf where a row does not see a key.
    value : ndarray of float64, shape (keys, channels)
        Values of the keys.
    scheme : Scheme
        How weights are rounded.

    Returns
    -------
    out : ndarray of float64, shape (rows, channels)
        The means; 0 for a row that sees no key.
    lse : ndarray of float64, shape (rows,)
        Maximum plus logarithm of the sum; +inf for a row that sees no key.
    """
    rows, keys = logits.shape
    top = np.full(rows, -np.inf)
    total = np.zeros(rows)
    mixed = np.zeros((rows, value.shape[1]))
    for start in range(0, keys, scheme.tile):
        part = logits[:, start : start + scheme.tile]
        seen: NDArray[np.bool_] = np.logical_not(np.isneginf(part))
        alive: NDArray[np.bool_] = np.any(seen, axis=1)
        if not alive.any():
            continue
        own = scheme.top_of_tile(np.where(alive, part.max(axis=1), 0.0))
        own = np.where(alive, own, -np.inf)
        new = np.maximum(top, own)
        is_first = np.isneginf(top)
        base = np.where(np.isneginf(new), 0.0, new)
        kept = np.exp(top - base)
        weights = np.where(seen, np.exp(np.where(seen, part, 0.0) - base[:, None] + scheme.shift), 0.0)
        own_factor = np.where(alive, np.exp(np.where(alive, own, 0.0) - base), 1.0)
        rounded, factor = scheme.quantise(weights, own_factor, is_first)
        total = total * kept + weights.sum(axis=1)
        mixed = mixed * kept[:, None] + mix(rounded, value[start : start + scheme.tile], seen) * factor[:, None]
        top = new
    alive = np.asarray(total != 0)  # NaN too is of a row that sees keys
    safe = np.where(alive, total, 1.0)
    out = np.where(alive[:, None], mixed / scheme.gain / safe[:, None], 0.0)
    lse = np.where(alive, top + np.log(safe), np.inf)
    return out, lse
