# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a scale is shared by: names for the operators' mode numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ..dtypes import float4_e2m1fn_x2, hifloat8, int4_x2
from ..errors import invalid
from ..values import integer

if TYPE_CHECKING:
    from ..dtypes import DType

__all__ = ["GROUP", "AntiquantMode", "as_mode", "check_dtype"]

GROUP = 32
"""Elements that share a scale in the modes of groups."""

_INT8 = np.dtype(np.int8)
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)


class AntiquantMode(IntEnum):
    """Which elements of a key or value share a scale.

    Members are the numbers that ``key_antiquant_mode``, ``value_antiquant_mode`` and ``query_quant_mode`` take. For a
    cache of N heads:

    ====================  ======  ================================  =============================================
    name                  number  shape of the scale                element types
    ====================  ======  ================================  =============================================
    PER_CHANNEL           0       (N, D); per tensor (1,)           int8, int4_x2, hifloat8, float8_e4m3fn;
                                                                    per tensor int8
    PER_TOKEN             1       (B, S)                            int8, int4_x2, float8_e4m3fn
    PER_HEAD              2       (N,)                              int8
    PER_TOKEN_HEAD        3       (B, N, S)                         int8, int4_x2
    PER_TOKEN_PAGED       4       (blocks, block_size)              int8, float8_e4m3fn
    PER_TOKEN_HEAD_PAGED  5       (blocks, N, block_size)           int8
    PER_TOKEN_GROUP       6       (1, B, N, S, D / 32)              float4_e2m1fn_x2
    PER_CHANNEL_GROUP     8       32 tokens of a channel            values of the MXFP8 scheme only
    ====================  ======  ================================  =============================================

    Scales of modes 0 and 2 have the query's dtype, those of mode 6 and 8 float8_e8m0fnu, the others float32, as have
    both of a key in mode 0 and a value in mode 1.

    See Also
    --------
    quantize_kv : Takes a mode.

    Examples
    --------
    >>> int(AntiquantMode.PER_TOKEN_HEAD)
    3
    """

    PER_CHANNEL = 0
    PER_TOKEN = 1
    PER_HEAD = 2
    PER_TOKEN_HEAD = 3
    PER_TOKEN_PAGED = 4
    PER_TOKEN_HEAD_PAGED = 5
    PER_TOKEN_GROUP = 6
    PER_CHANNEL_GROUP = 8


_DTYPES: dict[AntiquantMode, tuple[DType, ...]] = {
    AntiquantMode.PER_CHANNEL: (_INT8, int4_x2, hifloat8, _E4M3),
    AntiquantMode.PER_TOKEN: (_INT8, int4_x2, _E4M3),
    AntiquantMode.PER_HEAD: (_INT8,),
    AntiquantMode.PER_TOKEN_HEAD: (_INT8, int4_x2),
    AntiquantMode.PER_TOKEN_PAGED: (_INT8, _E4M3),
    AntiquantMode.PER_TOKEN_HEAD_PAGED: (_INT8,),
    AntiquantMode.PER_TOKEN_GROUP: (float4_e2m1fn_x2,),
}


def as_mode(value: Any, parameter: str) -> AntiquantMode:
    """Read a mode of a quantised cache."""
    number = integer(value, parameter)
    if number not in list(_DTYPES):
        known = ", ".join(f"{member.value} ({member.name})" for member in _DTYPES)
        raise invalid(parameter, f"one of {known}", number)
    return AntiquantMode(number)


def check_dtype(mode: AntiquantMode, dtype: DType, *, per_tensor: bool) -> None:
    """Refuse an element type that the operator does not take in a mode."""
    from ..dtypes import dtype_name

    known = (_INT8,) if per_tensor else _DTYPES[mode]
    if dtype not in known:
        names = " or ".join(dtype_name(each) for each in known)
        what = "per tensor" if per_tensor else f"mode {mode.value} ({mode.name})"
        raise invalid("dtype", f"{names} for {what}", dtype_name(dtype))
