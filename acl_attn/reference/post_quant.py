# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantisation of the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64, round_to_e4m3, round_to_hifloat8, round_to_int8

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


def quantise_out(out: Float64, alive: NDArray[np.bool_], scale: Array, offset: Array | None, name: str) -> Float64:
    """Quantise an output in canonical order of axes.

    Parameters
    ----------
    out : ndarray of float64, shape (..., heads, dim_v)
        The output.
    alive : ndarray of bool, shape (..., heads)
        Rows that see a key. The others are 0 whatever the offset.
    scale, offset : ndarray
        One element, or heads * dim_v of them.
    name : str
        int8, float8_e4m3fn or hifloat8.

    Returns
    -------
    ndarray of float64
        Numbers of that format.
    """
    shape = (1, 1) if scale.size == 1 else out.shape[-2:]
    y = out * as_float64(scale).reshape(shape)
    if offset is not None and offset.size:
        y = y + as_float64(offset).reshape(shape)
    if name == "int8":
        rounded = round_to_int8(y)
    elif name == "float8_e4m3fn":
        rounded = round_to_e4m3(y)
    else:
        rounded = round_to_hifloat8(y)
    return np.where(alive[..., None], rounded, 0.0)
