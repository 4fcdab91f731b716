# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the sparse operators, on pools of blocks."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import acl_attn
from acl_attn.kvcache import pack, unpack

from ..cases import LATENT, SPARSE_WINDOW, Case
from ..truth import attend, fill
from .prepared import Prepared, planned

Array = npt.NDArray[Any]
BLOCK = 64


def prepare(case: Case) -> Prepared:
    """Prepare such a call. All sequences hold the same rows, at addresses of their own."""
    generator = np.random.default_rng(0)
    query = fill((case.batch, case.q_len, case.heads, LATENT), case.dtype, 1)
    sinks = generator.standard_normal(case.heads).astype(np.float32)
    # Of the original rows only those exist that a window reaches: the others would only take memory.
    first = max(0, case.kv_len - case.q_len - SPARSE_WINDOW + 1) // BLOCK * BLOCK
    original, original_numbers = _rows(case, case.kv_len - first, 2)
    pool, table = _pool(original, case.batch, -(-case.kv_len // BLOCK), generator)
    arguments: dict[str, Any] = {
        "sinks": sinks, "kv_lengths": [case.kv_len] * case.batch, "ori_block_table": table, "scale": LATENT**-0.5,
    }  # fmt: skip
    compressed_pool, numbers, lists = None, np.empty((0, LATENT), np.float32), np.empty((0, 0), np.int32)
    if case.sparse != "window":
        compressed, numbers = _rows(case, case.kv_len // case.ratio, 3)
        columns = -(-len(compressed) // BLOCK)
        compressed_pool, arguments["cmp_block_table"] = _pool(compressed, case.batch, columns, generator)
        arguments["cmp_ratio"] = case.ratio
    if case.sparse == "lists":
        lists = _lists(case, generator)
        arguments["cmp_sparse_indices"] = np.ascontiguousarray(
            np.broadcast_to(lists[None, :, None], (case.batch, case.q_len, 1, case.topk))
        )
    expected = []
    for sequence, head, i in case.positions():
        position = case.kv_len - case.q_len + i
        window = original_numbers[max(0, position + 1 - SPARSE_WINDOW) - first : position + 1 - first]
        seen = numbers[lists[i][lists[i] >= 0]] if case.sparse == "lists" else numbers[: (position + 1) // case.ratio]
        rows = np.concatenate([window, seen]) if case.sparse != "window" else window
        expected.append(attend(query[sequence, i, head], rows, rows, LATENT**-0.5, sink=float(sinks[head])))
    out = np.empty_like(query)
    plan = acl_attn.SparsePlan(query, pool, compressed_pool, out=out, **arguments)
    return planned(plan, out, [(sequence, i, head) for sequence, head, i in case.positions()], expected)


def _rows(case: Case, count: int, seed: int) -> tuple[Array, npt.NDArray[np.float32]]:
    """Give rows as they are stored, and the numbers that they stand for."""
    numbers = fill((count, LATENT), case.dtype, seed)
    if not case.is_packed:
        return numbers, numbers.astype(np.float32)
    stored = pack(numbers, scale_kind="e8m0")
    return stored, unpack(stored, ml_dtypes.bfloat16, scale_kind="e8m0").astype(np.float32)


def _pool(rows: Array, batch: int, columns: int, generator: np.random.Generator) -> tuple[Array, npt.NDArray[np.int32]]:
    """Put the same rows into blocks for each sequence; the last columns of the table name them, in a random order."""
    blocks = -(-len(rows) // BLOCK)
    pool = np.zeros((batch * blocks, BLOCK, 1, rows.shape[-1]), rows.dtype)
    order = generator.permutation(batch * blocks).astype(np.int32).reshape(batch, blocks)
    for block in range(blocks):
        part = rows[block * BLOCK : (block + 1) * BLOCK]
        pool[order[:, block], : len(part), 0] = part
    table = np.full((batch, columns), -1, np.int32)
    table[:, columns - blocks :] = order
    return pool, table


def _lists(case: Case, generator: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw the compressed rows that each query of a sequence sees."""
    lists = np.full((case.q_len, case.topk), -1, np.int32)
    for i in range(case.q_len):
        visible = (case.kv_len - case.q_len + i + 1) // case.ratio
        count = min(case.topk, visible)
        lists[i, :count] = generator.choice(visible, count, replace=False)
    return lists
