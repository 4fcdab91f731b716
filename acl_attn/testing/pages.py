# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Puts the keys and values of a `Batch` into paged caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.testing.layouts import mask_arguments, query_arguments
from acl_attn.testing.poison import poisoned

if TYPE_CHECKING:
    from acl_attn.testing.cases import Batch

Array = NDArray[Any]

CACHES = ("BnBsH", "BnNBsD", "NZ")


@dataclass(frozen=True)
class Paging:
    """How a cache is laid out.

    Attributes
    ----------
    cache : str
        One of `CACHES`.
    block_size : int
        Tokens in a block.
    seed : int
        Decides which physical blocks the sequences get.
    spare_blocks : int
        Blocks that no sequence has.
    spare_columns : int
        Columns of the block table beyond what the longest sequence needs.
    block_gap : int
        Elements between one block and the next; makes the block axis strided.
    head_gap : int
        The same between heads; caches with a head axis only.
    chunk : int or None
        Last axis of an NZ cache; None: 32 bytes.
    """

    cache: str = "BnBsH"
    block_size: int = 16
    seed: int = 0
    spare_blocks: int = 2
    spare_columns: int = 1
    block_gap: int = 0
    head_gap: int = 0
    chunk: int | None = None


def paged_arguments(batch: Batch, input_layout: str, paging: Paging) -> dict[str, Any]:
    """Arguments for a call with paged key and value.

    Block table entries that no length reaches are -1; slots that belong to no token are poisoned.

    Parameters
    ----------
    batch : Batch
        The inputs.
    input_layout : str
        The call's layout.
    paging : Paging
        How the cache is laid out.

    Returns
    -------
    dict
        Keyword arguments of `acl_attn.fused_infer_attention_score`.
    """
    table, count = block_table(batch.kv_lengths, paging)
    return {
        **query_arguments(batch, input_layout),
        "key": fill_cache(batch.key, table, count, paging),
        "value": fill_cache(batch.value, table, count, paging),
        "actual_seq_lengths_kv": batch.kv_lengths,
        "block_table": table,
        "block_size": paging.block_size,
        **mask_arguments(batch, columns=table.shape[1] * paging.block_size),
    }


def block_table(kv_lengths: list[int], paging: Paging) -> tuple[NDArray[np.int32], int]:
    """Hand out blocks to sequences, in random order.

    Parameters
    ----------
    kv_lengths : list of int
        Tokens of each sequence.
    paging : Paging
        How the cache is laid out.

    Returns
    -------
    table : ndarray of int32
        Blocks of each sequence; -1 where it needs none.
    count : int
        Physical blocks.
    """
    needed = [-(-length // paging.block_size) for length in kv_lengths]
    count = max(sum(needed) + paging.spare_blocks, 1)
    order = np.random.default_rng(paging.seed).permutation(count)
    table = np.full((len(needed), max(max(needed) + paging.spare_columns, 1)), -1, dtype=np.int32)
    taken = 0
    for row, blocks in zip(table, needed, strict=True):
        row[:blocks] = order[taken : taken + blocks]
        taken += blocks
    return table, count


def fill_cache(sequences: tuple[Array, ...], table: NDArray[np.int32], count: int, paging: Paging) -> Array:
    """Store tokens in blocks.

    Parameters
    ----------
    sequences : tuple of ndarray
        For each sequence (tokens, kv_heads, channels).
    table : ndarray of int32
        Blocks of each sequence.
    count : int
        Physical blocks.
    paging : Paging
        How the cache is laid out.

    Returns
    -------
    ndarray
        The cache.
    """
    size = paging.block_size
    kv_heads, channels = sequences[0].shape[1:]
    cache, view = _allocate(count, kv_heads, channels, paging, sequences[0].dtype)
    for row, tokens in zip(table, sequences, strict=True):
        for start in range(0, len(tokens), size):
            part = tokens[start : start + size]
            view[row[start // size], : len(part)] = part.reshape(view[0, : len(part)].shape)
    return cache


def _allocate(count: int, kv_heads: int, channels: int, paging: Paging, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Make a poisoned cache, and a view of it whose axes are block, token, kv_head, and channel or (chunk, channel)."""
    size, width = paging.block_size, paging.chunk or 32 // dtype.itemsize
    per_head = size * channels + paging.head_gap
    # Extents and strides, in elements, of the axes behind the block axis; and the order that gives the view.
    if paging.cache == "BnBsH":
        per_head = size * channels
        axes: list[tuple[int, int]] = [(size, kv_heads * channels), (kv_heads * channels, 1)]
        order: tuple[int, ...] = (0, 1, 2)
    elif paging.cache == "BnNBsD":
        axes = [(kv_heads, per_head), (size, channels), (channels, 1)]
        order = (0, 2, 1, 3)
    else:
        axes = [(kv_heads, per_head), (channels // width, size * width), (size, width), (width, 1)]
        order = (0, 3, 1, 2, 4)
    memory = poisoned((count, kv_heads * per_head + paging.block_gap), dtype)
    cache = np.lib.stride_tricks.as_strided(
        memory,
        (count, *(extent for extent, _ in axes)),
        (memory.strides[0], *(stride * dtype.itemsize for _, stride in axes)),
    )
    view = cache.transpose(order)
    if paging.cache == "BnBsH":
        view = np.lib.stride_tricks.as_strided(
            view, (count, size, kv_heads, channels), (*view.strides[:2], channels * dtype.itemsize, dtype.itemsize)
        )
    return cache, view
