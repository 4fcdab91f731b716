# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Key and value in any layout, seen as (outer, head, token, channel): outer counts sequences, or blocks of a cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import invalid
from ..values import as_array, positive

__all__ = ["Axes", "find_axes", "from_nz", "to_nz"]

_BATCHED = ("BSH", "BSND", "BNSD", "TND")
_CACHES = ("BnBsH", "BnNBsD", "NZ")


class Axes(NamedTuple):
    """How a tensor's axes map to (outer, head, token, channel)."""

    layout: str
    heads: int | None

    @property
    def is_cache(self) -> bool:
        """Whether the tensor is a cache of blocks."""
        return self.layout in _CACHES

    @property
    def is_packed(self) -> bool:
        """Whether all sequences share one token axis."""
        return self.layout == "TND"

    def split(self, array: npt.NDArray[Any], parameter: str) -> npt.NDArray[Any]:
        """Bring a tensor's axes into the common order; a view where there is one."""
        ranks = {"TND": 3, "BSH": 3, "BnBsH": 3, "NZ": 5}
        if array.ndim != ranks.get(self.layout, 4):
            raise invalid(parameter, f"rank {ranks.get(self.layout, 4)} for layout {self.layout}", f"{array.shape}")
        if self.layout in ("BSH", "BnBsH"):
            outer, tokens, fused = array.shape
            if not self.heads or fused % self.heads:
                what = f"a last axis that {self.heads} heads divide" if self.heads else "num_heads for this layout"
                raise invalid(parameter if self.heads else "num_heads", what, f"shape {array.shape}")
            array = array.reshape(outer, tokens, self.heads, fused // self.heads).transpose(0, 2, 1, 3)
        elif self.layout == "BSND":
            array = array.transpose(0, 2, 1, 3)
        elif self.layout == "TND":
            array = array.transpose(1, 0, 2)[None]
        return from_nz(array) if self.layout == "NZ" else array

    def join(self, common: npt.NDArray[Any], like: tuple[int, ...]) -> npt.NDArray[Any]:
        """Undo `split`; `like` is the shape of what was split."""
        if self.layout in ("BSH", "BnBsH"):
            common = common.transpose(0, 2, 1, 3).reshape(*like[:2], -1)
        elif self.layout == "BSND":
            common = common.transpose(0, 2, 1, 3)
        elif self.layout == "TND":
            common = common[0].transpose(1, 0, 2)
        elif self.layout == "NZ":
            common = to_nz(common, like[-1])
        return np.ascontiguousarray(common)


def find_axes(layout: Any, heads: int | None) -> Axes:
    """Look a layout up by its name."""
    if layout not in (*_BATCHED, *_CACHES):
        raise invalid("layout", f"one of {', '.join((*_BATCHED, *_CACHES))}", repr(layout))
    return Axes(layout, None if heads is None else positive(heads, "num_heads"))


def to_nz(cache: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    """Change a cache to the NZ layout, where a token's channels lie in chunks.

    Parameters
    ----------
    cache : ndarray, shape (blocks, num_heads, block_size, head_dim)
        The cache.
    width : int
        Channels of a chunk: 16 for 16-bit elements and for caches quantised alone, 32 for 8-bit elements where the
        query is quantised too. For packed 4-bit elements the last axis counts bytes, so halve it.

    Returns
    -------
    ndarray, shape (blocks, num_heads, head_dim / width, block_size, width)
        A copy.
    """
    array, width = as_array(cache, "cache"), positive(width, "width")
    if array.ndim != 4 or array.shape[3] % width:
        raise invalid("cache", f"shape (blocks, num_heads, block_size, head_dim) with chunks of {width}", array.shape)
    chunks = array.reshape(*array.shape[:3], array.shape[3] // width, width)
    return np.ascontiguousarray(chunks.transpose(0, 1, 3, 2, 4))


def from_nz(cache: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Change a cache from the NZ layout.

    Parameters
    ----------
    cache : ndarray, shape (blocks, num_heads, chunks, block_size, width)
        The cache.

    Returns
    -------
    ndarray, shape (blocks, num_heads, block_size, head_dim)
        A copy.
    """
    array = as_array(cache, "cache")
    if array.ndim != 5:
        raise invalid("cache", "rank 5 (blocks, num_heads, chunks, block_size, width)", f"shape {array.shape}")
    blocks, heads, chunks, size, width = array.shape
    tokens: npt.NDArray[Any] = array.transpose(0, 1, 3, 2, 4).reshape(blocks, heads, size, chunks * width)
    return tokens
