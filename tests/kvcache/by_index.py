# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every element's scale by the operator's index formulas, one element at a time."""

from __future__ import annotations

import numpy as np

from acl_attn import Lengths
from acl_attn.dtypes import decode, unpack_int4


def stored_numbers(values: np.ndarray) -> np.ndarray:
    return unpack_int4(values).astype(np.float64) if values.dtype == np.int32 else decode(values).astype(np.float64)


def element(
    array: np.ndarray, layout: str, heads: int, lengths: Lengths | None, at: tuple[int, int, int, int]
) -> float:
    """Read (sequence or block, token, head, channel) of a tensor."""
    outer, token, head, channel = at
    if layout in ("BSH", "BnBsH"):
        return array[outer, token, head * (array.shape[2] // heads) + channel]
    if layout == "BSND":
        return array[outer, token, head, channel]
    if layout in ("BNSD", "BnNBsD"):
        return array[outer, head, token, channel]
    if layout == "TND":
        assert lengths is not None
        return array[lengths.cu_seqlens[outer] + token, head, channel]
    width = array.shape[-1]
    return array[outer, head, channel // width, token, channel % width]


def scale_of(scale: np.ndarray, mode: int, at: tuple[int, int, int, int]) -> float:
    """Look up the scale of (sequence or block, token, head, channel), from the shapes that `quantize` documents."""
    outer, token, head, channel = at
    if scale.shape == (1,) and mode == 0:
        return float(scale[0])
    index = {
        0: (head, channel),
        1: (outer, token),
        2: (head,),
        3: (outer, head, token),
        4: (outer, token),
        5: (outer, head, token),
        6: (0, outer, head, token, channel // 32),
    }[mode]
    return float(scale[index])


def places(shape: tuple[int, int, int, int], count: int, seed: int) -> list[tuple[int, int, int, int]]:
    """Draw places of (outer, token, head, channel)."""
    generator = np.random.default_rng(seed)
    return [tuple(int(generator.integers(0, extent)) for extent in shape) for _ in range(count)]
