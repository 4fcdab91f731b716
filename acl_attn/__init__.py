# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Ascend's fused attention operators for Python programs that have nothing but NumPy, on any machine.

Importing does nothing but define names: no library is loaded and no device is touched before the first call.
"""

from __future__ import annotations

from ._lib import get_include, get_library
from .controls import (
    get_cpu_target,
    get_cpu_targets,
    get_num_threads,
    live_objects,
    set_cpu_target,
    set_num_threads,
    shutdown,
)
from .device import Device, Event, Stream
from .env import Environment, environment
from .errors import (
    AclAttnError,
    AclAttnWarning,
    AclError,
    ArgumentTypeError,
    BackendMissingError,
    ClosedError,
    DeviceFaultError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
)
from .kvcache import AntiquantMode, QuantizedKV, dequantize_kv, pad_heads, pad_tnd, quantize_kv
from .lengths import Lengths
from .lse import LSE, merge_states
from .masks import Mask
from .memory import Buffer
from .ops.attention import Plan, attention
from .ops.describe_metadata import describe_metadata
from .ops.features import Alibi, KvQuant, LeftPadding, OutQuant, Prefix, Rope
from .ops.fused_infer_attention_score import fused_infer_attention_score
from .ops.kv_quant_sparse_attn_sharedkv import kv_quant_sparse_attn_sharedkv, kv_quant_sparse_attn_sharedkv_metadata
from .ops.sparse_flash_mla import sparse_flash_mla, sparse_flash_mla_metadata
from .ops.sparse_plan import SparsePlan
from .tensor import Spec, Tensor

__all__ = [
    "LSE",
    "AclAttnError",
    "AclAttnWarning",
    "AclError",
    "Alibi",
    "AntiquantMode",
    "ArgumentTypeError",
    "BackendMissingError",
    "Buffer",
    "ClosedError",
    "Device",
    "DeviceFaultError",
    "Environment",
    "Event",
    "InvalidArgumentError",
    "KvQuant",
    "LeftPadding",
    "Lengths",
    "Mask",
    "OutOfMemoryError",
    "OutQuant",
    "Plan",
    "Prefix",
    "QuantizedKV",
    "Rope",
    "SparsePlan",
    "Spec",
    "Stream",
    "Tensor",
    "UnsupportedError",
    "attention",
    "dequantize_kv",
    "describe_metadata",
    "environment",
    "fused_infer_attention_score",
    "get_cpu_target",
    "get_cpu_targets",
    "get_include",
    "get_library",
    "get_num_threads",
    "kv_quant_sparse_attn_sharedkv",
    "kv_quant_sparse_attn_sharedkv_metadata",
    "live_objects",
    "merge_states",
    "pad_heads",
    "pad_tnd",
    "quantize_kv",
    "set_cpu_target",
    "set_num_threads",
    "shutdown",
    "sparse_flash_mla",
    "sparse_flash_mla_metadata",
]

__version__: str


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("acl_attn")
    if name in {"reference", "testing"}:  # not needed by programs that only compute
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
