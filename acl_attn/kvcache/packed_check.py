# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Whether packed rows are as good as their format allows, computed without the library's own packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import decode
from ..errors import AclAttnError, invalid
from ..values import as_array
from .packed import pack, unpack
from .packed_layout import PACKED, check_codes, find_layout

__all__ = ["PackedCheck", "check_packed"]

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PackedCheck:
    """What `check_packed` found.

    Parameters
    ----------
    rows : int
        Rows looked at.
    max_error : float
        Largest difference of a nope number and what became of it, relative to the largest number of its tile.
    rms_error : float
        Root of the mean square of those.
    """

    rows: int
    max_error: float
    rms_error: float


def check_packed(
    values: npt.ArrayLike,
    dtype: npt.DTypeLike = ml_dtypes.float8_e4m3fn,
    *,
    scale_kind: str,
    full_scale: float | None = None,
) -> PackedCheck:
    """Pack rows, look whether every byte is right, and tell the error.

    Of each code it is checked that no other one is nearer to the number over the scale; of rope that it is the number
    as bfloat16, of padding that it is 0, and of `unpack` that it gives code times scale.

    Parameters
    ----------
    values : array-like of float32, float16 or bfloat16, shape (..., 512)
        The numbers, as for `pack`.
    dtype : dtype or its name
        Of the codes, as for `pack`.
    scale_kind : {"e8m0", "bf16"}
        Kind of scale, as for `pack`.
    full_scale : float, optional
        Largest number that a tile's scale maps to a code, as for `pack`.

    Returns
    -------
    PackedCheck
        The error.

    Raises
    ------
    AclAttnError
        A byte is wrong: a fault of the library.

    See Also
    --------
    pack : What is checked.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).standard_normal((100, 512)).astype(np.float32)
    >>> check_packed(values, scale_kind="e8m0").max_error < 1 / 16
    True
    """
    layout = find_layout(PACKED.row_bytes, scale_kind)
    codes = check_codes(dtype, layout)
    packed = pack(values, dtype, scale_kind=scale_kind, full_scale=full_scale)
    numbers = as_array(values, "values").reshape(-1, layout.channels).astype(np.float64)
    if not len(numbers):
        raise invalid("values", "at least one row", f"shape {np.shape(values)}")
    octets = packed.reshape(-1, layout.row_bytes).view(np.uint8)
    tiles = numbers[:, : layout.scaled].reshape(len(numbers), -1, layout.tile)
    scales = layout.part(octets, "scales").astype(np.float64)[:, :, None]
    own = decode(np.ascontiguousarray(layout.part(octets, "nope")).view(codes)).astype(np.float64).reshape(tiles.shape)
    _report(octets, np.abs(own - tiles / scales) <= _distance(tiles / scales, codes) * (1 + 1e-6), "nope")
    limit = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)  # type: ignore[no-untyped-call]
    rope = np.clip(numbers[:, layout.scaled :], -limit, limit).astype(np.float32).astype(ml_dtypes.bfloat16)
    _report(octets, rope.view(np.uint8) == layout.part(octets, "rope"), "rope")
    _report(octets, layout.part(octets, "padding") == 0, "padding")
    back = unpack(packed, scale_kind=scale_kind).reshape(-1, layout.channels)[:, : layout.scaled].reshape(tiles.shape)
    _report(octets, back == own * scales, "unpack")
    size = np.abs(tiles).max(axis=2, keepdims=True)
    error = np.abs(back - tiles) / np.where(size > 0, size, 1)
    return PackedCheck(len(numbers), float(error.max()), float(np.sqrt(np.mean(error**2))))


def _distance(quotients: Float64, codes: Any) -> Float64:
    """How far the nearest number of the format is."""
    every = decode(np.arange(256, dtype=np.uint8).view(codes)).astype(np.float64)
    sorted_ = np.unique(every[np.isfinite(every)])
    right = np.clip(np.searchsorted(sorted_, quotients), 1, len(sorted_) - 1)
    return np.minimum(np.abs(sorted_[right] - quotients), np.abs(sorted_[right - 1] - quotients))


def _report(octets: npt.NDArray[np.uint8], holds: npt.NDArray[np.bool_], part: str) -> None:
    wrong = np.argwhere(~holds)
    if len(wrong):
        row = int(wrong[0][0])
        raise AclAttnError(
            f"{part} of packed row {row} is wrong at {wrong[0][1:].tolist()}: {octets[row].tobytes().hex()}"
        )
