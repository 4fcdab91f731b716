# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The operator with the C interface's own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..addresses import as_output
from ..device import Device, device_id
from ..lengths import Lengths
from ..masks import UNBOUNDED_TOKENS
from ..plan import run_once
from ..streams import StreamLike
from ..tensor import ArrayLike
from ..values import new_array
from .fia_arguments import read_arguments
from .fia_call import NEWEST

__all__ = ["fused_infer_attention_score"]


def fused_infer_attention_score(
    query: ArrayLike,
    key: ArrayLike | Sequence[ArrayLike],
    value: ArrayLike | Sequence[ArrayLike],
    *,
    pse_shift: ArrayLike | None = None,
    atten_mask: ArrayLike | None = None,
    actual_seq_lengths: Sequence[int] | Lengths | None = None,
    actual_seq_lengths_kv: Sequence[int] | Lengths | None = None,
    deq_scale1: ArrayLike | None = None,
    quant_scale1: ArrayLike | None = None,
    deq_scale2: ArrayLike | None = None,
    quant_scale2: ArrayLike | None = None,
    quant_offset2: ArrayLike | None = None,
    antiquant_scale: ArrayLike | None = None,
    antiquant_offset: ArrayLike | None = None,
    block_table: ArrayLike | None = None,
    query_padding_size: ArrayLike | None = None,
    kv_padding_size: ArrayLike | None = None,
    key_antiquant_scale: ArrayLike | None = None,
    key_antiquant_offset: ArrayLike | None = None,
    value_antiquant_scale: ArrayLike | None = None,
    value_antiquant_offset: ArrayLike | None = None,
    key_shared_prefix: ArrayLike | None = None,
    value_shared_prefix: ArrayLike | None = None,
    actual_shared_prefix_len: Sequence[int] | None = None,
    query_rope: ArrayLike | None = None,
    key_rope: ArrayLike | None = None,
    key_rope_antiquant_scale: ArrayLike | None = None,
    dequant_scale_query: ArrayLike | None = None,
    learnable_sink: ArrayLike | None = None,
    q_start_idx: Sequence[int] | None = None,
    kv_start_idx: Sequence[int] | None = None,
    num_heads: int,
    scale_value: float | None = None,
    pre_tokens: int = UNBOUNDED_TOKENS,
    next_tokens: int = UNBOUNDED_TOKENS,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    query_quant_mode: int = 0,
    pse_type: int = 0,
    attention_out: ArrayLike | None = None,
    softmax_lse: ArrayLike | None = None,
    version: int = NEWEST,
    stream: StreamLike | None = None,
    device: Device | None = None,
) -> tuple[Any, Any]:
    """Compute fused attention with every parameter of ``aclnnFusedInferAttentionScoreV5``.

    For code that is ported from the C interface, or that needs a parameter which `attention` does not offer. The
    operator judges the call; what the target does not offer yet raises `UnsupportedError`. Older entry points, down to
    ``aclnnFusedInferAttentionScore``, are chosen by `version`.

    Parameters
    ----------
    query : array-like
        Of dtype float16 or bfloat16, or quantised (int8, float8_e4m3fn, hifloat8), ordered as `input_layout` says.
    key, value : array-like or sequence of array-likes
        Dense, ordered like `query`; or one array for each sequence; or, with `block_table`, a paged cache of shape
        ``(blocks, block_size, N * D)``, ``(blocks, N, block_size, D)`` or ``(blocks, N, D / 16, block_size, 16)``. Of
        query's dtype, or quantised: int8, int4_x2 (or eight INT4 in an int32), hifloat8, float8_e4m3fn or
        float4_e2m1fn_x2. With ropes and a head dim of 512 the value is not read: key's channels are the values.
    pse_shift : array-like, optional
        Bias added to the scaled scores: of query's dtype, ``(B or 1, N, S or 1, keys)``. With `pse_type` 2 and 3 the
        slopes of ALiBi: float32, ``(N,)``.
    atten_mask : array-like, optional
        Of dtype bool, int8 or uint8; true hides a key. For sparse modes 2, 3 and 4: shape ``(2048, 2048)``, true above
        the diagonal.
    actual_seq_lengths, actual_seq_lengths_kv : sequence of int or Lengths, optional
        Tokens of each sequence, in the form that the C interface wants: running totals without a leading 0 for packed
        layouts (for paged key and value plain lengths even then), else plain lengths. A `Lengths` takes the right form
        by itself.
    deq_scale1, quant_scale1, deq_scale2 : array-like, optional
        Scales of int8 query, key and value that have one each: of scores, of probabilities, and of the output. The
        second is the largest probability in the schemes of float8_e4m3fn.
    quant_scale2, quant_offset2 : array-like, optional
        Scale and offset of a quantised `attention_out`.
    antiquant_scale, antiquant_offset : array-like, optional
        Scale and offset of quantised key and value together, on a first axis of 2; `version` 1 to 4.
    block_table : array-like, optional
        Of dtype int32, ``(B, blocks of a sequence)``: which blocks of the cache hold a sequence. Entries that the
        lengths do not reach are not read.
    query_padding_size, kv_padding_size : array-like, optional
        Of dtype int64, ``(1,)``: sequences stand at the end of their token axis, before as many padding tokens.
    key_antiquant_scale, key_antiquant_offset : array-like, optional
        Scale and offset of a quantised key.
    value_antiquant_scale, value_antiquant_offset : array-like, optional
        Scale and offset of a quantised value.
    key_shared_prefix, value_shared_prefix : array-like, optional
        Keys and values that stand before every sequence; ordered like key and value, with a batch of 1.
    actual_shared_prefix_len : sequence of int, optional
        How many of them count.
    query_rope, key_rope : array-like, optional
        The rotary parts of query and key, when they come apart.
    key_rope_antiquant_scale : array-like, optional
        Reserved.
    dequant_scale_query : array-like, optional
        Scale of a query quantised in the schemes of `query_quant_mode` 3 and 6; `kvcache.quantize_mla`,
        `kvcache.quantize_gqa_fp8` and `kvcache.quantize_mxfp8` make it.
    learnable_sink : array-like, optional
        A further logit of each head, in the denominator only.
    q_start_idx, kv_start_idx : sequence of int, optional
        Positions of the first tokens, for `pse_type` 2 and 3.
    num_heads : int
        Heads of the query.
    scale_value : float, optional
        What scores are multiplied by. Without it ``1 / sqrt(head dim)``, and not the C interface's 1.0; needed with
        `query_rope`.
    pre_tokens, next_tokens : int
        Window: keys before and after a row's own position, for sparse modes 0 and 4.
    input_layout : str
        Order of axes: ``"BSH"``, ``"BSND"``, ``"BNSD"``, ``"TND"``, ``"NTD"``, or two of them as in ``"BNSD_BSND"``,
        the second for the output.
    num_key_value_heads : int
        Heads of key and value; 0 for as many as the query has.
    sparse_mode : int
        0 and 1: the mask decides; 2: causal from the top left; 3: causal to the bottom right; 4: band; 9 (`version` 4):
        a tree's mask for the last keys.
    inner_precise : int
        0 to 3.
    block_size : int
        Tokens of a block of the cache.
    antiquant_mode : int
        How `antiquant_scale` goes; 0 in version 5.
    softmax_lse_flag : bool
        Whether the log-sum-exp is wanted.
    key_antiquant_mode, value_antiquant_mode, query_quant_mode : int
        Which elements of quantised operands share a scale: see `AntiquantMode`.
    pse_type : int
        What `pse_shift` means: 0 a bias, 2 slopes by distance, 3 slopes by its root.
    attention_out : array-like, optional
        Where to write the output: C-contiguous and writable. Its dtype says what the output is quantised to, so it is
        needed with `quant_scale2`. Without it the output has query's dtype, or bfloat16 where query is quantised.
    softmax_lse : array-like, optional
        Where to write the log-sum-exp: float32, C-contiguous and writable.
    version : int
        1 to 5: the entry point. Older ones have fewer parameters.
    stream : Stream, int or object with ``__acl_stream__``, optional
        Where to queue the call; it then returns at once. Without it the call waits for its result.
    device : Device, optional
        Where to run, without a stream. The calling thread's device by default.

    Returns
    -------
    attention_out : numpy.ndarray or what was given
        The output.
    softmax_lse : numpy.ndarray, what was given, or None
        Of float32, ``(B, N, S, 1)`` or ``(T, N, 1)``, natural logarithm, ``+inf`` for rows that see no key; None unless
        `softmax_lse_flag`.

    Raises
    ------
    InvalidArgumentError
        The operator refuses the call; the message names the parameter.
    UnsupportedError
        The target does not offer what the call asks for.

    See Also
    --------
    attention : The same operator with fewer and simpler parameters.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> q = np.ones((1, 4, 2 * 16), np.float16)
    >>> out, lse = acl_attn.fused_infer_attention_score(q, q, q, num_heads=2, softmax_lse_flag=True)
    >>> out.shape, lse.shape
    ((1, 4, 32), (1, 2, 4, 1))
    """
    read = read_arguments(locals())
    call = read.call
    if attention_out is None:
        attention_out = new_array(read.out_spec.shape, read.out_spec.dtype, "attention_out")
    call.out = as_output(attention_out, "attention_out", None, None)
    if read.lse_spec is not None:
        if softmax_lse is None:
            softmax_lse = new_array(read.lse_spec.shape, read.lse_spec.dtype, "softmax_lse")
        call.lse = as_output(softmax_lse, "softmax_lse", None, None)
    run_once(call, stream, device_id(device))
    return attention_out, softmax_lse
