# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a call is made of, as values of a few features, so that covered pairs of them can be counted."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acl_attn.testing.calls import Call
    from acl_attn.testing.sparse.cases import SparseCase

Pair = tuple[tuple[str, str], tuple[str, str]]


def features(call: Call) -> dict[str, str]:
    """Value of each feature of a call of the fused operator."""
    return {
        "layout": call.layout,
        "dtype": call.dtype,
        "storage": call.storage,
        "heads": _heads(call),
        "head dims": _dims(call),
        "mask": _mask(call),
        "addition": _addition(call),
        "keys": _keys(call),
        "scales": _scales(call),
        "output": f"{call.out_format} a channel" if call.out_per_channel else call.out_format or "float",
    }


def sparse_features(case: SparseCase) -> dict[str, str]:
    """Value of each feature of a call of a sparse operator."""
    return {
        "layout": case.layout,
        "query": case.dtype,
        "rows": case.kv_format or "the query's type",
        "storage": "one pool of both" if case.is_fused else "pools" if case.is_paged else "dense",
        "blocks": f"{case.block_size} and {case.cmp_block_size}" if case.is_paged else "none",
        "compressed rows": f"one of {case.cmp_ratio}" if case.has_cmp else "none",
        "lists": f"{case.lists}, of {_lists(case)}" if _lists(case) else "none",
        "mask": f"modes {case.ori_mask_mode} {case.cmp_mask_mode}",
        "heads": str(case.heads),
    }


def pairs(values: dict[str, str]) -> list[Pair]:
    """All pairs of values."""
    return list(combinations(values.items(), 2))


def _lists(case: SparseCase) -> str:
    return " and ".join(["original"] * (case.ori_topk > 0) + ["compressed"] * (case.topk > 0))


def _heads(call: Call) -> str:
    return "one KV head each" if call.heads == call.kv_heads else "MQA" if call.kv_heads == 1 else "GQA"


def _dims(call: Call) -> str:
    if call.value_is_key:
        return "MLA decode"
    if call.rope:
        return "MLA prefill"
    return "equal" if call.dim == call.dim_v else "unequal"


def _mask(call: Call) -> str:
    window = " window" if abs(call.pre_tokens) + abs(call.next_tokens) < 2**31 else ""
    return f"mode {call.sparse_mode}{window}{' tensor' if call.mask is not None else ''}"


def _addition(call: Call) -> str:
    if call.prefix:
        return "prefix and bias" if call.bias else "prefix"
    if call.q_padding is not None or call.kv_padding is not None:
        return "padding and bias" if call.bias else "padding"
    return "sink" if call.sink else f"bias {call.bias}" if call.bias else "none"


def _keys(call: Call) -> str:
    return f"quantised query {call.scheme} {call.q_format}" if call.scheme else call.kv_format or "the query's type"


def _scales(call: Call) -> str:
    if not call.kv_format:
        return "none"
    made = f"modes {call.modes[0]} {call.modes[1]}"
    return made + " for the tensor" * call.per_tensor + " with offsets" * call.offsets
