# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which keys a query may see."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import invalid, type_name, wrong_type
from .values import integer

__all__ = ["UNBOUNDED_TOKENS", "FiaMask", "Mask", "causal_mask_tensor"]

Align = Literal["bottom_right", "top_left"]

# What the operator calls "no limit" for preTokens and nextTokens.
UNBOUNDED_TOKENS = 2147483647

# Modes 2 to 4 want a mask of this size whatever the lengths are; the device reads shifted windows of it.
_MASK_TENSOR_SIZE = 2048


@functools.cache
def causal_mask_tensor() -> npt.NDArray[np.bool_]:
    """Build, once, the mask tensor that goes with sparse modes 2, 3 and 4: true above the diagonal."""
    mask = np.triu(np.ones((_MASK_TENSOR_SIZE, _MASK_TENSOR_SIZE), np.bool_), 1)
    mask.flags.writeable = False
    return mask


class FiaMask(NamedTuple):
    """A mask in the terms of ``aclnnFusedInferAttentionScoreV5``."""

    sparse_mode: int
    pre_tokens: int
    next_tokens: int
    atten_mask: npt.NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class Mask:
    """Which keys each query row may see.

    Made by `Mask.causal`, `Mask.window` and `Mask.dense`. Rows and columns count inside a sequence, over the tokens
    that its lengths make valid.

    Parameters
    ----------
    left, right : int or None
        A row at column ``c`` sees columns ``c - left`` to ``c + right``; None is without limit.
    align : {"bottom_right", "top_left"}
        Where the rows stand: the last row at the last column, or the first row at the first column.
    hidden : numpy.ndarray or None
        Instead of a band: true (non-zero) where a key is hidden.

    See Also
    --------
    Mask.causal : Each row sees the keys up to its own position.
    Mask.window : Each row sees the keys around its own position.
    Mask.dense : Any pattern, given as an array.

    Examples
    --------
    Two new tokens after a prefix of three, causal:

    >>> print((~Mask.causal().materialize(2, 5)).astype(int))
    [[1 1 1 1 0]
     [1 1 1 1 1]]
    """

    left: int | None = None
    right: int | None = None
    align: Align = "bottom_right"
    hidden: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name, keys in (("left", self.left), ("right", self.right)):
            # Beyond 64 bits is as good as all.
            if keys is not None and (not isinstance(keys, int) or isinstance(keys, bool)):
                raise wrong_type(name, "an int or None", type_name(keys))
            if keys is not None and keys < 0:
                raise invalid(name, "a number of keys, or None for all", keys)
        if self.align not in ("bottom_right", "top_left"):
            raise invalid("align", "'bottom_right' or 'top_left'", repr(self.align))
        if self.align == "top_left" and (self.left is not None or self.right != 0):
            raise invalid("align", "'bottom_right' for a window", "'top_left'", "only Mask.causal has both")
        if self.hidden is None:
            return
        expected = "a numpy.ndarray of shape (B, 1, Sq, Skv)"
        if not isinstance(self.hidden, np.ndarray):
            raise wrong_type("hidden", expected, type_name(self.hidden), "use Mask.dense(...)")
        if self.hidden.ndim != 4 or self.hidden.shape[1] != 1:
            raise invalid("hidden", expected, f"shape {self.hidden.shape}", "use Mask.dense(...)")

    @classmethod
    def causal(cls, align: Align = "bottom_right") -> Mask:
        """Let each row see the keys up to its own position.

        Parameters
        ----------
        align : {"bottom_right", "top_left"}
            ``"bottom_right"``: the last query is at the last key, as in decoding with a prefix. ``"top_left"``: the
            first query is at the first key.

        Returns
        -------
        Mask
            The mask.
        """
        if align not in ("bottom_right", "top_left"):
            raise invalid("align", "'bottom_right' or 'top_left'", repr(align))
        return cls(None, 0, align)

    @classmethod
    def window(cls, left: int, right: int) -> Mask:
        """Let each row see `left` keys before its own position and `right` after it, the last row at the last key.

        Parameters
        ----------
        left, right : int
            Keys on each side, -1 for all. A window that holds W tokens, the row's own included, is ``(W - 1, 0)``.

        Returns
        -------
        Mask
            The mask.
        """
        for name, value in (("window[0]", left), ("window[1]", right)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise wrong_type(name, "an int", type_name(value))
            if value < -1:
                raise invalid(
                    name,
                    "a number of keys, or -1 for all",
                    value,
                    "windows beside the diagonal: pre_tokens and next_tokens of fused_infer_attention_score",
                )
        return cls(None if left == -1 else int(left), None if right == -1 else int(right))

    @classmethod
    def dense(cls, array: npt.NDArray[Any], *, true_means: Literal["masked", "keep"]) -> Mask:
        """Take any pattern as an array of booleans (or of 0 and 1 as int8 or uint8).

        Parameters
        ----------
        array : numpy.ndarray
            Shape ``(Sq, Skv)`` for all sequences, ``(B, Sq, Skv)`` or ``(B, 1, Sq, Skv)``; it may be larger than the
            sequences. All heads share it.
        true_means : {"masked", "keep"}
            Libraries disagree, so say it: ``"masked"`` hides a key where the array is true (Ascend), ``"keep"`` shows
            it (PyTorch's scaled_dot_product_attention).

        Returns
        -------
        Mask
            The mask. With ``"masked"`` it shares the array's memory.
        """
        if true_means not in ("masked", "keep"):
            raise invalid("true_means", "'masked' or 'keep'", repr(true_means))
        if not isinstance(array, np.ndarray):
            raise wrong_type("mask", "a numpy.ndarray", type_name(array))
        check_mask_dtype(array, "mask")
        if array.ndim == 4 and array.shape[1] != 1:
            raise invalid("mask", "shape (B, 1, Sq, Skv)", array.shape, "one mask serves all heads")
        if array.ndim not in (2, 3, 4):
            raise invalid("mask", "shape (Sq, Skv), (B, Sq, Skv) or (B, 1, Sq, Skv)", array.shape)
        hidden = array if true_means == "masked" else np.equal(array, 0)
        if hidden.ndim == 2:
            hidden = hidden[None]
        return cls(hidden=hidden[:, None] if hidden.ndim == 3 else hidden)

    @property
    def is_full(self) -> bool:
        """Whether every row sees every key."""
        return self.hidden is None and self.left is None and self.right is None

    def visible_keys(self, row: int, sq: int, skv: int, sequence: int = 0) -> npt.NDArray[np.int64]:
        """List the keys that a row sees.

        Parameters
        ----------
        row : int
            Query row inside its sequence.
        sq, skv : int
            Lengths of the sequence.
        sequence : int
            Which sequence; only a dense mask with a batch axis tells them apart.

        Returns
        -------
        numpy.ndarray
            Key positions inside the sequence, ascending.
        """
        row, sq, skv = integer(row, "row"), integer(sq, "sq"), integer(skv, "skv")
        if not 0 <= row < sq:
            raise invalid("row", f"a row in 0..{sq - 1}" if sq else "a row of a sequence that has rows", row)
        if self.hidden is not None:
            mask = self.hidden[sequence if self.hidden.shape[0] > 1 else 0, 0]
            return np.flatnonzero(mask[row, :skv] == 0).astype(np.int64)
        position = row + (skv - sq if self.align == "bottom_right" else 0)
        first = 0 if self.left is None else max(position - self.left, 0)
        last = skv - 1 if self.right is None else min(position + self.right, skv - 1)
        return np.arange(first, max(last + 1, first), dtype=np.int64)

    def materialize(self, sq: int, skv: int) -> npt.NDArray[np.bool_]:
        """Write the mask out, for tests and for looking at it.

        Parameters
        ----------
        sq, skv : int
            Query rows and keys.

        Returns
        -------
        numpy.ndarray
            True where a key is hidden: shape ``(sq, skv)``, or ``(B, 1, sq, skv)`` for a dense mask with a batch axis.
        """
        for name, extent in (("sq", sq), ("skv", skv)):
            if integer(extent, name) < 0:
                raise invalid(name, "at least 0", extent)
        if self.hidden is not None:
            hidden: npt.NDArray[np.bool_] = self.hidden[:, :, :sq, :skv] != 0
            return hidden[0, 0] if hidden.shape[0] == 1 else hidden
        offset = skv - sq if self.align == "bottom_right" else 0
        distance = np.arange(skv)[None, :] - (np.arange(sq)[:, None] + offset)
        hidden = np.zeros((sq, skv), np.bool_)
        if self.left is not None:
            hidden |= distance < -self.left
        if self.right is not None:
            hidden |= distance > self.right
        return hidden

    def to_fia(self) -> FiaMask:
        """Say it in the terms of ``aclnnFusedInferAttentionScoreV5``.

        Returns
        -------
        FiaMask
            Sparse mode, tokens and mask tensor.
        """
        return self._fia

    @functools.cached_property
    def _fia(self) -> FiaMask:
        if self.hidden is not None:
            return FiaMask(1, UNBOUNDED_TOKENS, UNBOUNDED_TOKENS, self.hidden)
        if self.is_full:
            return FiaMask(0, UNBOUNDED_TOKENS, UNBOUNDED_TOKENS, None)
        pre = UNBOUNDED_TOKENS if self.left is None else min(self.left, UNBOUNDED_TOKENS)
        following = UNBOUNDED_TOKENS if self.right is None else min(self.right, UNBOUNDED_TOKENS)
        if self.left is None and self.right == 0:
            return FiaMask(3 if self.align == "bottom_right" else 2, pre, following, causal_mask_tensor())
        return FiaMask(4, pre, following, causal_mask_tensor())


def check_mask_dtype(array: npt.NDArray[Any], parameter: str) -> None:
    """Refuse arrays that cannot be masks, above all additive ones."""
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        fix = "a float bias is added to the scores: it goes to `bias`, or pse_shift"
        raise wrong_type(parameter, "dtype bool, int8 or uint8", f"dtype {array.dtype}", fix, "MASK-S-01")
    if array.dtype not in (np.bool_, np.int8, np.uint8):
        fix = "use mask.astype(bool)"
        raise wrong_type(parameter, "dtype bool, int8 or uint8", f"dtype {array.dtype}", fix, "MASK-S-01")
