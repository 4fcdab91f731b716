# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From the parameters of `fused_infer_attention_score` to a call of the operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..errors import invalid, type_name
from ..layouts import Layout, cache_geometry, check_heads, find_layout
from ..lengths import Lengths
from ..masks import check_mask_dtype
from ..spec import Spec, known_spec
from ..tensor import ArrayLike, Tensor, as_tensor
from ..values import flag, integer, integers, number
from .fia_call import INPUTS, POSITION, VERSIONS, FiaCall, element_shape, members, snake_case_names

__all__ = ["LENGTHS", "FiaArguments", "read_arguments"]

_NAMES = snake_case_names()
_BF16 = np.dtype(ml_dtypes.bfloat16)
_FLOAT32 = np.dtype(np.float32)

# The optional inputs by their Python names.
_OPTIONAL = {_NAMES[name]: name for name in INPUTS if name not in ("query", "key", "value")}
_TENSORS = tuple(name for name, c_name in _OPTIONAL.items() if INPUTS[c_name] == "tensor")
LENGTHS = tuple(name for name in _OPTIONAL if name not in _TENSORS)


class FiaArguments(NamedTuple):
    """A call that lacks only its outputs, and what they are like."""

    call: FiaCall
    out_spec: Spec
    lse_spec: Spec | None  # None if it is not wanted


def read_arguments(given: Mapping[str, Any], describe: Callable[[Any, str], Tensor] = as_tensor) -> FiaArguments:
    """Turn the parameters of `fused_infer_attention_score`, by name, into a call. `describe` reads its tensors."""
    layout = find_layout(given["input_layout"], "input_layout")
    tensors = {
        POSITION[_OPTIONAL[name]]: describe(given[name], name) for name in _TENSORS if given[name] is not None
    }  # fmt: skip
    is_paged = given["block_table"] is not None
    if given["atten_mask"] is not None:
        mode = integer(given["sparse_mode"], "sparse_mode")
        _check_mask(tensors[POSITION["attenMask"]], given["atten_mask"], mode)
    lengths = {
        POSITION[_OPTIONAL[name]]: _lengths(given[name], name, layout, is_paged)
        for name in LENGTHS
        if given[name] is not None
    }
    query = describe(given["query"], "query")
    keys, values = members(given["key"], "key", describe), members(given["value"], "value", describe)
    heads = integer(given["num_heads"], "num_heads")
    geometry = layout.geometry(query.shape, heads, "query")
    kv_heads = max(integer(given["num_key_value_heads"], "num_key_value_heads"), 0) or heads
    dim = _value_dim(layout, element_shape(values[0]), kv_heads, is_paged)
    wants_lse = flag(given["softmax_lse_flag"], "softmax_lse_flag")
    attributes = [
        heads,
        _scale(given, geometry.dim),
        integer(given["pre_tokens"], "pre_tokens"),
        integer(given["next_tokens"], "next_tokens"),
        layout.name.encode(),
        integer(given["num_key_value_heads"], "num_key_value_heads"),
        integer(given["sparse_mode"], "sparse_mode"),
        integer(given["inner_precise"], "inner_precise"),
        integer(given["block_size"], "block_size"),
        integer(given["antiquant_mode"], "antiquant_mode"),
        wants_lse,
        integer(given["key_antiquant_mode"], "key_antiquant_mode"),
        integer(given["value_antiquant_mode"], "value_antiquant_mode"),
        integer(given["query_quant_mode"], "query_quant_mode"),
        integer(given["pse_type"], "pse_type"),
    ]
    if given["attention_out"] is None and given["quant_scale2"] is not None:
        expected = "an array, whose dtype says what the output is quantised to"
        raise invalid("attention_out", expected, None, rule="API-E-04")
    if given["softmax_lse"] is not None and not wants_lse:
        got = type_name(given["softmax_lse"])
        raise invalid("softmax_lse", "None without softmax_lse_flag", got, "say softmax_lse_flag=True, or leave it out")
    if given["attention_out"] is None:
        check_heads(heads, geometry, query.shape)
    version = _version(given["version"], [*tensors, *lengths], attributes)
    call = FiaCall(query, keys, values, tensors, lengths, attributes, _NAMES, version)
    out_dtype = _BF16 if query.dtype.itemsize == 1 else query.dtype  # a quantised query's output is not quantised
    out_spec = known_spec(layout.output_shape(geometry, dim), out_dtype)
    return FiaArguments(call, out_spec, known_spec(layout.lse_shape(geometry), _FLOAT32) if wants_lse else None)


def _scale(given: Mapping[str, Any], dim: int) -> float:
    if given["scale_value"] is not None:
        return number(given["scale_value"], "scale_value")
    if given["query_rope"] is not None:
        raise invalid("scale_value", "a number (with query_rope there is no obvious default)", None)
    return 1 / math.sqrt(dim) if dim else 1.0


def _value_dim(layout: Layout, shape: tuple[int, ...], kv_heads: int, is_paged: bool) -> int:
    """Find the head dim of the value, which is the output's."""
    if is_paged:
        return cache_geometry(shape, kv_heads, None, "value")[2]
    return layout.geometry(shape, kv_heads, "value").dim


def _version(version: object, positions: Sequence[int], attributes: Sequence[object]) -> int:
    """Refuse versions that there are not, and parameters that a version does not have."""
    number = integer(version, "version")
    known = VERSIONS.get(number)
    if known is None:
        raise invalid("version", f"one of {', '.join(map(str, VERSIONS))}", number)
    surplus = known.surplus(positions, attributes)
    if surplus is not None:
        name, nothing, got = surplus
        raise invalid(_NAMES[name], f"{nothing}, as version {number} does not have it", got)
    return number


def _check_mask(mask: Tensor, given: ArrayLike, sparse_mode: int) -> None:
    if isinstance(given, np.ndarray):
        check_mask_dtype(given, "atten_mask")
    if sparse_mode not in (2, 3, 4) or mask.shape[-2:] != (2048, 2048) or not isinstance(given, np.ndarray):
        return
    # The operator goes by the mode and not by the contents: a mask that says something else would be ignored.
    corner = given.reshape(-1, 2048, 2048)[0]
    if not corner[0, -1] or corner[-1, 0] or corner[0, 0]:
        got = f"{corner[0, -1]!s} at the top right, {corner[-1, 0]!s} at the bottom left, {corner[0, 0]!s} at [0, 0]"
        fix = "use numpy.triu(numpy.ones((2048, 2048), bool), 1); other patterns: sparse_mode 0 or 1"
        raise invalid("atten_mask", f"true above the diagonal only for sparse_mode {sparse_mode}", got, fix)


def _lengths(found: object, parameter: str, layout: Layout, is_paged: bool) -> tuple[int, ...]:
    if isinstance(found, Lengths):
        is_cumulative = layout.is_packed and not (is_paged and parameter.endswith("_kv"))
        return found.cumulative if is_cumulative else found.per_sequence
    if isinstance(found, np.ndarray):
        found = found.tolist() if found.ndim == 1 else (found,)
    return integers(found, parameter, "a sequence of int or a Lengths")
