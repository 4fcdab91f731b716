# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Ascend's fused attention operators for Python programs that have nothing but NumPy, on any machine.

Importing does nothing but define names: no library is loaded and no device is touched before the first call.
"""

from __future__ import annotations

from ._lib import get_include, get_library
from .catalogue import Rule, list_rules
from .checking import check
from .controls import (
    get_cpu_target,
    get_cpu_targets,
    get_num_threads,
    live_objects,
    set_cpu_target,
    set_num_threads,
    shutdown,
)
from .device import Device
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
from .kinds import allowed_block_sizes, allowed_head_dims, allowed_layouts, supports
from .kvcache import AntiquantMode, QuantizedKV, dequantize_kv, pad_heads, pad_tnd, quantize_kv
from .lengths import Lengths
from .lse import LSE, merge_states
from .masks import Mask
from .memory import Buffer
from .ops.attention import Plan, attention
from .ops.describe_metadata import describe_metadata
from .ops.features import Alibi, FullQuant, KvQuant, LeftPadding, OutQuant, Prefix, Rope
from .ops.fused_infer_attention_score import fused_infer_attention_score
from .ops.kv_quant_sparse_attn_sharedkv import kv_quant_sparse_attn_sharedkv, kv_quant_sparse_attn_sharedkv_metadata
from .ops.sparse_flash_mla import sparse_flash_mla, sparse_flash_mla_metadata
from .ops.sparse_plan import SparsePlan
from .report import Problem, Report
from .selection import TargetInfo, targets, use
from .spec import Spec
from .stored import StoredCall, load_call, save_call
from .streams import Event, Stream
from .tensor import Tensor

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
    "FullQuant",
    "InvalidArgumentError",
    "KvQuant",
    "LeftPadding",
    "Lengths",
    "Mask",
    "OutOfMemoryError",
    "OutQuant",
    "Plan",
    "Prefix",
    "Problem",
    "QuantizedKV",
    "Report",
    "Rope",
    "Rule",
    "SparsePlan",
    "Spec",
    "StoredCall",
    "Stream",
    "TargetInfo",
    "Tensor",
    "UnsupportedError",
    "allowed_block_sizes",
    "allowed_head_dims",
    "allowed_layouts",
    "attention",
    "check",
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
    "list_rules",
    "live_objects",
    "load_call",
    "merge_states",
    "pad_heads",
    "pad_tnd",
    "quantize_kv",
    "save_call",
    "set_cpu_target",
    "set_num_threads",
    "shutdown",
    "sparse_flash_mla",
    "sparse_flash_mla_metadata",
    "supports",
    "targets",
    "use",
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
