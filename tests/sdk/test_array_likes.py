# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What is no array of numbers is refused by name, wherever a function takes an array."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Lengths, dtypes, kvcache

ROWS = np.ones((3, 512), np.float32)
PACKED = kvcache.pack(ROWS, scale_kind="e8m0")
FOREIGN = kvcache.to_foreign_rows(PACKED, 608)
HEADS = np.ones((2, 3, 4, 64), np.float32)  # batch, tokens, heads, channels
BLOCKS = np.ones((2, 1, 128, 128), np.float32)
QUANTISED = kvcache.quantize_kv(HEADS, HEADS, mode=0, layout="BSND", query_dtype="float16")
X = np.ones((1, 3, 2, 32), np.float16)
STATE = acl_attn.attention(X, X, X, return_lse=True)
TABLE = np.array([[0, 1]], np.int32)
POOL = np.zeros((2, 16, 1, 640), np.uint8).view(dtypes.as_dtype("float8_e4m3fn"))

# A call that is right, and which of its arguments are arrays.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "attention": (
        acl_attn.attention,
        {
            "query": np.ones((1, 2, 2, 32), np.float16),
            "key": np.ones((1, 5, 2, 32), np.float16),
            "value": np.ones((1, 5, 2, 32), np.float16),
            "kv_lengths": [5],
            "bias": np.ones((1, 2, 2, 5), np.float16),
            "sink": np.ones(2, np.float16),
        },
        ("query", "key", "value", "kv_lengths", "bias", "sink"),
    ),
    "pack": (kvcache.pack, {"values": ROWS, "scale_kind": "e8m0"}, ("values",)),
    "unpack": (kvcache.unpack, {"rows": PACKED, "scale_kind": "e8m0"}, ("rows",)),
    "check_packed": (kvcache.check_packed, {"values": ROWS, "scale_kind": "e8m0"}, ("values",)),
    "write_packed": (
        kvcache.write_packed,
        {"pool": POOL, "values": ROWS, "slots": [3, 1, 30], "scale_kind": "e8m0"},
        ("pool", "values", "slots"),
    ),
    "read_packed": (kvcache.read_packed, {"pool": POOL, "slots": [3, 1], "scale_kind": "e8m0"}, ("pool", "slots")),
    "slot_mapping": (
        kvcache.slot_mapping,
        {"block_table": TABLE, "lengths": [20], "block_size": 16},
        ("block_table", "lengths"),
    ),
    "from_foreign_rows": (kvcache.from_foreign_rows, {"rows": FOREIGN, "block_planar": None}, ("rows",)),
    "to_foreign_rows": (kvcache.to_foreign_rows, {"rows": PACKED, "row_bytes": 584, "block_planar": False}, ("rows",)),
    "quantize": (
        kvcache.quantize,
        {
            "values": HEADS,
            "mode": 0,
            "dtype": "int8",
            "layout": "BSND",
            "query_dtype": "float16",
            "asymmetric": True,
            "scale": np.ones((4, 64), np.float32),
            "offset": np.ones((4, 64), np.float32),
        },
        ("values", "scale", "offset"),
    ),
    "dequantize": (
        kvcache.dequantize,
        {"values": QUANTISED.key, "scale": QUANTISED.key_scale, "mode": 0, "layout": "BSND"},
        ("values", "scale"),
    ),
    "group_query_scale": (
        kvcache.group_query_scale,
        {"scale": np.ones((3, 4, 2, 2), np.float32), "num_kv_heads": 2},
        ("scale",),
    ),
    "merge_states": (
        acl_attn.merge_states,
        {
            "out_a": STATE[0],
            "lse_a": STATE[1],
            "out_b": STATE[0],
            "lse_b": STATE[1],
        },
        ("out_a", "lse_a", "out_b", "lse_b"),
    ),
    "to_nz": (kvcache.to_nz, {"cache": BLOCKS, "width": 16}, ("cache",)),
    "from_nz": (kvcache.from_nz, {"cache": np.ones((2, 1, 8, 128, 16))}, ("cache",)),
    "quantize_per_tensor": (
        kvcache.quantize_per_tensor,
        {"query": HEADS, "key": HEADS, "value": HEADS},
        ("query", "key", "value"),
    ),
    "quantize_mla": (
        kvcache.quantize_mla,
        {"query": HEADS, "query_rope": HEADS, "key": HEADS, "key_rope": HEADS},
        ("query", "query_rope", "key", "key_rope"),
    ),
    "quantize_gqa_fp8": (
        kvcache.quantize_gqa_fp8,
        {"query": np.ones((4, 6, 128)), "key": BLOCKS, "value": BLOCKS},
        ("query", "key", "value"),
    ),
    "quantize_mxfp8": (
        kvcache.quantize_mxfp8,
        {"query": np.ones((6, 4, 128)), "key": BLOCKS, "value": BLOCKS},
        ("query", "key", "value"),
    ),
    "quantize_kv": (
        acl_attn.quantize_kv,
        {"key": HEADS, "value": HEADS, "mode": 0, "layout": "BSND", "query_dtype": "float16"},
        ("key", "value"),
    ),
    "pad_heads": (acl_attn.pad_heads, {"array": HEADS, "dim": 128}, ("array",)),
    "pad_tnd": (
        acl_attn.pad_tnd,
        {"query": np.ones((5, 2, 4)), "q_lengths": Lengths((5,)), "kv_lengths": Lengths((9,)), "tokens": 8},
        ("query",),
    ),
    "encode": (dtypes.encode, {"values": [1.0, 2.0], "dtype": "hifloat8"}, ("values",)),
    "decode": (dtypes.decode, {"array": np.ones(3, np.float32)}, ("array",)),
    "encode_hifloat8": (dtypes.encode_hifloat8, {"values": [1.0]}, ("values",)),
    "decode_hifloat8": (dtypes.decode_hifloat8, {"codes": np.zeros(2, np.uint8)}, ("codes",)),
    "pack_int4": (dtypes.pack_int4, {"values": [1, 2]}, ("values",)),
    "pack_float4": (dtypes.pack_float4, {"values": [0.5, 1.0]}, ("values",)),
    "encode_e8m0": (dtypes.encode_e8m0, {"scales": [1.0, 2.0]}, ("scales",)),
    "encode_scale_words": (dtypes.encode_scale_words, {"scales": [1.0, 2.0]}, ("scales",)),
    "decode_scale_words": (dtypes.decode_scale_words, {"words": np.ones(1, np.uint64)}, ("words",)),
    "unpack_int4": (dtypes.unpack_int4, {"packed": dtypes.pack_int4([1, 2])}, ("packed",)),
    "unpack_float4": (dtypes.unpack_float4, {"packed": dtypes.pack_float4([1.0, 2.0])}, ("packed",)),
    "describe_metadata": (acl_attn.describe_metadata, {"metadata": np.zeros(1024, np.int32)}, ("metadata",)),
    "Mask.dense": (acl_attn.Mask.dense, {"array": np.zeros((2, 2), bool), "true_means": "keep"}, ("array",)),
    "Mask": (acl_attn.Mask, {"hidden": np.zeros((1, 1, 2, 2), bool)}, ("hidden",)),
    "Lengths.from_lengths": (Lengths.from_lengths, {"lengths": [1, 2]}, ("lengths",)),
    "Lengths.from_cu_seqlens": (Lengths.from_cu_seqlens, {"cu_seqlens": [0, 2]}, ("cu_seqlens",)),
}

