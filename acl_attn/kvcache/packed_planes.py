# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of 584-byte rows that hold all codes and rope first, then all scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import invalid

__all__ = ["join_planes", "split_planes"]

Octets = npt.NDArray[np.uint8]

_DATA, _SCALES = 576, 8  # bytes of a row in either plane


def join_planes(blocks: Octets, parameter: str) -> Octets:
    """Bring each row's parts together."""
    count, size = _extents(blocks, parameter)
    flat = blocks.reshape(count, size * (_DATA + _SCALES))
    planes = flat[:, : size * _DATA].reshape(count, size, _DATA), flat[:, size * _DATA :].reshape(count, size, _SCALES)
    joined: Octets = np.concatenate(planes, axis=2).reshape(blocks.shape)
    return joined


def split_planes(blocks: Octets, parameter: str) -> Octets:
    """Undo `join_planes`."""
    count, size = _extents(blocks, parameter)
    rows = blocks.reshape(count, size, _DATA + _SCALES)
    planes: Any = rows[:, :, :_DATA].reshape(count, size * _DATA), rows[:, :, _DATA:].reshape(count, size * _SCALES)
    split: Octets = np.concatenate(planes, axis=1).reshape(blocks.shape)
    return split


def _extents(blocks: Octets, parameter: str) -> tuple[int, int]:
    if blocks.ndim == 3 or (blocks.ndim == 4 and blocks.shape[2] == 1):
        return blocks.shape[0], blocks.shape[1]
    expected = "blocks, (blocks, block_size, bytes) or (blocks, block_size, 1, bytes), as block_planar is True"
    raise invalid(parameter, expected, f"shape {blocks.shape}")
