# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention over packed rows of 8-bit floats, with the vendor's own parameters."""

from __future__ import annotations

from typing import Any

from ..device import Device, device_id
from ..streams import StreamLike
from ..tensor import ArrayLike
from .sparse_call import run_main, run_metadata
from .sparse_signatures import KV_QUANT_SPARSE_ATTN_SHAREDKV, KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA

__all__ = ["kv_quant_sparse_attn_sharedkv", "kv_quant_sparse_attn_sharedkv_metadata"]


def kv_quant_sparse_attn_sharedkv_metadata(
    num_heads_q: int,
    num_heads_kv: int,
    head_dim: int,
    kv_quant_mode: int,
    *,
    cu_seqlens_q: ArrayLike | None = None,
    cu_seqlens_ori_kv: ArrayLike | None = None,
    cu_seqlens_cmp_kv: ArrayLike | None = None,
    seqused_q: ArrayLike | None = None,
    seqused_kv: ArrayLike | None = None,
    batch_size: int = 0,
    max_seqlen_q: int = 0,
    max_seqlen_kv: int = 0,
    ori_topk: int = 0,
    cmp_topk: int = 0,
    tile_size: int = 0,
    rope_head_dim: int = 0,
    cmp_ratio: int = -1,
    ori_mask_mode: int = 4,
    cmp_mask_mode: int = 3,
    ori_win_left: int = 127,
    ori_win_right: int = 0,
    layout_q: str = "BSND",
    layout_kv: str = "PA_ND",
    has_ori_kv: bool = True,
    has_cmp_kv: bool = True,
    out: ArrayLike | None = None,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> Any:
    """Write the task list of a call of `kv_quant_sparse_attn_sharedkv`: which core computes what.

    Parameters
    ----------
    num_heads_q : int
        Heads of the query.
    num_heads_kv : int
        Heads of the rows: 1.
    head_dim : int
        Channels: 512.
    kv_quant_mode : int
        1: a scale for each tile of a row.
    cu_seqlens_q : array-like, optional
        Of dtype int32, ``(B + 1,)``: running totals with a leading 0, for TND.
    cu_seqlens_ori_kv, cu_seqlens_cmp_kv : array-like, optional
        Reserved.
    seqused_q : array-like, optional
        Of dtype int32, ``(B,)``: queries of each sequence. The call itself does not take notice, so leave it out.
    seqused_kv : array-like
        Of dtype int32, ``(B,)``: original tokens of each sequence.
    batch_size : int
        Sequences, where no array of lengths says it.
    max_seqlen_q, max_seqlen_kv : int
        The query's token axis for BSND; longest sequences otherwise, where 0 will do.
    ori_topk, cmp_topk : int
        Entries of an index list; 0 without lists.
    tile_size, rope_head_dim : int
        Without influence on the list.
    cmp_ratio : int
        Tokens that a compressed row stands for.
    ori_mask_mode, cmp_mask_mode : int
        As for `kv_quant_sparse_attn_sharedkv`.
    ori_win_left, ori_win_right : int
        As for `kv_quant_sparse_attn_sharedkv`.
    layout_q, layout_kv : str
        As for `kv_quant_sparse_attn_sharedkv`.
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
    >>> import numpy as np, acl_attn
    >>> lengths = np.array([2050, 600], np.int32)
    >>> metadata = acl_attn.kv_quant_sparse_attn_sharedkv_metadata(
    ...     64, 1, 512, 1, seqused_kv=lengths, batch_size=2, max_seqlen_q=1, cmp_ratio=1, has_cmp_kv=False
    ... )
    >>> metadata.shape
    (1024,)
    """
    return run_metadata(
        KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA, locals(), out=out, stream=stream, device=device_id(device)
    )


def kv_quant_sparse_attn_sharedkv(
    q: ArrayLike,
    kv_quant_mode: int,
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
    seqused_kv: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    metadata: ArrayLike | None = None,
    tile_size: int = 64,
    rope_head_dim: int = 64,
    softmax_scale: float,
    cmp_ratio: int,
    ori_mask_mode: int = 4,
    cmp_mask_mode: int = 3,
    ori_win_left: int = 127,
    ori_win_right: int = 0,
    layout_q: str = "BSND",
    layout_kv: str = "PA_ND",
    return_softmax_lse: bool = False,
    attn_out: ArrayLike | None = None,
    softmax_lse: ArrayLike | None = None,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> tuple[Any, Any]:
    """Compute the attention of `sparse_flash_mla` over a cache of packed rows of 640 bytes.

    Names and defaults are those of the vendor's operator ``aclnnKvQuantSparseAttnSharedkv``, but for values that the
    vendor's page requires: `tile_size` and `rope_head_dim` have their only value, `softmax_scale` and `cmp_ratio` none.

    Parameters
    ----------
    q : array-like
        Of dtype bfloat16: ``(B, S1, N1, 512)``, or ``(T1, N1, 512)`` for TND. Its channels are 448 without and then 64
        with rope.
    kv_quant_mode : int
        1: a scale for each tile of a row.
    ori_kv, cmp_kv : array-like
        Original and compressed rows: float8_e4m3fn or hifloat8, pools of pages ``(blocks, block_size, 1, 640)``, whose
        first axis may have any positive stride. `ori_kv` is needed.
    ori_sparse_indices : array-like, optional
        Reserved.
    cmp_sparse_indices : array-like, optional
        Of dtype int32, ``(B, S1, 1, K)`` or ``(T1, 1, K)``: compressed rows of its sequence that each query sees; the
        first -1 ends a list. Without it a query sees all that are not ahead of it.
    ori_block_table, cmp_block_table : array-like
        Of dtype int32, ``(B, blocks of a sequence)``: which blocks hold a sequence. Entries that no query needs are not
        read. The second one goes with `cmp_kv`.
    cu_seqlens_q : array-like, optional
        Of dtype int32, ``(B + 1,)``: running totals with a leading 0, for TND.
    cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q : array-like, optional
        Reserved.
    seqused_kv : array-like
        Of dtype int32, ``(B,)``: original tokens of each sequence, the queries' own included. Of compressed rows there
        are ``seqused_kv // cmp_ratio``.
    sinks : array-like
        Of dtype float32, ``(N1,)``: a further logit of each head, in the denominator only; it is not scaled.
    metadata : array-like
        What `kv_quant_sparse_attn_sharedkv_metadata` gives for the same lengths, masks, windows and layouts.
    tile_size, rope_head_dim : int
        64.
    softmax_scale : float
        What scores are multiplied by; usually ``512 ** -0.5``.
    cmp_ratio : int
        Tokens that a compressed row stands for; 1 without these.
    ori_mask_mode, cmp_mask_mode : int
        4 and 3.
    ori_win_left, ori_win_right : int
        Original tokens before and after a query's own: 127 and 0.
    layout_q : str
        ``"BSND"`` or ``"TND"``.
    layout_kv : str
        ``"PA_ND"``.
    return_softmax_lse : bool
        Whether the log-sum-exp is wanted; reserved by the vendor.
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
        The output, of query's shape and dtype. Queries that see nothing give 0.
    softmax_lse : numpy.ndarray, what was given, or None
        As for `sparse_flash_mla`.

    Raises
    ------
    InvalidArgumentError
        The operator refuses the call, or what its tensors hold; the message names the parameter.
    UnsupportedError
        The target does not offer what the call asks for.

    See Also
    --------
    SparsePlan : The same with simpler parameters, prepared once and run often.
    sparse_flash_mla : The same over rows of float16 or bfloat16.

    Examples
    --------
    >>> import numpy as np, ml_dtypes, acl_attn
    >>> rng = np.random.default_rng(0)
    >>> q = rng.standard_normal((2, 1, 64, 512)).astype(ml_dtypes.bfloat16)
    >>> pool = np.zeros((3, 16, 1, 640), ml_dtypes.float8_e4m3fn)  # rows of zeros
    >>> lengths = {"seqused_kv": np.array([20, 9], np.int32), "cmp_ratio": 1}
    >>> metadata = acl_attn.kv_quant_sparse_attn_sharedkv_metadata(
    ...     64, 1, 512, 1, batch_size=2, max_seqlen_q=1, has_cmp_kv=False, **lengths
    ... )
    >>> out, _ = acl_attn.kv_quant_sparse_attn_sharedkv(
    ...     q, 1, ori_kv=pool, ori_block_table=np.array([[2, 0], [1, -1]], np.int32), sinks=np.zeros(64, np.float32),
    ...     metadata=metadata, softmax_scale=512**-0.5, **lengths
    ... )
    >>> out.shape
    (2, 1, 64, 512)
    """
    return run_main(KV_QUANT_SPARSE_ATTN_SHAREDKV, locals(), stream, device_id(device))
