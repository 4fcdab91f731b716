# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.sparse_flash_mla`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64
from acl_attn.reference.sparse.attention import Stream, attend_to_streams
from acl_attn.reference.sparse.lengths import batch_of, extents
from acl_attn.reference.sparse.rows import Rows
from acl_attn.reference.sparse.visible import NO_MASK, compressed_count, listed, window

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64
    from acl_attn.reference.sparse.visible import Indices

Array = NDArray[Any]


def sparse_flash_mla(
    q: Array,
    *,
    ori_kv: Array,
    cmp_kv: Array | None = None,
    ori_sparse_indices: Array | None = None,
    cmp_sparse_indices: Array | None = None,
    ori_block_table: Array | None = None,
    cmp_block_table: Array | None = None,
    cu_seqlens_q: Array | None = None,
    cu_seqlens_ori_kv: Array | None = None,
    cu_seqlens_cmp_kv: Array | None = None,
    seqused_q: Array | None = None,
    seqused_ori_kv: Array | None = None,
    seqused_cmp_kv: Array | None = None,
    cmp_residual_kv: Array | None = None,
    ori_topk_length: Array | None = None,
    cmp_topk_length: Array | None = None,
    sinks: Array,
    metadata: Array | None = None,  # noqa: ARG001 - says who computes what, and nothing about the result
    softmax_scale: float = 1.0,
    cmp_ratio: int = 1,
    ori_mask_mode: int = 0,
    cmp_mask_mode: int = 0,
    ori_win_left: int = -1,
    ori_win_right: int = -1,
    layout_q: str = "BSND",
    layout_kv: str = "BSND",
    topk_value_mode: int = 1,
    return_softmax_lse: bool = False,
) -> tuple[Float64, Float64 | None]:
    """Sparse attention over original and compressed rows in float64, with the arguments of the operator.

    Parameters
    ----------
    q : ndarray, shape (B, S1, N1, 512) or (T1, N1, 512)
        Query, as ``layout_q`` says.
    ori_kv, cmp_kv : ndarray
        Original and compressed rows, which are keys and values: (B, S, 1, 512), (T, 1, 512), or paged
        (blocks, block_size, 1, 512).
    ori_sparse_indices, cmp_sparse_indices : ndarray of int32, optional
        Rows that each query sees, (B, S1, 1, K) or (T1, 1, K); -1 ends a list.
    ori_block_table, cmp_block_table : ndarray of int32, optional
        Blocks of each sequence, for ``layout_kv`` PA_BBND.
    cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv : ndarray of int32, shape (B + 1,), optional
        Running totals with a leading 0, for TND.
    seqused_q, seqused_ori_kv, seqused_cmp_kv : ndarray of int32, shape (B,), optional
        How many tokens of each sequence count.
    cmp_residual_kv : ndarray of int32, shape (B,), optional
        Original tokens that no compressed row stands for yet.
    ori_topk_length, cmp_topk_length : ndarray of int32, optional
        How many entries of each list to look at, (B, S1, 1) or (T1, 1).
    sinks : ndarray of float32, shape (N1,)
        One more logit per head, in the denominator only; not scaled.
    metadata : ndarray, optional
        Without influence.
    softmax_scale : float
        Multiplies the products of query and key.
    cmp_ratio : int
        Tokens that a compressed row stands for.
    ori_mask_mode, cmp_mask_mode : int
        0: all; 3: causal from the last token; 4 (original rows): window.
    ori_win_left, ori_win_right : int
        Tokens before and after a query's own, -1 for all.
    layout_q, layout_kv : str
        "BSND", "TND"; for rows also "PA_BBND".
    topk_value_mode : int
        1: lists hold positions inside the sequence.
    return_softmax_lse : bool
        Whether to return the second result.

    Returns
    -------
    attn_out : ndarray of float64
        Shape of ``q``; not rounded. 0 for rows that see nothing, and for rows beyond ``seqused_q``.
    softmax_lse : ndarray of float64 or None
        Sinks included: (B, 1, S1, N1) or (1, T1, N1); 0 for rows as above.

    Raises
    ------
    ValueError
        If the arguments contradict each other.
    """
    if topk_value_mode != 1:
        raise ValueError(f"topk_value_mode: expected 1, got {topk_value_mode}")
    if ori_sparse_indices is not None and ori_mask_mode != NO_MASK:
        raise ValueError(f"ori_mask_mode: expected 0 with ori_sparse_indices, got {ori_mask_mode}")
    if cmp_sparse_indices is not None and cmp_kv is None:
        raise ValueError("cmp_kv: expected rows with cmp_sparse_indices, got None")
    is_paged = layout_kv == "PA_BBND"
    batch = batch_of(layout_q, q, cu_seqlens_q)
    rows = extents(batch, q.shape[0 if q.ndim == 3 else 1], cu_seqlens_q, seqused_q, "q")
    ori_rows = Rows(ori_kv, ori_block_table if is_paged else None, "ori_kv")
    ori = extents(batch, ori_rows.room, cu_seqlens_ori_kv, seqused_ori_kv, "ori_kv")

    def entries(lists: Array, sequence: int, row: int) -> Array:
        found: Array = lists[rows.starts[sequence] + row] if q.ndim == 3 else lists[sequence, row]
        return found.reshape(-1)

    def seen_original(sequence: int, row: int) -> Indices:
        so = ori.counts[sequence]
        if ori_sparse_indices is None:
            position = so - rows.counts[sequence] + row
            return window(position, so, ori_mask_mode, ori_win_left, ori_win_right)
        own = entries(ori_sparse_indices, sequence, row)
        looked_at = own.size if ori_topk_length is None else int(entries(ori_topk_length, sequence, row)[0])
        return listed(own, min(looked_at, so), so, so, "ori_sparse_indices")

    streams = [Stream(seen_original, lambda b, positions: as_float64(ori_rows.read(ori, b, positions)))]
    if cmp_kv is not None:
        cmp_rows = Rows(cmp_kv, cmp_block_table if is_paged else None, "cmp_kv")
        cmp = extents(batch, cmp_rows.room, cu_seqlens_cmp_kv, seqused_cmp_kv, "cmp_kv")

        def seen_compressed(sequence: int, row: int) -> Indices:
            sc = cmp.counts[sequence]
            residual = 0 if cmp_residual_kv is None else int(cmp_residual_kv[sequence])
            # What the compressed rows say about the original length, as the device has it.
            position = sc * cmp_ratio + residual - rows.counts[sequence] + row
            count = compressed_count(position, sc, cmp_ratio, cmp_mask_mode)
            if cmp_sparse_indices is None:
                return np.arange(count, dtype=np.int64)
            looked_at = count
            if cmp_topk_length is not None and cmp_mask_mode == NO_MASK:
                looked_at = min(count, int(entries(cmp_topk_length, sequence, row)[0]))
            return listed(entries(cmp_sparse_indices, sequence, row), looked_at, count, sc, "cmp_sparse_indices")

        streams.append(Stream(seen_compressed, lambda b, positions: as_float64(cmp_rows.read(cmp, b, positions))))
    out, lse = attend_to_streams(q, rows, streams, scale=softmax_scale, sinks=sinks)
    return out, lse if return_softmax_lse else None
