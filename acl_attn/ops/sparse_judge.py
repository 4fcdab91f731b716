# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Holds calls of the sparse operators, and of their metadata's producers, against the operators' rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._lib import ffi, lib
from ..addresses import as_tensor_or_placeholder
from ..errors import check
from ..handle_set import HandleSet
from ..spec import Spec
from .judge import Judged, bound, register
from .kv_quant_sparse_attn_sharedkv import kv_quant_sparse_attn_sharedkv, kv_quant_sparse_attn_sharedkv_metadata
from .sparse_call import METADATA, Signature, SparseCall, output_specs
from .sparse_flash_mla import sparse_flash_mla, sparse_flash_mla_metadata
from .sparse_signatures import (
    KV_QUANT_SPARSE_ATTN_SHAREDKV,
    KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA,
    SPARSE_FLASH_MLA,
    SPARSE_FLASH_MLA_METADATA,
)

__all__ = ["judge_metadata", "judge_sparse"]


def judge_sparse(
    signature: Signature, function: Callable[..., Any], arguments: Mapping[str, Any], options: ffi.CData
) -> Judged:
    """Hold a call of an attention operator against its rules; a `Spec` may stand for any array."""
    given = bound(function, arguments)
    query = as_tensor_or_placeholder(given["q"], "q")
    given["q"] = query
    return _judge(signature, given, output_specs(signature, given, query), options)


def judge_metadata(
    signature: Signature, function: Callable[..., Any], arguments: Mapping[str, Any], options: ffi.CData
) -> Judged:
    """Hold a call of a metadata's producer against its rules; a `Spec` may stand for any array."""
    return _judge(signature, bound(function, arguments), {"out": METADATA}, options)


def _judge(signature: Signature, given: Mapping[str, Any], wanted: Mapping[str, Spec], options: ffi.CData) -> Judged:
    """Ask the library. Outputs that the caller did not give are as they are wanted."""
    outputs = {
        name: as_tensor_or_placeholder(spec if given[name] is None else given[name], name)
        for name, spec in wanted.items()
    }
    call = SparseCall(signature, given, outputs, as_tensor_or_placeholder)
    function = signature.name.replace("aclnn", "aclAttnCheck", 1)
    report = ffi.new("aclAttnReport **")
    handles = HandleSet()
    try:
        check(getattr(lib, function)(*call.arguments(handles), options, report), function, call.parameter_names)
    finally:
        handles.destroy()
    own = frozenset(name for name in wanted if given[name] is None)
    return Judged(report[0], call.parameter_names, own)


for _name, _signature, _function, _judges in (
    ("sparse_flash_mla", SPARSE_FLASH_MLA, sparse_flash_mla, judge_sparse),
    ("sparse_flash_mla_metadata", SPARSE_FLASH_MLA_METADATA, sparse_flash_mla_metadata, judge_metadata),
    ("kv_quant_sparse_attn_sharedkv", KV_QUANT_SPARSE_ATTN_SHAREDKV, kv_quant_sparse_attn_sharedkv, judge_sparse),
    (
        "kv_quant_sparse_attn_sharedkv_metadata",
        KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA,
        kv_quant_sparse_attn_sharedkv_metadata,
        judge_metadata,
    ),
):
    register(_name, _function, partial(_judges, _signature, _function))
