# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised keys and values, packed rows, and padding: data in the shapes and dtypes that the operators take."""

from __future__ import annotations

from .antiquant import QuantizedTensor, dequantize, quantize
from .axes import from_nz, to_nz
from .full_quant import (
    GqaFp8,
    MlaQuantized,
    PerTensorQuantized,
    quantize_gqa_fp8,
    quantize_mla,
    quantize_per_tensor,
)
from .modes import AntiquantMode
from .mxfp8 import MxFp8, group_query_scale, quantize_mxfp8
from .packed import pack, unpack
from .packed_check import PackedCheck, check_packed
from .packed_convert import from_foreign_rows, to_foreign_rows
from .packed_layout import packed_byte_map
from .packed_pool import read_packed, slot_mapping, write_packed
from .padding import PackedPadding, pad_heads, pad_tnd
from .pairs import QuantizedKV, dequantize_kv, quantize_kv

__all__ = [
    "AntiquantMode",
    "GqaFp8",
    "MlaQuantized",
    "MxFp8",
    "PackedCheck",
    "PackedPadding",
    "PerTensorQuantized",
    "QuantizedKV",
    "QuantizedTensor",
    "check_packed",
    "dequantize",
    "dequantize_kv",
    "from_foreign_rows",
    "from_nz",
    "group_query_scale",
    "pack",
    "packed_byte_map",
    "pad_heads",
    "pad_tnd",
    "quantize",
    "quantize_gqa_fp8",
    "quantize_kv",
    "quantize_mla",
    "quantize_mxfp8",
    "quantize_per_tensor",
    "read_packed",
    "slot_mapping",
    "to_foreign_rows",
    "to_nz",
    "unpack",
    "write_packed",
]
