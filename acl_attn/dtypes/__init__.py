# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Element types: NumPy's, ml_dtypes' and three of our own on one side, ``aclDataType`` on the other.

float8_e4m3fn and float8_e8m0fnu are ml_dtypes' own. For HIFLOAT8 and for packed 4-bit elements there are the dtypes
`hifloat8`, `int4_x2` and `float4_e2m1fn_x2`.
"""

from __future__ import annotations

from .acl import DType, acl_dtype, as_dtype, dtype_name, elements_per_item
from .carriers import float4_e2m1fn_x2, hifloat8, int4_x2
from .convert import decode, encode, largest
from .hifloat8_codes import decode_hifloat8, encode_hifloat8
from .packed import pack_float4, pack_int4, unpack_float4, unpack_int4
from .scales import decode_scale_words, encode_e8m0, encode_scale_words

__all__ = [
    "DType",
    "acl_dtype",
    "as_dtype",
    "decode",
    "decode_hifloat8",
    "decode_scale_words",
    "dtype_name",
    "elements_per_item",
    "encode",
    "encode_e8m0",
    "encode_hifloat8",
    "encode_scale_words",
    "float4_e2m1fn_x2",
    "hifloat8",
    "int4_x2",
    "largest",
    "pack_float4",
    "pack_int4",
    "unpack_float4",
    "unpack_int4",
]
