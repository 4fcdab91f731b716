# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a packed row of 640 bytes stands for.

=========  ==================================================  ===============
bytes      content                                             channels
=========  ==================================================  ===============
0 - 127    rope: 64 bfloat16, little endian                    448 - 511
128 - 575  nope: 448 one-byte floats                           0 - 447
576 - 582  7 scales, powers of two (E8M0), one for 64 of nope
583 - 639  padding, not looked at
=========  ==================================================  ===============
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64, elements

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

ROW_BYTES = 640
ROPE, NOPE, SCALES = slice(0, 128), slice(128, 576), slice(576, 583)
TILE = 64


def unpack_rows(rows: NDArray[Any]) -> Float64:
    """Dequantise rows.

    Parameters
    ----------
    rows : ndarray of float8_e4m3fn or hifloat8, shape (rows, 640)
        Packed rows.

    Returns
    -------
    ndarray of float64, shape (rows, 512)
        Rows of bfloat16 numbers, nope before rope, as the operator computes with them.
    """
    if rows.shape[-1] != ROW_BYTES:
        raise ValueError(f"kv: expected rows of {ROW_BYTES} bytes, got {rows.shape[-1]}")
    taken = np.ascontiguousarray(rows)
    octets = taken.view(np.uint8)
    rope = np.ascontiguousarray(octets[:, ROPE]).view(ml_dtypes.bfloat16)
    scales = as_float64(np.ascontiguousarray(octets[:, SCALES]).view(ml_dtypes.float8_e8m0fnu))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        exact = as_float64(elements(taken[:, NOPE])) * np.repeat(scales, TILE, axis=1)
        # A power of two times a number of few bits: float32 holds the product, so that it is rounded once.
        nope = exact.astype(np.float32).astype(ml_dtypes.bfloat16)
    return np.concatenate([as_float64(nope), as_float64(rope)], axis=1)
