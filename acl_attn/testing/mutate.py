# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Changes one parameter of a call of the fused operator, in each way in which a program might get it wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from acl_attn.dtypes import float4_e2m1fn_x2, hifloat8, int4_x2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["Mutation", "mutations"]

DTYPES = tuple(
    np.dtype(dtype)
    for dtype in (
        *(np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8, np.uint8, np.bool_, np.int32, np.int64),
        *(np.uint64, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, hifloat8, int4_x2, float4_e2m1fn_x2),
    )
)
LAYOUTS = (
    *("BSH", "BSND", "BNSD", "TND", "NTD", "BSH_BNSD", "BSND_BNSD", "BNSD_BSND", "NTD_TND"),
    *("BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND_NTD", "SBH"),
)
EXTREMES = (0, -1, 2**31 - 1, -(2**31), 2**31, 2**32, 2**63 - 1, -(2**63))
ATTRIBUTES = (
    *("num_heads", "num_key_value_heads", "sparse_mode", "inner_precise", "block_size", "antiquant_mode"),
    *("key_antiquant_mode", "value_antiquant_mode", "query_quant_mode", "pse_type", "pre_tokens", "next_tokens"),
)
LENGTHS = ("actual_seq_lengths", "actual_seq_lengths_kv", "actual_shared_prefix_len", "q_start_idx", "kv_start_idx")


class Mutation(NamedTuple):
    """A call with one parameter changed."""

    name: str
    arguments: dict[str, Any]


def mutations(arguments: dict[str, Any]) -> Iterator[Mutation]:
    """Change each parameter of a call: dtypes, each axis by one, each entry and attribute to neighbours and extremes.

    Parameters
    ----------
    arguments : dict
        Keyword arguments of `acl_attn.fused_infer_attention_score`.

    Yields
    ------
    Mutation
        What was changed, and all arguments.
    """
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            for change, array in _arrays(value):
                yield Mutation(f"{name} {change}", {**arguments, name: array})
        elif name in ("key", "value"):
            yield from _lists(arguments, name)
        elif name in LENGTHS:
            for change, entries in _entries(value):
                yield Mutation(f"{name} {change}", {**arguments, name: entries})
        if name not in ("query", "key", "value") and (name in LENGTHS or isinstance(value, np.ndarray)):
            yield Mutation(f"{name} left out", {**arguments, name: None})
    for name in ATTRIBUTES:
        now = arguments.get(name, 2147483647 if name.endswith("_tokens") else 0)
        for number in dict.fromkeys((now - 1, now + 1, now // 2, now * 2, *EXTREMES)):
            if number != now and -(2**63) <= number < 2**63:
                yield Mutation(f"{name} = {number}", {**arguments, name: number})
    for scale in (0.0, -1.0, 1e-30, 64.0):  # beyond, float32 scores are too coarse to compare
        yield Mutation(f"scale_value = {scale}", {**arguments, "scale_value": scale})
    for layout in LAYOUTS:
        if layout != arguments["input_layout"]:
            yield Mutation(f"input_layout = {layout}", {**arguments, "input_layout": layout})


def _arrays(array: Array) -> Iterator[tuple[str, Array]]:
    for dtype in DTYPES:
        if dtype != array.dtype:
            yield f"as {dtype.names[0] if dtype.names else dtype}", _converted(array, dtype)
    for axis in range(array.ndim):
        yield f"axis {axis} + 1", _longer(array, axis)
        if array.shape[axis]:
            yield f"axis {axis} - 1", np.ascontiguousarray(np.delete(array, -1, axis))
    yield "with an axis more", array[None]
    if array.ndim > 1:
        yield "with an axis less", np.ascontiguousarray(array).reshape(-1, *array.shape[2:])


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    except (TypeError, ValueError):  # types that hold codes are not computed with
        return np.zeros(array.shape, dtype)


def _longer(array: Array, axis: int) -> Array:
    shape = list(array.shape)
    shape[axis] = 1
    more = np.take(array, [-1], axis) if array.shape[axis] else np.zeros(shape, array.dtype)
    return np.concatenate([array, more], axis)


def _entries(entries: list[int]) -> Iterator[tuple[str, list[int]]]:
    for place, entry in enumerate(entries):
        for number in dict.fromkeys((entry - 1, entry + 1, *EXTREMES)):
            if number != entry:
                yield f"[{place}] = {number}", [*entries[:place], number, *entries[place + 1 :]]
    yield "with an entry more", [*entries, entries[-1] if entries else 0]
    yield "with an entry less", entries[:-1]


def _lists(arguments: dict[str, Any], name: str) -> Iterator[Mutation]:
    members = arguments[name]
    yield Mutation(f"{name} with a member less", {**arguments, name: members[:-1]})
    yield Mutation(f"{name} with a member more", {**arguments, name: [*members, members[-1]]})
    for change, array in _arrays(members[-1]):
        yield Mutation(f"{name}[{len(members) - 1}] {change}", {**arguments, name: [*members[:-1], array]})
