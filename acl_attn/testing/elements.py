# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers in every element format, and the arrays that carry them to an operator.

While a test arranges numbers they are arrays of one element each, of the dtype in `ELEMENTS`; `carried` makes of these
what the operator takes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.dtypes import encode_hifloat8, hifloat8, int4_x2, pack_float4, pack_int4
from acl_attn.testing.poison import poisoned

Array = NDArray[Any]

ELEMENTS: dict[str, np.dtype[Any]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "int8": np.dtype(np.int8),
    "int4": np.dtype(ml_dtypes.int4),
    "int4x8": np.dtype(ml_dtypes.int4),
    "hifloat8": hifloat8,
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float4_e2m1fn": np.dtype(ml_dtypes.float4_e2m1fn),
}

# Standard deviation of what `normal` gives: of integers many steps, of floats where they are densest.
SPREADS = {"int8": 40.0, "int4": 3.0, "int4x8": 3.0, "float4_e2m1fn": 2.0}


def normal(generator: np.random.Generator, shape: tuple[int, ...], name: str) -> Array:
    """Draw normal numbers of a format; of standard deviation `SPREADS`, or 1.

    Parameters
    ----------
    generator : numpy.random.Generator
        Where they come from.
    shape : tuple of int
        How many.
    name : str
        A key of `ELEMENTS`.

    Returns
    -------
    ndarray
        Of the format's element dtype.
    """
    numbers = generator.standard_normal(shape) * SPREADS.get(name, 1.0)
    if name == "int8":
        return np.clip(np.rint(numbers), -128, 127).astype(np.int8)
    if name in ("int4", "int4x8"):
        return np.clip(np.rint(numbers), -8, 7).astype(ml_dtypes.int4)
    if name == "float4_e2m1fn":
        return np.clip(numbers, -6, 6).astype(ELEMENTS[name])
    if name == "hifloat8":
        return encode_hifloat8(numbers)
    return numbers.astype(ELEMENTS[name])


def carried(array: Array, name: str) -> Array:
    """Make of an array of elements what an operator takes.

    Parameters
    ----------
    array : ndarray
        Of the format's element dtype.
    name : str
        A key of `ELEMENTS`.

    Returns
    -------
    ndarray
        4-bit elements are packed, others are as they were.
    """
    if name in ("int4", "int4x8"):
        return pack_int4(array, dtype=int4_x2 if name == "int4" else np.int32)
    return pack_float4(array) if name == "float4_e2m1fn" else array


def empty(shape: tuple[int, ...], name: str) -> Array:
    """Make an array for an output, filled with poison.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    name : str
        A key of `ELEMENTS`.

    Returns
    -------
    ndarray
        What an operator takes.
    """
    return carried(poisoned(shape, ELEMENTS[name]), name)
