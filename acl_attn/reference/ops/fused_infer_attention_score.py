# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of `acl_attn.fused_infer_attention_score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.attend import Float64
from acl_attn.reference.bias import slope_bias, tensor_bias
from acl_attn.reference.extents import LengthsLike
from acl_attn.reference.formats import as_float64, elements, format_of
from acl_attn.reference.layouts import find_layout, from_canonical
from acl_attn.reference.operands import as_members, first_of, kv_rows, open_store, query_rows
from acl_attn.reference.post_quant import quantise_out
from acl_attn.reference.schemes import Tensors, choose
from acl_attn.reference.storage import Contiguous
from acl_attn.reference.visibility import TOKEN_LIMIT, full_mask, tree_mask, visible_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.reference.operands import Store

Array = NDArray[Any]


def fused_infer_attention_score(
    query: Array,
    key: Array | Sequence[Array],
    value: Array | Sequence[Array],
    *,
    num_heads: int,
    input_layout: str = "BSH",
    scale_value: float | None = None,
    num_key_value_heads: int = 0,
    atten_mask: Array | None = None,
    actual_seq_lengths: LengthsLike = None,
    actual_seq_lengths_kv: LengthsLike = None,
    sparse_mode: int = 0,
    pre_tokens: int = TOKEN_LIMIT,
    next_tokens: int = TOKEN_LIMIT,
    block_table: Array | None = None,
    block_size: int = 0,
    pse_shift: Array | None = None,
    pse_type: int = 0,
    q_start_idx: Sequence[int] | None = None,
    kv_start_idx: Sequence[int] | None = None,
    learnable_sink: Array | None = None,
    query_padding_size: Array | None = None,
    kv_padding_size: Array | None = None,
    key_shared_prefix: Array | None = None,
    value_shared_prefix: Array | None = None,
    actual_shared_prefix_len: Sequence[int] | None = None,
    query_rope: Array | None = None,
    key_rope: Array | None = None,
    key_antiquant_scale: Array | None = None,
    key_antiquant_offset: Array | None = None,
    value_antiquant_scale: Array | None = None,
    value_antiquant_offset: Array | None = None,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    antiquant_scale: Array | None = None,
    antiquant_offset: Array | None = None,
    antiquant_mode: int = 0,
    dequant_scale_query: Array | None = None,
    query_quant_mode: int = 0,
    deq_scale1: Array | None = None,
    quant_scale1: Array | None = None,
    deq_scale2: Array | None = None,
    quant_scale2: Array | None = None,
    quant_offset2: Array | None = None,
    attention_out: Array | None = None,
    inner_precise: int = 1,
    softmax_lse_flag: bool = False,
    profile: str = "I",
    version: int = 5,  # noqa: ARG001 - says which entry point takes the parameters, and nothing about the result
) -> tuple[Float64, Float64 | None]:
    """Fused attention in float64, with the arguments of the operator.

    Parameters
    ----------
    query : ndarray
        Axes as ``input_layout`` says.
    key, value : ndarray or sequence of ndarray
        A tensor; several tensors, one per sequence; or, with ``block_table``, a paged cache.
    num_heads : int
        Number of query heads.
    input_layout : str
        Axes of query, unpaged key and value, and output.
    scale_value : float, optional
        Multiplies the products of query and key, narrowed to float32 first. None: 1 / sqrt(head dim).
    num_key_value_heads : int
        Number of key and value heads; 0: as many as query heads.
    atten_mask : ndarray, optional
        Modes 0 and 1: non-zero hides a key. Modes 2 to 4 follow from lengths, and ignore it.
    actual_seq_lengths, actual_seq_lengths_kv : int or sequence of int, optional
        LengthsLike of the sequences; cumulative for packed layouts, except those of a paged cache.
    sparse_mode : int
        See `acl_attn.reference.visibility.visible_keys`.
    pre_tokens, next_tokens : int
        The window of modes 0 and 4.
    block_table : ndarray of int32, shape (batch, blocks), optional
        The blocks of each sequence in a paged cache.
    block_size : int
        Tokens in a block.
    pse_shift : ndarray, optional
        A bias, or the slopes of one; see `acl_attn.reference.bias`.
    pse_type : int
        0: a bias; 2, 3: slopes.
    q_start_idx, kv_start_idx : sequence of int, optional
        Positions of the first row and the first key, for slopes.
    learnable_sink : ndarray, shape (heads,), optional
        One more logit per head, in the denominator only.
    query_padding_size, kv_padding_size : ndarray of one int64, optional
        Sequences stand at the end of their room, before so many rows of padding.
    key_shared_prefix, value_shared_prefix : ndarray, optional
        Tokens that stand before every sequence's own.
    actual_shared_prefix_len : sequence of int, optional
        How many of them count.
    query_rope, key_rope : ndarray, optional
        More channels of query and key. With a head dim of 512 the value is the key without these.
    key_antiquant_scale, key_antiquant_offset, value_antiquant_scale, value_antiquant_offset : ndarray, optional
        Of quantised key and value; see `acl_attn.reference.scales`. Of a quantised query too: the scheme's scales.
    key_antiquant_mode, value_antiquant_mode : int
        How these are laid out.
    antiquant_scale, antiquant_offset : ndarray, optional
        The same for key and value in one tensor, as older versions of the operator have it.
    antiquant_mode : int
        How these are laid out.
    dequant_scale_query : ndarray, optional
        Scales of a quantised query.
    query_quant_mode : int
        With the other two modes, the scheme of a quantised query.
    deq_scale1, quant_scale1, deq_scale2 : ndarray, optional
        Scales of a query that has one for the tensor; quant_scale1 is also the largest weight of the FP8 schemes.
    quant_scale2, quant_offset2 : ndarray, optional
        Quantise the output.
    attention_out : ndarray, optional
        Only its format is looked at.
    inner_precise : int
        0 to 3; without influence on the result.
    softmax_lse_flag : bool
        Whether to return the second result.
    profile : {"I", "D"}
        Of quantised caches: "I" computes with what they stand for, "D" rounds that to the query's dtype as the device
        does.
    version : int
        Without influence on the result.

    Returns
    -------
    attention_out : ndarray of float64
        Axes as ``input_layout`` says; not rounded, unless ``attention_out`` has a quantised format. Rows that see no
        key, and rows beyond a sequence's length, are 0.
    softmax_lse : ndarray of float64 or None
        Shape (batch, heads, rows, 1), or (tokens, heads, 1) for packed layouts. +inf where attention_out is 0 as above.

    Raises
    ------
    ValueError
        If the arguments contradict each other.
    """
    if not 0 <= inner_precise <= 3:
        raise ValueError(f"inner_precise: expected 0 to 3, got {inner_precise}")
    if profile not in ("I", "D"):
        raise ValueError(f"profile: expected 'I' or 'D', got {profile!r}")
    layout = find_layout(input_layout)
    kv_heads = num_key_value_heads or num_heads
    if num_heads < 1 or kv_heads < 1 or num_heads % kv_heads:
        raise ValueError(f"num_key_value_heads: expected a divisor of num_heads {num_heads}, got {kv_heads}")
    if antiquant_scale is not None and key_antiquant_scale is None:
        key_antiquant_scale, value_antiquant_scale = antiquant_scale
        key_antiquant_mode = value_antiquant_mode = antiquant_mode
        if antiquant_offset is not None:
            key_antiquant_offset, value_antiquant_offset = antiquant_offset

    def opened(tensors: Array | Sequence[Array], parameter: str) -> Store:
        return open_store(
            tensors, parameter, layout=layout, kv_heads=kv_heads, block_table=block_table, block_size=block_size
        )

    q = Contiguous(elements(query), layout.query, num_heads, "query")
    k, v = opened(key, "key"), opened(value, "value")
    if k.dim != q.dim:
        raise ValueError(f"key: expected head dim {q.dim} as query has, got {k.dim}")
    rows = query_rows(q, actual_seq_lengths, query_padding_size)
    keys = kv_rows(k, len(rows), actual_seq_lengths_kv, kv_padding_size)
    rope_dim = 0
    if query_rope is not None and key_rope is not None:
        q_rope = Contiguous(query_rope, layout.query, num_heads, "query_rope")
        k_rope = opened(key_rope, "key_rope")
        rope_dim = q_rope.dim
    scale = np.float32(1.0 / np.sqrt(q.dim + rope_dim) if scale_value is None else scale_value)
    scheme = choose(
        Tensors(
            query=q,
            key=k,
            value=v,
            query_rope=q_rope if rope_dim else None,
            key_rope=k_rope if rope_dim else None,
            query_format=format_of(query),
            key_format=format_of(as_members(key)[0]),
            layout=layout,
            heads=num_heads,
            kv_heads=kv_heads,
            kv_rows=keys,
            scale=float(scale),
            key_prefix=key_shared_prefix,
            value_prefix=value_shared_prefix,
            prefix_length=actual_shared_prefix_len,
            key_scale=key_antiquant_scale,
            key_offset=key_antiquant_offset,
            value_scale=value_antiquant_scale,
            value_offset=value_antiquant_offset,
            query_scale=dequant_scale_query,
            deq_scale1=deq_scale1,
            quant_scale1=quant_scale1,
            deq_scale2=deq_scale2,
            modes=(query_quant_mode, key_antiquant_mode, value_antiquant_mode),
            sink=None if learnable_sink is None else as_float64(learnable_sink),
            rounds_dequantised=profile == "D",
        )
    )
    # Where mask and bias look: a packed sequence has rows and columns of its own; so have keys behind a prefix.
    mask_rows = [slice(0, _extent(own)) if layout.is_packed else own for own in rows]
    is_local = layout.is_packed or scheme.prefix_length > 0
    mask_columns = [slice(0, scheme.prefix_length + _extent(own)) if is_local else own for own in keys]
    hidden: Sequence[Array] | None = None
    if atten_mask is not None and atten_mask.size and sparse_mode in (0, 1):
        needed = max((own.stop for own in mask_rows), default=0), max((own.stop for own in mask_columns), default=0)
        whole = full_mask(atten_mask, len(rows), *needed)
        hidden = [own[i, j] for own, i, j in zip(whole, mask_rows, mask_columns, strict=True)]
    elif atten_mask is not None and sparse_mode == 9:
        hidden = tree_mask(atten_mask, [_extent(own) for own in rows])
    is_padded = first_of(query_padding_size, "query_padding_size") is not None or (
        first_of(kv_padding_size, "kv_padding_size") is not None
    )

    out = np.zeros((*q.tokens.shape[:-1], scheme.dim_v))
    lse = np.full(out.shape[:-1], np.inf)
    for sequence, (own, columns) in enumerate(zip(rows, keys, strict=True)):
        sq, skv = _extent(own), scheme.prefix_length + _extent(columns)
        if not sq:
            continue  # nobody looks at its keys, not even at its row of a block table
        visible = visible_keys(
            sq,
            skv,
            sparse_mode=sparse_mode,
            pre_tokens=pre_tokens,
            next_tokens=next_tokens,
            hidden=None if hidden is None else hidden[sequence],
            is_windowed=not is_padded,
        )
        bias = None
        if pse_shift is not None and pse_shift.size:
            if pse_type == 0:
                bias = tensor_bias(pse_shift, sequence, mask_rows[sequence], mask_columns[sequence])
            else:
                shift = _first(kv_start_idx) - _first(q_start_idx)
                bias = slope_bias(pse_shift, pse_type, sq, skv, shift)
        place: Any = own if layout.is_packed else (sequence, own)
        out[place], lse[place] = scheme.attend(sequence, own, columns, visible, bias)
    if attention_out is not None and format_of(attention_out) in ("int8", "float8_e4m3fn", "hifloat8"):
        if quant_scale2 is None:
            raise ValueError("quant_scale2: expected a scale for a quantised attention_out, got None")
        out = quantise_out(out, np.isfinite(lse), quant_scale2, quant_offset2, format_of(attention_out))
    # The packed form keeps tokens before heads whatever the layout; the batched one heads before tokens.
    lse = lse[..., None] if layout.is_packed else lse.transpose(0, 2, 1)[..., None]
    return from_canonical(out, layout.out), np.ascontiguousarray(lse) if softmax_lse_flag else None


def _extent(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _first(positions: Sequence[int] | None) -> int:
    return int(positions[0]) if positions is not None and len(positions) else 0