WRONG: dict[str, Any] = {
    "ragged": [[1.0, 2.0], [3.0]],
    "ragged arrays": [np.ones((2, 3)), np.ones((3, 2))],
    "text": "numbers",
    "texts": np.array(["a", "b"]),
    "objects": np.array([{}, None], dtype=object),
    "an object": object(),
    "dates": np.array(["2026-01-01"], "datetime64[D]"),
    "a record": np.zeros(2, [("a", np.float32), ("b", np.int8)]),
    "a scalar": np.float32(1),
    "rank 9": np.ones((1,) * 9, np.float16),
    "nothing": np.ones((0,), np.float16),
    "complex": np.ones(3, np.complex64),
    "a type": np.float16,
}


SOMETIMES_RIGHT = {"a scalar", "rank 9", "nothing"}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("name", "parameter"), [(name, one) for name, call in CALLS.items() for one in call[2]])
def test_what_is_no_array_of_numbers(name: str, parameter: str, wrong: str) -> None:
    function, options, _ = CALLS[name]
    changed = {**options, parameter: WRONG[wrong]}
    if wrong in SOMETIMES_RIGHT:
        with contextlib.suppress(acl_attn.AclAttnError):
            function(**changed)
    else:
        with pytest.raises(acl_attn.AclAttnError, match=": expected "):
            function(**changed)


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_right(name: str) -> None:
    function, options, _ = CALLS[name]
    function(**options)
