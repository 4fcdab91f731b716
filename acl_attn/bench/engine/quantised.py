# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls on quantised caches, and on operands that are all quantised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import acl_attn
from acl_attn import AntiquantMode, reference
from acl_attn.dtypes import float4_e2m1fn_x2, hifloat8, int4_x2
from acl_attn.kvcache import quantize_mxfp8, quantize_per_tensor

from ..cases import Case
from ..truth import expected_rows, plain_operands
from .prepared import Prepared, planned

Array = npt.NDArray[Any]

# How each format is scaled: the finest that all of them have or, failing that, the only one.
_FORMATS: dict[str, tuple[AntiquantMode, Any]] = {
    "int8": (AntiquantMode.PER_TOKEN, np.int8),
    "fp8": (AntiquantMode.PER_TOKEN, ml_dtypes.float8_e4m3fn),
    "hif8": (AntiquantMode.PER_CHANNEL, hifloat8),
    "int4": (AntiquantMode.PER_TOKEN, int4_x2),
    "fp4": (AntiquantMode.PER_TOKEN_GROUP, float4_e2m1fn_x2),
}
_BATCH_AXIS_OF_SCALES = {AntiquantMode.PER_TOKEN: 0, AntiquantMode.PER_TOKEN_GROUP: 1}


def prepare_cache(case: Case) -> Prepared:
    """Prepare a call on a quantised cache. All sequences hold the same numbers, at addresses of their own."""
    query, *both = plain_operands(case)
    mode, dtype = _FORMATS[case.cache]
    numbers = [array[:1].astype(np.float32) for array in both]
    made = acl_attn.quantize_kv(numbers[0], numbers[1], mode, dtype, layout="BNSD", query_dtype=query.dtype)
    key, value = (np.broadcast_to(array, (case.batch, *array.shape[1:])) for array in acl_attn.dequantize_kv(made))
    expected = expected_rows(case, query, key, value)
    axis = _BATCH_AXIS_OF_SCALES.get(mode)

    def of_all(array: Array, batch_axis: int | None) -> Array:
        return array if batch_axis is None else np.repeat(array, case.batch, batch_axis)

    cache = replace(
        made, key=of_all(made.key, 0), value=of_all(made.value, 0), key_scale=of_all(made.key_scale, axis),
        value_scale=of_all(made.value_scale, axis),
    )  # fmt: skip
    out = np.empty_like(query)
    plan = acl_attn.Plan(query, cache.key, cache.value, layout="BNSD", kv_quant=cache, out=out)
    return planned(plan, out, case.positions(), expected)


def prepare_full(case: Case) -> Prepared:
    """Prepare a call on quantised queries, keys and values. The oracle is `acl_attn.reference`, row by row."""
    query, key, value = (array.astype(np.float32) for array in plain_operands(case))
    is_packed = case.scheme == "mxfp8"
    if is_packed:  # the scheme's only layout has the sequences behind one another
        lengths = acl_attn.Lengths.from_lengths([case.kv_len] * case.batch)
        query, key, value = (
            np.ascontiguousarray(a.transpose(0, 2, 1, 3)).reshape(-1, a.shape[1], case.dim) for a in (query, key, value)
        )
        mx = quantize_mxfp8(query, key, value, kv_lengths=lengths)
        operands = (mx.query, mx.key, mx.value)
        scheme = acl_attn.FullQuant("mxfp8", mx.dequant_scale_query, mx.key_antiquant_scale, mx.value_antiquant_scale)
        options: dict[str, Any] = {"layout": "TND", "q_lengths": [case.q_len] * case.batch, "kv_lengths": lengths}
    else:
        per_tensor = quantize_per_tensor(query, key, value)
        operands = (per_tensor.query, per_tensor.key, per_tensor.value)
        scheme = acl_attn.FullQuant(
            "per_tensor", score_scale=per_tensor.deq_scale1, p_scale=per_tensor.quant_scale1,
            out_scale=per_tensor.deq_scale2,
        )  # fmt: skip
        options = {"layout": "BNSD"}
    places: list[tuple[int, ...]] = [
        (sequence * case.q_len + i, head) if is_packed else (sequence, head, i)
        for sequence, head, i in case.positions()
    ]
    expected = [_reference_row(case, operands, scheme, position) for position in case.positions()]
    out = np.empty(operands[0].shape, ml_dtypes.bfloat16)
    plan = acl_attn.Plan(*operands, full_quant=scheme, out=out, **options)
    return planned(plan, out, places, expected)


def _reference_row(
    case: Case, operands: tuple[Array, Array, Array], scheme: acl_attn.FullQuant, position: tuple[int, int, int]
) -> npt.NDArray[np.float64]:
    """Compute one row from the slices that it needs."""
    sequence, head, i = position
    kv_head, scale = head // (case.heads // case.kv_heads), case.dim**-0.5
    query, key, value = operands
    if case.scheme != "mxfp8":
        part = np.s_[sequence : sequence + 1, kv_head : kv_head + 1]
        row = query[sequence : sequence + 1, head : head + 1, i : i + 1]
        found = reference.attention(row, key[part], value[part], layout="BNSD", full_quant=scheme, scale=scale)
        return np.asarray(found, np.float64).reshape(-1)
    token, keys = sequence * case.q_len + i, slice(sequence * case.kv_len, (sequence + 1) * case.kv_len)
    groups = len(np.asarray(scheme.value_scale)) // case.batch  # of tokens that share a value's scale
    of_query, of_key, of_value = (np.asarray(s) for s in (scheme.query_scale, scheme.key_scale, scheme.value_scale))
    one = replace(
        scheme,
        query_scale=of_query[token : token + 1, head : head + 1],
        key_scale=of_key[keys, kv_head : kv_head + 1],
        value_scale=of_value[sequence * groups : (sequence + 1) * groups, kv_head : kv_head + 1],
    )
    heads = slice(kv_head, kv_head + 1)
    found = reference.attention(
        query[token : token + 1, head : head + 1], key[keys, heads], value[keys, heads], layout="TND", q_lengths=[1],
        kv_lengths=[case.kv_len], full_quant=one, scale=scale,
    )  # fmt: skip
    return np.asarray(found, np.float64).reshape(-1)
