# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Scales in the shapes that the operators take, and on the axes of what they scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import invalid
from ..lengths import Lengths
from ..values import new_array
from .modes import GROUP, AntiquantMode

__all__ = ["ScaleShape"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


class ScaleShape(NamedTuple):
    """Where the scales of a mode go, for numbers on the axes (outer, head, token, channel).

    Scales on these axes have an extent of 1 where they are shared; those of groups have one more axis at the end, of 1.
    """

    mode: AntiquantMode
    outer: int
    heads: int
    tokens: int
    dim: int
    packed: Lengths | None  # of sequences that share the token axis

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return self.outer if self.packed is None else self.packed.batch

    def to_operator(self, scale: Array, fill: float, room: int | None) -> Array:
        """Bring scales from their axes to the operator's shape, with `room` for tokens."""
        mode = self.mode
        if scale.size == 1 and mode == AntiquantMode.PER_CHANNEL:
            return scale.reshape(1)
        if mode in (AntiquantMode.PER_CHANNEL, AntiquantMode.PER_HEAD, *_PAGED):
            shape = {
                AntiquantMode.PER_CHANNEL: (self.heads, self.dim),
                AntiquantMode.PER_HEAD: (self.heads,),
                AntiquantMode.PER_TOKEN_PAGED: (self.outer, self.tokens),
                AntiquantMode.PER_TOKEN_HEAD_PAGED: (self.outer, self.heads, self.tokens),
            }[mode]
            return np.ascontiguousarray(scale.reshape(shape))
        by_group = scale[..., 0] if mode == AntiquantMode.PER_TOKEN_GROUP else scale
        by_sequence = self._by_sequence(by_group, fill, room)
        if mode == AntiquantMode.PER_TOKEN:
            return np.ascontiguousarray(by_sequence[:, 0, :, 0])
        return by_sequence[None] if mode == AntiquantMode.PER_TOKEN_GROUP else by_sequence[..., 0]

    def to_axes(self, scale: Array, parameter: str) -> npt.NDArray[np.float32]:
        """Bring scales from any shape that the operator takes to the axes of the numbers, as fp32."""
        numbers: npt.NDArray[np.float32] = scale.astype(np.float32)
        n, d, h, mode = self.heads, self.dim, self.heads * self.dim, self.mode
        if mode == AntiquantMode.PER_CHANNEL:
            shapes: tuple[Shape, ...] = ((n, d), (1, n, 1, d), (1, 1, n, d), (1, n, d), (n, 1, d), (1, h), (h,), (1,))
            self._expect(scale, parameter, shapes)
            return numbers.reshape(1, 1, 1, 1) if scale.size == 1 else numbers.reshape(1, n, 1, d)
        if mode == AntiquantMode.PER_HEAD:
            self._expect(scale, parameter, ((n,),))
            return numbers.reshape(1, n, 1, 1)
        if mode == AntiquantMode.PER_TOKEN_PAGED:
            self._expect(scale, parameter, ((self.outer, self.tokens),))
            return numbers[:, None, :, None]
        if mode == AntiquantMode.PER_TOKEN_HEAD_PAGED:
            self._expect(scale, parameter, ((self.outer, n, self.tokens),))
            return numbers[..., None]
        return self._token_axes(numbers, parameter)

    def _token_axes(self, numbers: npt.NDArray[np.float32], parameter: str) -> npt.NDArray[np.float32]:
        """Do `to_axes` where a sequence's scales lie in a row that may be longer than the sequence."""
        n, mode = self.heads, self.mode
        least = self.tokens if self.packed is None else self.packed.max
        axis = numbers.ndim - (2 if mode == AntiquantMode.PER_TOKEN_GROUP else 1)
        room = numbers.shape[axis] if 0 <= axis < numbers.ndim else 0
        if room < least:
            raise invalid(parameter, f"a token axis of at least {least}", f"shape {numbers.shape}")
        if mode == AntiquantMode.PER_TOKEN:
            self._expect(numbers, parameter, ((self.batch, room), (1, self.batch, room)))
            by_sequence = numbers.reshape(self.batch, 1, room, 1)
        elif mode == AntiquantMode.PER_TOKEN_HEAD:
            self._expect(numbers, parameter, ((self.batch, n, room),))
            by_sequence = numbers[..., None]
        else:
            self._expect(numbers, parameter, ((1, self.batch, n, room, self.dim // GROUP),))
            by_sequence = numbers[0]
        if self.packed is not None:
            rows = [row[:, :length] for row, length in zip(by_sequence, self.packed.per_sequence, strict=True)]
            by_sequence = np.concatenate(rows, axis=1)[None] if rows else by_sequence[None, :0, :, :0]
        by_sequence = by_sequence[:, :, : self.tokens]
        return by_sequence[..., None] if mode == AntiquantMode.PER_TOKEN_GROUP else by_sequence

    def _by_sequence(self, scale: Array, fill: float, room: int | None) -> Array:
        """Give each sequence its own row, with room for tokens to come."""
        lengths = (self.tokens,) * self.outer if self.packed is None else self.packed.per_sequence
        least = max(lengths, default=0)
        if room is not None and room < least:
            raise invalid("scale_tokens", f"at least {least}, the tokens that there are", room)
        shape = (len(lengths), scale.shape[1], room or least, scale.shape[3])
        made = new_array(shape, scale.dtype, "scale_tokens")
        made[...] = fill
        start = 0
        for row, length in enumerate(lengths):
            made[row, :, :length] = scale[row] if self.packed is None else scale[0, :, start : start + length]
            start += length
        return made

    def _expect(self, scale: Array, parameter: str, shapes: tuple[Shape, ...]) -> None:
        if scale.shape not in shapes:
            known = " or ".join(str(shape) for shape in shapes)
            raise invalid(parameter, f"shape {known} for mode {self.mode.value} ({self.mode.name})", scale.shape)


_PAGED = (AntiquantMode.PER_TOKEN_PAGED, AntiquantMode.PER_TOKEN_HEAD_PAGED)
