# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Dtypes for element types that neither NumPy nor ml_dtypes can store as operators want them.

They are records of one opaque byte: slicing, reshaping, copying, stacking, saving and pickling keep them, and
arithmetic or a conversion to numbers, which would take codes for numbers, is a `TypeError` or `ValueError`.
``array.view(np.uint8)`` gives the codes.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

__all__ = ["CARRIERS", "float4_e2m1fn_x2", "hifloat8", "int4_x2"]

_DType: TypeAlias = np.dtype[Any]

hifloat8: Final[_DType] = np.dtype([("hifloat8", "V1")])
"""HIFLOAT8, one element an item."""

int4_x2: Final[_DType] = np.dtype([("int4_x2", "V1")])
"""Two INT4 elements an item, the even one in the low half: the last axis is half as long as operators see it."""

float4_e2m1fn_x2: Final[_DType] = np.dtype([("float4_e2m1fn_x2", "V1")])
"""Two FLOAT4_E2M1 elements an item, like `int4_x2`."""

CARRIERS: Final[dict[str, _DType]] = {
    "hifloat8": hifloat8,
    "int4_x2": int4_x2,
    "float4_e2m1fn_x2": float4_e2m1fn_x2,
}
