# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From a `SparseCase` to the arguments of the operator and of its metadata's producer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.testing.elements import ELEMENTS
from acl_attn.testing.sparse.cases import DIM
from acl_attn.testing.sparse.rows import batched, packed, pools, random_list, random_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.sparse.cases import SparseCase

Array = NDArray[Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class SparseBatch:
    """Sequences apart from each other, before any layout puts them into tensors.

    Attributes
    ----------
    query, ori, cmp : tuple of ndarray
        For each sequence (tokens, heads, 512), and rows (tokens, 1, width).
    ori_lists, cmp_lists : tuple of ndarray
        For each sequence (tokens, 1, entries).
    ori_counts, cmp_counts : tuple of ndarray
        For each sequence, how many entries of a list count, (tokens, 1).
    sinks : ndarray of float32
        Of the heads.
    """

    query: tuple[Array, ...]
    ori: tuple[Array, ...]
    cmp: tuple[Array, ...]
    ori_lists: tuple[Array, ...]
    cmp_lists: tuple[Array, ...]
    ori_counts: tuple[Array, ...]
    cmp_counts: tuple[Array, ...]
    sinks: NDArray[np.float32]


def make_batch(case: SparseCase) -> SparseBatch:
    """Draw the numbers of a case; the same ones for the same case.

    Parameters
    ----------
    case : SparseCase
        The case.

    Returns
    -------
    SparseBatch
        Its sequences.
    """
    generator = np.random.default_rng(case.seed)
    dtype = ELEMENTS[case.dtype]
    query = tuple(
        (generator.standard_normal((length, case.heads, DIM)) * case.spread).astype(dtype) for length in case.q_lengths
    )
    ori = tuple(random_rows(generator, length, case) for length in case.kv_lengths)
    cmp = tuple(random_rows(generator, length, case) for length in case.cmp_lengths)
    sinks = generator.standard_normal(case.heads).astype(np.float32)
    ori_lists: list[Array] = []
    ori_counts: list[Array] = []
    cmp_lists: list[Array] = []
    cmp_counts: list[Array] = []
    for sequence, (sq, so, sc) in enumerate(zip(case.q_lengths, case.kv_lengths, case.cmp_lengths, strict=True)):
        visible = [case.visible_compressed(sequence, row) if case.has_cmp else 0 for row in range(sq)]
        for lists, counts, entries, seen, stored, is_counted in (
            (ori_lists, ori_counts, case.ori_topk, [so] * sq, so, True),
            (cmp_lists, cmp_counts, case.topk, visible, sc, case.cmp_mask_mode == 0),
        ):
            used = generator.integers(0, entries + 1, (sq, 1)).astype(np.int32)
            made = np.empty((sq, 1, entries), np.int32)
            for row in range(sq):
                looked_at = min(seen[row], int(used[row, 0])) if is_counted else seen[row]
                made[row, 0] = random_list(generator, entries, seen[row], stored, looked_at, case.lists)
            lists.append(made)
            counts.append(used)
    return SparseBatch(query, ori, cmp, tuple(ori_lists), tuple(cmp_lists), tuple(ori_counts), tuple(cmp_counts), sinks)


def arguments(case: SparseCase, batch: SparseBatch | None = None) -> Arguments:
    """Build the arguments of a call, but for its metadata.

    Parameters
    ----------
    case : SparseCase
        What the call is like.
    batch : SparseBatch, optional
        Its sequences, otherwise those that `make_batch` draws.

    Returns
    -------
    dict
        Keyword arguments of `acl_attn.sparse_flash_mla`, or of `acl_attn.kv_quant_sparse_attn_sharedkv` for packed
        rows.
    """
    own = make_batch(case) if batch is None else batch
    made: Arguments = {
        "q": _by_query(case, own.query),
        "sinks": own.sinks,
        "softmax_scale": case.scale,
        "cmp_ratio": max(case.cmp_ratio, 1),
        "ori_mask_mode": case.ori_mask_mode,
        "cmp_mask_mode": case.cmp_mask_mode if case.has_cmp or case.kv_format else 0,
        "ori_win_left": case.win_left,
        "ori_win_right": case.win_right,
        "layout_q": case.layout,
        "layout_kv": ("PA_ND" if case.kv_format else "PA_BBND") if case.is_paged else case.layout,
        **_rows(case, own),
    }
    made.update(_quant_lengths(case) if case.kv_format else _lengths(case))
    if case.topk:
        made["cmp_sparse_indices"] = _by_query(case, own.cmp_lists)
        if case.cmp_mask_mode == 0:
            made["cmp_topk_length"] = _by_query(case, own.cmp_counts)
    if case.ori_topk:
        made["ori_sparse_indices"] = _by_query(case, own.ori_lists)
        made["ori_topk_length"] = _by_query(case, own.ori_counts)
    return made


def metadata_arguments(given: Arguments) -> Arguments:
    """Derive the arguments of the metadata's producer from those of the operator.

    Parameters
    ----------
    given : dict
        What `arguments` gives.

    Returns
    -------
    dict
        Keyword arguments of `acl_attn.sparse_flash_mla_metadata` or of its counterpart for packed rows.
    """
    q, ori, cmp = given["q"], given["ori_kv"], given.get("cmp_kv")
    is_quantised = "kv_quant_mode" in given
    taken = {"cmp_ratio", "ori_mask_mode", "cmp_mask_mode", "ori_win_left", "ori_win_right", "layout_q", "layout_kv"}
    taken |= {name for name in given if name.startswith(("cu_seqlens", "seqused", "cmp_residual"))}
    taken |= {"kv_quant_mode", "tile_size", "rope_head_dim"} if is_quantised else {"ori_topk_length", "cmp_topk_length"}
    made = {name: given[name] for name in taken if name in given}
    is_batched = given["layout_kv"] == "BSND"
    lists = given.get("cmp_sparse_indices")
    made.update(
        num_heads_q=q.shape[-2],
        num_heads_kv=1,
        head_dim=DIM,
        # A call that lacks them is refused by the producer, which has the words.
        batch_size=q.shape[0] if given["layout_q"] == "BSND" else len(given.get("cu_seqlens_q", (0,))) - 1,
        max_seqlen_q=q.shape[1] if given["layout_q"] == "BSND" else 0,
        cmp_topk=0 if lists is None else lists.shape[-1],
        ori_topk=given["ori_sparse_indices"].shape[-1] if "ori_sparse_indices" in given else 0,
        has_cmp_kv=cmp is not None,
    )
    if not is_quantised:
        made["max_seqlen_ori_kv"] = ori.shape[1] if is_batched else 0
        made["max_seqlen_cmp_kv"] = cmp.shape[1] if is_batched and cmp is not None else 0
    return made


def sequences_of(case: SparseCase, tensor: Array) -> list[Array]:
    """Take a result apart: each sequence's queries that count.

    Parameters
    ----------
    case : SparseCase
        The case.
    tensor : ndarray
        The output, or the log-sum-exp.

    Returns
    -------
    list of ndarray
        For each sequence (tokens, ...).
    """
    if case.is_packed:
        rows = tensor[0] if tensor.ndim == 3 and tensor.shape[-1] != DIM else tensor
        starts = _totals(case.rooms(case.q_lengths, case.q_room))
        return [rows[start : start + length] for start, length in zip(starts, case.q_lengths, strict=False)]
    rows = tensor[:, 0] if tensor.shape[-1] != DIM else tensor
    return [own[:length] for own, length in zip(rows, case.q_lengths, strict=True)]


def _by_query(case: SparseCase, sequences: Sequence[Array]) -> Array:
    """Lay out what there is one of for each query."""
    if case.is_packed:
        return packed(sequences, case.rooms(case.q_lengths, case.q_room))
    return batched(sequences, case.q_room)


def _rows(case: SparseCase, own: SparseBatch) -> Arguments:
    streams = {"ori": own.ori, **({"cmp": own.cmp} if case.has_cmp else {})}
    made: Arguments = {}
    if case.is_paged:
        for name, (pool, table) in zip(streams, pools(case, list(streams.values())), strict=True):
            made.update({f"{name}_kv": pool, f"{name}_block_table": table})
        return made
    for name, sequences in streams.items():
        if case.is_packed:
            lengths = tuple(len(sequence) for sequence in sequences)
            made[f"{name}_kv"] = packed(sequences, case.rooms(lengths, case.kv_room))
        else:
            made[f"{name}_kv"] = batched(sequences, case.kv_room)
    return made


def _lengths(case: SparseCase) -> Arguments:
    made: Arguments = {}
    sides = [("q", case.q_lengths, case.q_room), ("ori_kv", case.kv_lengths, case.kv_room)]
    if case.has_cmp:
        sides.append(("cmp_kv", case.cmp_lengths, case.kv_room))
        if case.cmp_mask_mode == 3:
            made["cmp_residual_kv"] = np.array(case.residuals, np.int32)
    for name, lengths, room in sides:
        is_pool = case.is_paged and name != "q"
        if case.is_packed and not is_pool:
            made[f"cu_seqlens_{name}"] = np.array(_totals(case.rooms(lengths, room)), np.int32)
            is_full = not room
        else:
            is_full = not is_pool and set(lengths) == {max(max(lengths) + room, 1)}
        if not is_full or (case.gives_lengths and not case.is_packed):
            made[f"seqused_{name}"] = np.array(lengths, np.int32)
    return made


def _quant_lengths(case: SparseCase) -> Arguments:
    made: Arguments = {"kv_quant_mode": 1, "tile_size": 64, "rope_head_dim": 64}
    made["seqused_kv"] = np.array(case.kv_lengths, np.int32)
    if case.is_packed:
        made["cu_seqlens_q"] = np.array(_totals(case.q_lengths), np.int32)
    return made


def _totals(lengths: Sequence[int]) -> list[int]:
    return [0, *accumulate(lengths)]
