# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls on 16-bit operands with sequences of equal length, one array or paged, and the features around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import acl_attn

from ..cases import WINDOW, Case
from ..truth import expected_rows, fill, plain_operands
from .prepared import Prepared, planned

Array = npt.NDArray[Any]


def prepare(case: Case) -> Prepared:
    """Prepare such a call, in layout BNSD."""
    query, key, value = plain_operands(case)
    if case.feature == "mla_decode":
        value = key[..., : case.dim]
    features, known = _features(case)
    expected = expected_rows(case, query, key, value, **known)
    options: dict[str, Any] = {"layout": "BNSD", "scale": (case.dim + case.rope) ** -0.5, **features}
    if case.rope:
        query, query_rope = _split(query, case.dim)
        key, key_rope = _split(key, case.dim)
        options["rope"] = acl_attn.Rope(query_rope, key_rope)
    if case.block_size:
        table = _block_table(case)
        key, value = _paged(key, case, table), _paged(value, case, table)
        options |= {"block_table": table, "block_size": case.block_size, "kv_lengths": [case.kv_len] * case.batch}
    out = np.empty((*query.shape[:-1], case.dim), query.dtype)
    plan = acl_attn.Plan(query, key, None if case.feature == "mla_decode" else value, out=out, **options)
    return planned(plan, out, case.positions(), expected)


def _features(case: Case) -> tuple[dict[str, Any], dict[str, Array]]:
    """Give keywords of the plan, and of the expected rows."""
    if case.feature == "bias":
        bias = fill((1, case.heads, case.q_len, case.kv_len), case.dtype, 4)
        return {"bias": bias}, {"bias": bias}
    if case.feature == "sink":
        sinks = fill((case.heads,), case.dtype, 5)
        return {"sink": sinks}, {"sinks": sinks}
    if case.feature == "mask":
        hidden = np.triu(np.ones((case.q_len, case.kv_len), np.bool_), case.kv_len - case.q_len + 1)
        return {"mask": acl_attn.Mask.dense(hidden, true_means="masked")}, {}
    if case.feature == "window":
        return {"window": (WINDOW - 1, 0)}, {}
    return ({"mask": "causal"} if case.causal else {}), {}


def _split(array: Array, channels: int) -> tuple[Array, Array]:
    return np.ascontiguousarray(array[..., :channels]), np.ascontiguousarray(array[..., channels:])


def _block_table(case: Case) -> npt.NDArray[np.int32]:
    columns = -(-case.kv_len // case.block_size)
    order = np.random.default_rng(0).permutation(case.batch * columns).astype(np.int32)
    return order.reshape(case.batch, columns)


def _paged(array: Array, case: Case, table: npt.NDArray[np.int32]) -> Array:
    """Cut sequences into blocks ``(blocks, heads, block_size, channels)``, in the order of a table."""
    pool = np.zeros((table.size, case.kv_heads, case.block_size, array.shape[-1]), array.dtype)
    for column in range(table.shape[1]):
        part = array[:, :, column * case.block_size : (column + 1) * case.block_size]
        pool[table[:, column], :, : part.shape[2]] = part
    return pool
