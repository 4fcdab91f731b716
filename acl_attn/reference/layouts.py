# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The thirteen values of ``input_layout``, and views that put any of them into one canonical order of axes.

Canonical is ``(batch, token, head, channel)`` for batched arrays and ``(token, head, channel)`` for packed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PACKED = frozenset({"TND", "NTD"})


@dataclass(frozen=True)
class Layout:
    """One value of ``input_layout``, taken apart.

    Attributes
    ----------
    name : str
        As the operator spells it.
    query : str
        Order of axes of the query, and of key and value unless these are paged.
    out : str
        Order of axes of the output.
    """

    name: str
    query: str
    out: str

    @property
    def is_packed(self) -> bool:
        """Whether sequences lie one behind the other along a token axis instead of along a batch axis."""
        return self.query in PACKED


LAYOUTS: dict[str, Layout] = {
    name: Layout(name, *name.split("_")) if "_" in name else Layout(name, name, name)
    for name in (
        "BSH",
        "BSND",
        "BNSD",
        "TND",
        "NTD",
        "BNSD_BSND",
        "BSH_BNSD",
        "BSND_BNSD",
        "NTD_TND",
        "BSH_NBSD",
        "BSND_NBSD",
        "BNSD_NBSD",
        "TND_NTD",
    )
}

# Where each axis of the array lies in the canonical order. BSH is BSND with its last two axes written as one.
_CANONICAL_AXES = {
    "BSND": (0, 1, 2, 3),
    "BNSD": (0, 2, 1, 3),
    "NBSD": (1, 2, 0, 3),
    "TND": (0, 1, 2),
    "NTD": (1, 0, 2),
}


def find_layout(name: str) -> Layout:
    """Look a value of ``input_layout`` up.

    Parameters
    ----------
    name : str
        The value.

    Returns
    -------
    Layout
        What it means.

    Raises
    ------
    ValueError
        If there is no such layout.
    """
    if name not in LAYOUTS:
        raise ValueError(f"input_layout: expected one of {', '.join(LAYOUTS)}, got {name!r}")
    return LAYOUTS[name]


def canonical(array: Array, axes: str, heads: int, parameter: str) -> Array:
    """View an array in canonical order of axes.

    Parameters
    ----------
    array : ndarray
        The array.
    axes : str
        Its order of axes: BSH, BSND, BNSD, NBSD, TND or NTD.
    heads : int
        Its number of heads.
    parameter : str
        Its name in messages.

    Returns
    -------
    ndarray
        A view of shape (batch, token, head, channel), or (token, head, channel) for TND and NTD.

    Raises
    ------
    ValueError
        If rank or number of heads do not fit.
    """
    if array.ndim != len(axes):
        raise ValueError(f"{parameter}: expected {len(axes)} axes for {axes}, got shape {array.shape}")
    if axes == "BSH":
        batch, tokens, hidden = array.shape
        if hidden % heads:
            raise ValueError(f"{parameter}: expected a last axis divisible by {heads} heads, got shape {array.shape}")
        return array.reshape(batch, tokens, heads, hidden // heads)
    view: Array = array.transpose(_CANONICAL_AXES[axes])
    if view.shape[-2] != heads:
        raise ValueError(f"{parameter}: expected {heads} heads on axis N of {axes}, got shape {array.shape}")
    return view


def from_canonical(array: Array, axes: str) -> Array:
    """Put an array in canonical order of axes into another order.

    Parameters
    ----------
    array : ndarray
        Shape (batch, token, head, channel), or (token, head, channel) for TND and NTD.
    axes : str
        The order of axes wanted.

    Returns
    -------
    ndarray
        C-contiguous.
    """
    if axes == "BSH":
        batch, tokens, heads, channels = array.shape
        return np.ascontiguousarray(array).reshape(batch, tokens, heads * channels)
    return np.ascontiguousarray(array.transpose(np.argsort(_CANONICAL_AXES[axes])))
