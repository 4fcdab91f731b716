# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A plain compressor and indexer: what models do ahead of the operators, simple enough for tests and examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64
from acl_attn.reference.sparse.lengths import Extents, batch_of, extents
from acl_attn.reference.sparse.visible import CAUSAL, compressed_count

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


@dataclass(frozen=True)
class Selection:
    """Compressed rows, and which of them each query sees.

    Parameters
    ----------
    cmp_kv : ndarray
        Compressed rows, in the original rows' layout and dtype.
    cmp_sparse_indices : ndarray of int32 or None
        The lists, best rows first, padded with -1; None if every visible row is to be seen.
    cmp_residual_kv : ndarray of int32, shape (B,)
        Original tokens that no compressed row stands for yet.
    cu_seqlens_cmp_kv : ndarray of int32, shape (B + 1,), or None
        Running totals of compressed rows, for TND.
    seqused_cmp_kv : ndarray of int32, shape (B,)
        Compressed rows of each sequence.
    cmp_ratio : int
        Tokens that a compressed row stands for.
    """

    cmp_kv: Array
    cmp_sparse_indices: NDArray[np.int32] | None
    cmp_residual_kv: NDArray[np.int32]
    cu_seqlens_cmp_kv: NDArray[np.int32] | None
    seqused_cmp_kv: NDArray[np.int32]
    cmp_ratio: int

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `acl_attn.sparse_flash_mla` that say all this."""
        names = ("cmp_kv", "cmp_sparse_indices", "cmp_residual_kv", "cu_seqlens_cmp_kv", "seqused_cmp_kv", "cmp_ratio")
        return {name: getattr(self, name) for name in names}


def select_topk(
    q: Array,
    ori_kv: Array,
    *,
    topk: int | None,
    cmp_ratio: int,
    cu_seqlens_q: Array | None = None,
    cu_seqlens_ori_kv: Array | None = None,
    seqused_q: Array | None = None,
    seqused_ori_kv: Array | None = None,
    layout: str = "BSND",
) -> Selection:
    """Compress rows and choose those that score best with each query.

    A compressed row is the mean of ``cmp_ratio`` original ones. A query's score with it is the sum over heads of what
    is positive of their products, and the lists hold the ``topk`` best of the rows that are not ahead of the query.
    Models have learnt ways to do both; any valid lists and rows will do for the operator.

    Parameters
    ----------
    q : ndarray, shape (B, S1, N1, 512) or (T1, N1, 512)
        Query.
    ori_kv : ndarray, shape (B, S2, 1, 512) or (T2, 1, 512)
        Original rows.
    topk : int or None
        Entries of a list. None: no lists, for a call that sees every compressed row that is not ahead.
    cmp_ratio : int
        Tokens that a compressed row stands for.
    cu_seqlens_q, cu_seqlens_ori_kv : ndarray of int32, shape (B + 1,), optional
        Running totals with a leading 0, for TND.
    seqused_q, seqused_ori_kv : ndarray of int32, shape (B,), optional
        How many tokens of each sequence count.
    layout : {"BSND", "TND"}
        Axes of both.

    Returns
    -------
    Selection
        Compressed rows and lists.

    Examples
    --------
    >>> import numpy as np
    >>> from acl_attn.reference import select_topk
    >>> rng = np.random.default_rng(0)
    >>> q, kv = rng.standard_normal((1, 9, 2, 512)), rng.standard_normal((1, 9, 1, 512))
    >>> chosen = select_topk(q, kv, topk=3, cmp_ratio=4)
    >>> chosen.cmp_kv.shape, chosen.cmp_residual_kv.tolist()
    ((1, 2, 1, 512), [1])
    >>> chosen.cmp_sparse_indices[0, [2, 3], 0].tolist()
    [[-1, -1, -1], [0, -1, -1]]
    """
    if cmp_ratio < 1 or (topk is not None and topk < 1):
        raise ValueError(f"cmp_ratio: expected a ratio and a topk of at least 1, got {cmp_ratio} and {topk}")
    batch = batch_of(layout, q, cu_seqlens_q)
    rows = extents(batch, q.shape[0 if q.ndim == 3 else 1], cu_seqlens_q, seqused_q, "q")
    ori = extents(batch, ori_kv.shape[0 if q.ndim == 3 else 1], cu_seqlens_ori_kv, seqused_ori_kv, "ori_kv")
    counts = [count // cmp_ratio for count in ori.counts]
    totals = np.cumsum([0, *counts])
    if layout == "TND":
        cmp_kv = np.zeros((totals[-1], *ori_kv.shape[1:]), ori_kv.dtype)
        cmp = Extents(tuple(totals[:-1].tolist()), tuple(counts))
    else:
        cmp_kv = np.zeros((batch, max(counts, default=0), *ori_kv.shape[2:]), ori_kv.dtype)
        cmp = Extents((0,) * batch, tuple(counts))
    lists = None if topk is None else np.full((*q.shape[:-2], 1, topk), -1, np.int32)
    for sequence, (so, sc) in enumerate(zip(ori.counts, counts, strict=True)):
        whole = as_float64(_of(ori_kv, ori, sequence)[: sc * cmp_ratio])
        own = _of(cmp_kv, cmp, sequence)
        own[...] = whole.reshape(sc, cmp_ratio, *whole.shape[1:]).mean(axis=1)
        if lists is None or topk is None:
            continue
        scores = _scores(as_float64(_of(q, rows, sequence)), as_float64(own))
        for row, (entries, score) in enumerate(zip(_of(lists, rows, sequence), scores, strict=True)):
            count = compressed_count(so - rows.counts[sequence] + row, sc, cmp_ratio, CAUSAL)
            best = np.argsort(-score[:count], kind="stable")[:topk]
            entries[0, : len(best)] = best
    return Selection(
        cmp_kv,
        lists,
        np.array([so % cmp_ratio for so in ori.counts], np.int32),
        totals.astype(np.int32) if layout == "TND" else None,
        np.array(counts, np.int32),
        cmp_ratio,
    )


def _of(tensor: Array, where: Extents, sequence: int) -> Array:
    """View the tokens of a sequence, of a packed tensor or of a batched one, which has an axis more."""
    begin, count = where.starts[sequence], where.counts[sequence]
    return tensor[begin : begin + count] if tensor.ndim == 3 else tensor[sequence, :count]


def _scores(q: Float64, rows: Float64) -> Float64:
    """Score each query with each row."""
    products = np.einsum("ihd,jd->ihj", q, rows[:, 0])
    summed: Float64 = np.maximum(products, 0).sum(axis=1)
    return summed
