# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls with one query token a sequence, in which older products look away from masks and lengths."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import invalid
from ..layouts import Layout
from ..lengths import Lengths
from ..masks import FiaMask, Mask

__all__ = ["hides_nothing_from_last", "refuse_overlooked"]

# Their operator takes sparse mode 0 there, reads a mask as it stands, and computes every row.
_OLDER = ("ascend910b", "ascend910_93")


def hides_nothing_from_last(mask: Mask) -> bool:
    """Whether a sequence's last query token sees all keys, as it does under a causal mask."""
    return mask.hidden is None and mask.align == "bottom_right" and mask.left is None


def refuse_overlooked(
    layout: Layout, mask: Mask | None, said: FiaMask, q_lengths: Lengths | None, profile: Callable[[], str]
) -> None:
    """Refuse what the product would look away from, in a call that is not packed and has keys as long as its values.

    Raises
    ------
    InvalidArgumentError
        For a band, or a sequence without a query token.
    """
    is_band = said.sparse_mode > 1
    empty = [] if q_lengths is None else [b for b, rows in enumerate(q_lengths.per_sequence) if rows == 0]
    if layout.order != layout.out_order or not (is_band or empty):
        return
    name = profile()
    if name not in _OLDER:
        return
    where = f"for one query token in layout {layout.name} on {name}, whose operator ignores others"
    if is_band:
        raise invalid(
            "mask", f"None, 'causal' or Mask.dense {where}", mask, "use layout TND, or Mask.dense with an axis of keys"
        )
    raise invalid(f"q_lengths[{empty[0]}]", f"1 {where}", 0, "use layout TND, or leave the sequence out")
