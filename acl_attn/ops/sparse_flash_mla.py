# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention over shared latent rows, with the vendor's own parameters."""

from __future__ import annotations

from typing import Any

from ..device import Device, device_id
from ..streams import StreamLike
from ..tensor import ArrayLike
from .sparse_call import run_main, run_metadata
from .sparse_signatures import SPARSE_FLASH_MLA, SPARSE_FLASH_MLA_METADATA

__all__ = ["sparse_flash_mla", "sparse_flash_mla_metadata"]


def sparse_flash_mla_metadata(
    num_heads_q: int,
    num_heads_kv: int,
    head_dim: int,
    *,
    cu_seqlens_q: ArrayLike | None = None,
    cu_seqlens_ori_kv: ArrayLike | None = None,
    cu_seqlens_cmp_kv: ArrayLike | None = None,
    seqused_q: ArrayLike | None = None,
    seqused_ori_kv: ArrayLike | None = None,
    seqused_cmp_kv: ArrayLike | None = None,
    cmp_residual_kv: ArrayLike | None = None,
    ori_topk_length: ArrayLike | None = None,
    cmp_topk_length: ArrayLike | None = None,
    batch_size: int = 0,
    max_seqlen_q: int = 0,
    max_seqlen_ori_kv: int = 0,
    max_seqlen_cmp_kv: int = 0,
    ori_topk: int = 0,
    cmp_topk: int = 0,
    cmp_ratio: int = 1,
    ori_mask_mode: int = 0,
    cmp_mask_mode: int = 0,
    ori_win_left: int = -1,
    ori_win_right: int = -1,
    layout_q: str = "BSND",
    layout_kv: str = "BSND",
    has_ori_kv: bool = True,
    has_cmp_kv: bool = True,
    out: ArrayLike | None = None,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> Any:
    """Write the task list of a call of `sparse_flash_mla`: which core computes what.

    The call itself must be given the same lengths, masks, windows and layouts. It refuses the metadata of another call.

    Parameters
    ----------
    num_heads_q : int
        Heads of the query, 1 to 128.
    num_heads_kv : int
        Heads of the rows: 1.
    head_dim : int
        Channels: 512.
    cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv : array-like, optional
        Of dtype int32, ``(B + 1,)``: running totals with a leading 0, for TND.
    seqused_q, seqused_ori_kv, seqused_cmp_kv : array-like, optional
        Of dtype int32, ``(B,)``: how many tokens of each sequence count.
    cmp_residual_kv : array-like, optional
        Of dtype int32, ``(B,)``: original tokens that no compressed row stands for yet.
    ori_topk_length, cmp_topk_length : array-like, optional
        Of dtype int32, ``(B, S1, 1)`` or ``(T1, 1)``: how many entries of each list count.
    batch_size : int
        Sequences, where no array of lengths says it.
    max_seqlen_q, max_seqlen_ori_kv, max_seqlen_cmp_kv : int
        Token axes of BSND tensors; longest sequences otherwise, where 0 will do.
    ori_topk, cmp_topk : int
        Entries of an index list; 0 without lists.
    cmp_ratio : int
        Tokens that a compressed row stands for; 1 without these.
    ori_mask_mode, cmp_mask_mode : int
        As for `sparse_flash_mla`.
    ori_win_left, ori_win_right : int
        As for `sparse_flash_mla`.
    layout_q, layout_kv : str
        As for `sparse_flash_mla`.
    has_ori_kv, has_cmp_kv : bool
        Whether the call is given these rows.
    out : array-like, optional
        Where to write: int32, ``(1024,)``, C-contiguous and writable.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue the call; it then returns at once. Without it the call waits for its result.
    device : Device, optional
        Where to run, without a stream. The calling thread's device by default.

    Returns
    -------
    numpy.ndarray, or what was given as `out`
        The metadata: int32, ``(1024,)``.

    Raises
    ------
    InvalidArgumentError
        The operator refuses the call; the message names the parameter.

    See Also
    --------
    describe_metadata : Prints what it says.
    SparsePlan : Makes the metadata by itself.

    Examples
    --------
    >>> import acl_attn
    >>> options = {"ori_mask_mode": 4, "ori_win_left": 127, "ori_win_right": 0, "has_cmp_kv": False}
    >>> metadata = acl_attn.sparse_flash_mla_metadata(
    ...     64, 1, 512, batch_size=2, max_seqlen_q=5, max_seqlen_ori_kv=300, **options
    ... )
    >>> metadata.shape, metadata.dtype.name
    ((1024,), 'int32')
    """
    return run_metadata(SPARSE_FLASH_MLA_METADATA, locals(), out=out, stream=stream, device=device_id(device))


def sparse_flash_mla(
    q: ArrayLike,
    *,
    ori_kv: ArrayLike | None = None,
    cmp_kv: ArrayLike | None = None,
    ori_sparse_indices: ArrayLike | None = None,
    cmp_sparse_indices: ArrayLike | None = None,
    ori_block_table: ArrayLike | None = None,
    cmp_block_table: ArrayLike | None = None,
    cu_seqlens_q: ArrayLike | None = None,
    cu_seqlens_ori_kv: ArrayLike | None = None,
    cu_seqlens_cmp_kv: ArrayLike | None = None,
    seqused_q: ArrayLike | None = None,
    seqused_ori_kv: ArrayLike | None = None,
    seqused_cmp_kv: ArrayLike | None = None,
    cmp_residual_kv: ArrayLike | None = None,
    ori_topk_length: ArrayLike | None = None,
    cmp_topk_length: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    metadata: ArrayLike | None = None,
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
    attn_out: ArrayLike | None = None,
    softmax_lse: ArrayLike | None = None,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> tuple[Any, Any]:
    """Compute sparse attention in which a token's row of 512 channels is key and value of all heads.

    Names and defaults are those of the vendor's operator ``aclnnSparseFlashMla``. They are no good choice for masks and
    scale: give both masks, the window and the scale. `SparsePlan` has better ones.

    What is given decides what a query sees: `ori_kv` alone a window of original tokens (SWA); with `cmp_kv` also all
    compressed rows that are not ahead of it (HCA); with `cmp_sparse_indices` those of them that its list names (CSA).

    Parameters
    ----------
    q : array-like
        Of dtype float16 or bfloat16: ``(B, S1, N1, 512)``, or ``(T1, N1, 512)`` for TND. Its last token is the last
        original token of its sequence.
    ori_kv, cmp_kv : array-like
        Original and compressed rows, of query's dtype: ``(B, S, 1, 512)``, ``(T, 1, 512)``, or pools of pages
        ``(blocks, block_size, 1, 512)``, whose first axis may have any positive stride. `ori_kv` is needed.
    ori_sparse_indices, cmp_sparse_indices : array-like, optional
        Of dtype int32, ``(B, S1, 1, K)`` or ``(T1, 1, K)``: rows of its sequence that each query sees; the first -1
        ends a list. Rows that are ahead of the query are passed over. `ori_sparse_indices` takes the window's place.
    ori_block_table, cmp_block_table : array-like, optional
        Of dtype int32, ``(B, blocks of a sequence)``: which blocks hold a sequence, for PA_BBND. Entries that no query
        needs are not read.
    cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv : array-like, optional
        Of dtype int32, ``(B + 1,)``: running totals with a leading 0, for TND.
    seqused_q, seqused_ori_kv, seqused_cmp_kv : array-like, optional
        Of dtype int32, ``(B,)``: how many tokens of each sequence count. Pools need the last two.
    cmp_residual_kv : array-like, optional
        Of dtype int32, ``(B,)``: original tokens that no compressed row stands for yet, less than `cmp_ratio`.
    ori_topk_length, cmp_topk_length : array-like, optional
        Of dtype int32, ``(B, S1, 1)`` or ``(T1, 1)``: how many entries of each list count, with a mask mode of 0.
    sinks : array-like
        Of dtype float32, ``(N1,)``: a further logit of each head, in the denominator only; it is not scaled.
    metadata : array-like
        What `sparse_flash_mla_metadata` gives for the same lengths, masks, windows and layouts.
    softmax_scale : float
        What scores are multiplied by; usually ``512 ** -0.5``.
    cmp_ratio : int
        Tokens that a compressed row stands for; 1 without these.
    ori_mask_mode : int
        4: the window; 3: up to the query's own position; 0: all original tokens, or those of the list.
    cmp_mask_mode : int
        3: compressed rows whose last token is not ahead of the query; 0: all. 0 without these.
    ori_win_left, ori_win_right : int
        Original tokens before and after a query's own, -1 for all; 127 and 0 are a window of 128.
    layout_q : str
        ``"BSND"`` or ``"TND"``.
    layout_kv : str
        As `layout_q`, or ``"PA_BBND"`` for pools.
    topk_value_mode : int
        1: lists hold positions.
    return_softmax_lse : bool
        Whether the log-sum-exp is wanted.
    attn_out : array-like, optional
        Where to write the output: query's shape and dtype, C-contiguous and writable.
    softmax_lse : array-like, optional
        Where to write the log-sum-exp: float32, C-contiguous and writable.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue the call; it then returns at once. Without it the call waits for its result.
    device : Device, optional
        Where to run, without a stream. The calling thread's device by default.

    Returns
    -------
    attn_out : numpy.ndarray or what was given
        The output, of query's shape and dtype. Queries that see nothing, and those beyond `seqused_q`, give 0.
    softmax_lse : numpy.ndarray, what was given, or None
        Of float32, ``(B, 1, S1, N1)`` or ``(1, T1, N1)``, natural logarithm, sinks included; 0, and not the sink, where
        the output is 0 as above. None unless `return_softmax_lse`.

    Raises
    ------
    InvalidArgumentError
        The operator refuses the call, or what its tensors hold; the message names the parameter.
    UnsupportedError
        The target does not offer what the call asks for.

    See Also
    --------
    SparsePlan : The same with simpler parameters, prepared once and run often.
    kv_quant_sparse_attn_sharedkv : The same over packed rows of 8-bit floats.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> rng = np.random.default_rng(0)
    >>> q = rng.standard_normal((1, 3, 8, 512)).astype(np.float16)  # the last 3 tokens, 8 heads
    >>> kv = rng.standard_normal((1, 300, 1, 512)).astype(np.float16)
    >>> both = {"ori_mask_mode": 4, "cmp_mask_mode": 0, "ori_win_left": 127, "ori_win_right": 0}
    >>> metadata = acl_attn.sparse_flash_mla_metadata(
    ...     8, 1, 512, batch_size=1, max_seqlen_q=3, max_seqlen_ori_kv=300, has_cmp_kv=False, **both
    ... )
    >>> options = {"sinks": np.zeros(8, np.float32), "metadata": metadata, "softmax_scale": 512**-0.5}
    >>> out, _ = acl_attn.sparse_flash_mla(q, ori_kv=kv, **options, **both)
    >>> out.shape
    (1, 3, 8, 512)
    """
    return run_main(SPARSE_FLASH_MLA, locals(), stream, device_id(device))
