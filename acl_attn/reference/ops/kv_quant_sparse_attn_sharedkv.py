# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.kv_quant_sparse_attn_sharedkv`: dequantised rows, then the same attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.sparse.attention import Stream, attend_to_streams
from acl_attn.reference.sparse.lengths import batch_of, extents
from acl_attn.reference.sparse.packed import unpack_rows
from acl_attn.reference.sparse.rows import Rows
from acl_attn.reference.sparse.visible import BAND, CAUSAL, compressed_count, listed, window

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64
    from acl_attn.reference.sparse.visible import Indices

Array = NDArray[Any]


def kv_quant_sparse_attn_sharedkv(
    q: Array,
    kv_quant_mode: int,
    *,
    ori_kv: Array,
    cmp_kv: Array | None = None,
    cmp_sparse_indices: Array | None = None,
    ori_block_table: Array,
    cmp_block_table: Array | None = None,
    cu_seqlens_q: Array | None = None,
    seqused_q: Array | None = None,  # noqa: ARG001 - reserved
    seqused_kv: Array,
    sinks: Array,
    metadata: Array | None = None,  # noqa: ARG001 - says who computes what, and nothing about the result
    tile_size: int = 64,
    rope_head_dim: int = 64,
    softmax_scale: float,
    cmp_ratio: int,
    ori_mask_mode: int = 4,
    cmp_mask_mode: int = 3,
    ori_win_left: int = 127,
    ori_win_right: int = 0,  # noqa: ARG001 - only 0 is allowed, and the device does not look at it
    layout_q: str = "BSND",
    layout_kv: str = "PA_ND",
    return_softmax_lse: bool = False,
) -> tuple[Float64, Float64 | None]:
    """Sparse attention over a packed cache in float64, with the arguments of the operator.

    Parameters
    ----------
    q : ndarray of bfloat16, shape (B, S1, N1, 512) or (T1, N1, 512)
        Query: 448 channels without and then 64 with rope.
    kv_quant_mode : int
        1: a scale for each tile of a row.
    ori_kv, cmp_kv : ndarray of float8_e4m3fn or hifloat8, shape (blocks, block_size, 1, 640)
        Original and compressed rows, packed.
    cmp_sparse_indices : ndarray of int32, optional
        Compressed rows that each query sees, (B, S1, 1, K) or (T1, 1, K); -1 ends a list.
    ori_block_table, cmp_block_table : ndarray of int32
        Blocks of each sequence.
    cu_seqlens_q : ndarray of int32, shape (B + 1,), optional
        Running totals with a leading 0, for TND.
    seqused_q : ndarray, optional
        Without influence.
    seqused_kv : ndarray of int32, shape (B,)
        Original tokens of each sequence, the queries' own included; ``seqused_kv // cmp_ratio`` are compressed.
    sinks : ndarray of float32, shape (N1,)
        One more logit per head, in the denominator only; not scaled.
    metadata : ndarray, optional
        Without influence.
    tile_size, rope_head_dim : int
        64.
    softmax_scale : float
        Multiplies the products of query and key.
    cmp_ratio : int
        Tokens that a compressed row stands for.
    ori_mask_mode, cmp_mask_mode : int
        4 and 3.
    ori_win_left, ori_win_right : int
        Tokens before and after a query's own.
    layout_q, layout_kv : str
        "BSND" or "TND"; "PA_ND".
    return_softmax_lse : bool
        Whether to return the second result.

    Returns
    -------
    attn_out : ndarray of float64
        Shape of ``q``; not rounded. 0 for rows that see nothing.
    softmax_lse : ndarray of float64 or None
        As for `acl_attn.reference.sparse_flash_mla`.

    Raises
    ------
    ValueError
        If the arguments contradict each other.
    """
    fixed = (kv_quant_mode, tile_size, rope_head_dim, ori_mask_mode, cmp_mask_mode, layout_kv)
    if fixed != (1, 64, 64, BAND, CAUSAL, "PA_ND"):
        raise ValueError(f"kv_quant_mode: expected (1, 64, 64, 4, 3, 'PA_ND') of what has one value, got {fixed}")
    batch = batch_of(layout_q, q, cu_seqlens_q)
    rows = extents(batch, q.shape[0 if q.ndim == 3 else 1], cu_seqlens_q, None, "q")
    ori_rows = Rows(ori_kv, ori_block_table, "ori_kv")
    ori = extents(batch, ori_rows.room, None, seqused_kv, "kv")

    def position(sequence: int, row: int) -> int:
        return ori.counts[sequence] - rows.counts[sequence] + row

    def seen_original(sequence: int, row: int) -> Indices:
        return window(position(sequence, row), ori.counts[sequence], BAND, ori_win_left, 0)

    streams = [Stream(seen_original, lambda b, positions: unpack_rows(ori_rows.read(ori, b, positions)))]
    if cmp_kv is not None:
        cmp_rows = Rows(cmp_kv, cmp_block_table, "cmp_kv")

        def seen_compressed(sequence: int, row: int) -> Indices:
            stored = ori.counts[sequence] // cmp_ratio
            count = compressed_count(position(sequence, row), stored, cmp_ratio, CAUSAL)
            if cmp_sparse_indices is None:
                return np.arange(count, dtype=np.int64)
            lists = cmp_sparse_indices
            own = lists[rows.starts[sequence] + row] if q.ndim == 3 else lists[sequence, row]
            return listed(own.reshape(-1), count, count, stored, "cmp_sparse_indices")

        streams.append(Stream(seen_compressed, lambda b, positions: unpack_rows(cmp_rows.read(ori, b, positions))))
    out, lse = attend_to_streams(q, rows, streams, scale=softmax_scale, sinks=sinks)
    return out, lse if return_softmax_lse else None
