# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised keys and values as the numbers they stand for: ``(stored + offset) * scale``, by antiquant mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acl_attn.reference.formats import as_float64, round_to
from acl_attn.reference.storage import Paged

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64
    from acl_attn.reference.storage import Reader

Array = NDArray[Any]

GROUP = 32
"""Channels that share a scale in mode 6."""


class Dequantised:
    """A reader of what quantised tokens stand for.

    Parameters
    ----------
    stored : Reader
        Reads the stored numbers.
    scale : ndarray
        As the mode wants it.
    offset : ndarray or None
        Added before the multiplication; same shape as the scale.
    mode : int
        0: per channel, or per tensor if the scale has one element; 1: per token; 2: per head; 3: per token and head;
        4 and 5: like 1 and 3 with scales paged like the cache; 6: per token, head and group of channels.
    starts : list of int, optional
        Where the sequences begin on a packed token axis; scales count from there. None: rows count for themselves.
    shift : int
        Added to a row to find its scale: the tokens of a shared prefix.
    heads : int
        Number of heads.
    rounded_to : dtype-like, optional
        Round scale, offset, sum and product to this dtype, as the device does. None: no rounding.
    parameter : str
        Name in messages.
    """

    def __init__(
        self,
        stored: Reader,
        scale: Array,
        offset: Array | None,
        mode: int,
        *,
        heads: int,
        starts: list[int] | None = None,
        shift: int = 0,
        rounded_to: DTypeLike | None = None,
        parameter: str,
    ) -> None:
        self.stored = stored
        self.dim = stored.dim
        self.mode = mode
        self.heads = heads
        self.starts = starts
        self.shift = shift
        self.rounded_to = rounded_to
        self.parameter = parameter
        self.scale = _arrange(scale, mode, heads, stored.dim, parameter)
        self.offset = None if offset is None else _arrange(offset, mode, heads, stored.dim, parameter)

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: D102 - see Reader
        numbers = self.stored.read(sequence, rows)
        scale = self._of_rows(self.scale, sequence, rows)
        offset = None if self.offset is None else self._of_rows(self.offset, sequence, rows)
        if self.rounded_to is None:
            return (numbers if offset is None else numbers + offset) * scale
        if offset is not None:
            numbers = round_to(numbers + round_to(offset, self.rounded_to), self.rounded_to)
        return round_to(numbers * round_to(scale, self.rounded_to), self.rounded_to)

    def _of_rows(self, arranged: Array, sequence: int, rows: slice) -> Float64:
        """Scales of rows, to be broadcast against (row, head, channel)."""
        if self.mode in (0, 2):
            return as_float64(arranged)
        if self.mode in (4, 5):
            if not isinstance(self.stored, Paged):
                raise ValueError(f"{self.parameter}: expected a paged cache for mode {self.mode}, got none")
            return as_float64(self.stored.rows(arranged, sequence, rows))
        origin = self.shift - (self.starts[sequence] if self.starts is not None else 0)
        own = slice(rows.start + origin, rows.stop + origin)
        found = as_float64(arranged[sequence, own])
        if self.mode == 6:
            found = np.repeat(found, GROUP, axis=-1)[..., : self.dim]
        return found


def _arrange(scale: Array, mode: int, heads: int, dim: int, parameter: str) -> Array:
    """Put the axes of a scale in the order (sequence or block, token, head, channel), as far as it has them."""
    if mode == 0:
        if scale.size == 1:
            return scale.reshape(1, 1)
        return _reshaped(scale, (heads, dim), parameter)
    if mode in (1, 4):
        tokens: Array = _reshaped(scale, scale.shape[-2:], parameter)[..., None, None]
        return tokens
    if mode == 2:
        return _reshaped(scale, (heads, 1), parameter)
    if mode in (3, 5):
        per_head: Array = _reshaped(scale, (scale.shape[0], heads, scale.shape[-1]), parameter)
        return np.expand_dims(np.swapaxes(per_head, 1, 2), -1)
    if mode == 6:
        return np.swapaxes(_reshaped(scale, scale.shape[-4:], parameter), 1, 2)
    raise ValueError(f"{parameter}: expected a mode of 0 to 6, got {mode}")


def _reshaped(scale: Array, shape: tuple[int, ...], parameter: str) -> Array:
    if scale.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{parameter}: expected the elements of shape {shape}, got shape {scale.shape}")
    return scale.reshape(shape)
