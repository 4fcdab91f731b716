# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised keys and values, and padding: data in the shapes and dtypes that the operators take."""

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
from .padding import PackedPadding, pad_heads, pad_tnd
from .pairs import QuantizedKV, dequantize_kv, quantize_kv

__all__ = [
    "AntiquantMode",
    "GqaFp8",
    "MlaQuantized",
    "MxFp8",
    "PackedPadding",
    "PerTensorQuantized",
    "QuantizedKV",
    "QuantizedTensor",
    "dequantize",
    "dequantize_kv",
    "from_nz",
    "group_query_scale",
    "pad_heads",
    "pad_tnd",
    "quantize",
    "quantize_gqa_fp8",
    "quantize_kv",
    "quantize_mla",
    "quantize_mxfp8",
    "quantize_per_tensor",
    "to_nz",
]
