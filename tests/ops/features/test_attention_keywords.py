# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Every feature as one keyword of `attention`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import reference
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_close, assert_within_a_step

SIZES = {"q_lengths": (5, 5), "kv_lengths": (40, 40), "heads": 4, "kv_heads": 2, "dim": 64, "dim_v": 64}


def _rope() -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **{**SIZES, "dim": 128, "dim_v": 128}, rope=64)
    given = arguments(call)
    return call, {"rope": acl_attn.Rope(given["query_rope"], given["key_rope"])}


def _bias() -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **SIZES, bias="tensor")
    return call, {"bias": arguments(call)["pse_shift"]}


def _alibi(*, sqrt: bool) -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **{**SIZES, "kv_lengths": (5, 5)}, bias="slope_sqrt" if sqrt else "slope")
    return call, {"alibi": acl_attn.Alibi(arguments(call)["pse_shift"], sqrt=sqrt, q_start=3, kv_start=1)}


def _sink() -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **SIZES, sink=True)
    return call, {"sink": arguments(call)["learnable_sink"]}


def _prefix(length: int | None) -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **SIZES, prefix=9)
    given = arguments(call)
    prefix = acl_attn.Prefix(given["key_shared_prefix"], given["value_shared_prefix"], length)
    return call, {"prefix": prefix, "mask": "causal"}


def _left_padding() -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **{**SIZES, "q_lengths": (5, 2), "kv_lengths": (40, 11)}, q_padding=1, kv_padding=2)
    lengths = {"q_lengths": [5, 2], "kv_lengths": [40, 11]}
    return call, {"left_padding": acl_attn.LeftPadding(query=1, key=2), **lengths}


def _kv_quant(modes: tuple[int, int], kv_format: str) -> tuple[Call, dict[str, Any]]:
    call = Call("BSND", **{**SIZES, "q_lengths": (1, 1)}, kv_format=kv_format, modes=modes)
    given = arguments(call)
    scales = given["key_antiquant_scale"], given["value_antiquant_scale"]
    return call, {"kv_quant": acl_attn.KvQuant(modes, *scales)}


def _out_quant(dtype: str) -> tuple[Call, dict[str, Any]]:
    return Call("BSND", **SIZES), {"out_quant": acl_attn.OutQuant(30.0, 1.0, dtype)}


def _full_quant(scheme: str) -> tuple[Call, dict[str, Any]]:
    if scheme == "per_tensor":
        call = Call("BSND", **SIZES, scheme=scheme, q_format="int8")
        given = arguments(call)
        scales = {"score_scale": "deq_scale1", "p_scale": "quant_scale1", "out_scale": "deq_scale2"}
    else:
        call = Call("TND", **SIZES, scheme=scheme, q_format="float8_e4m3fn")
        given = arguments(call)
        scales = {"query_scale": "dequant_scale_query"}
        scales.update(key_scale="key_antiquant_scale", value_scale="value_antiquant_scale")
    keywords = {"q_lengths": [5, 5], "kv_lengths": [40, 40], "mask": "causal"}
    made = {field: given[name] for field, name in scales.items()}
    return call, {"full_quant": acl_attn.FullQuant(scheme, **made, dtype="float16"), **keywords}


CASES: dict[str, tuple[Call, dict[str, Any]]] = {
    "rope": _rope(),
    "bias": _bias(),
    "alibi": _alibi(sqrt=False),
    "alibi-sqrt": _alibi(sqrt=True),
    "sink": _sink(),
    "prefix": _prefix(None),
    "prefix-short": _prefix(4),
    "left_padding": _left_padding(),
    "kv_quant-channel": _kv_quant((0, 0), "int8"),
    "kv_quant-token": _kv_quant((1, 1), "float8_e4m3fn"),
    "kv_quant-mixed": _kv_quant((0, 1), "int4"),
    "kv_quant-group": _kv_quant((6, 6), "float4_e2m1fn"),
    "full_quant-per_tensor": _full_quant("per_tensor"),
    "full_quant-mxfp8": _full_quant("mxfp8"),
    "out_quant-int8": _out_quant("int8"),
    "out_quant-fp8": _out_quant("float8_e4m3fn"),
}


@pytest.mark.parametrize("name", CASES)
def test_keyword(name: str) -> None:
    call, keywords = CASES[name]
    given = arguments(call)
    operands = given["query"], given["key"], given["value"]
    out, lse = acl_attn.attention(*operands, return_lse=True, **keywords)
    want, want_lse = reference.attention(*operands, return_lse=True, **keywords)
    assert_close(np.asarray(lse), want_lse, name="lse")
    if name.startswith(("full_quant", "out_quant")):
        assert_within_a_step(out, want, name="out", noise=1e-4, exact=0.95)
    else:
        assert_close(out, want, name="out")


def test_the_key_is_the_value_in_absorbed_mla() -> None:
    given = arguments(Call("BSND", (2, 2), (40, 40), 4, 1, 512, 512, rope=64))
    rope = acl_attn.Rope(given["query_rope"], given["key_rope"])
    keywords = {"rope": rope, "scale": 192**-0.5}
    out = acl_attn.attention(given["query"], given["key"], None, **keywords)
    assert_close(out, reference.attention(given["query"], given["key"], None, **keywords))
