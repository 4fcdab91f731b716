# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the sparse operators in the headers' order: Python's names, and those of the library's messages."""

from __future__ import annotations

from .sparse_call import Signature

__all__ = [
    "KV_QUANT_SPARSE_ATTN_SHAREDKV",
    "KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA",
    "SPARSE_FLASH_MLA",
    "SPARSE_FLASH_MLA_METADATA",
]

_STREAMS = {
    "q": "q",
    "ori_kv": "oriKv",
    "cmp_kv": "cmpKv",
    "ori_sparse_indices": "oriSparseIndices",
    "cmp_sparse_indices": "cmpSparseIndices",
    "ori_block_table": "oriBlockTable",
    "cmp_block_table": "cmpBlockTable",
}
_LENGTHS = {
    "cu_seqlens_q": "cuSeqlensQ",
    "cu_seqlens_ori_kv": "cuSeqlensOriKv",
    "cu_seqlens_cmp_kv": "cuSeqlensCmpKv",
    "seqused_q": "sequsedQ",
    "seqused_ori_kv": "sequsedOriKv",
    "seqused_cmp_kv": "sequsedCmpKv",
    "cmp_residual_kv": "cmpResidualKv",
    "ori_topk_length": "oriTopkLength",
    "cmp_topk_length": "cmpTopkLength",
}
_QUANT_LENGTHS = {
    "cu_seqlens_q": "cuSeqlensQ",
    "cu_seqlens_ori_kv": "cuSeqlensOriKv",
    "cu_seqlens_cmp_kv": "cuSeqlensCmpKv",
    "seqused_q": "sequsedQ",
    "seqused_kv": "sequsedKv",
}
_LAST_INPUTS = {"sinks": "sinks", "metadata": "metadata"}
_OUTPUTS = {"attn_out": "attnOut", "softmax_lse": "softmaxLse"}
_HEADS: dict[str, tuple[str, type]] = {
    "num_heads_q": ("numHeadsQ", int),
    "num_heads_kv": ("numHeadsKv", int),
    "head_dim": ("headDim", int),
}
_MASKS: dict[str, tuple[str, type]] = {
    "cmp_ratio": ("cmpRatio", int),
    "ori_mask_mode": ("oriMaskMode", int),
    "cmp_mask_mode": ("cmpMaskMode", int),
    "ori_win_left": ("oriWinLeft", int),
    "ori_win_right": ("oriWinRight", int),
}
_LAYOUTS: dict[str, tuple[str, type]] = {"layout_q": ("layoutQ", str), "layout_kv": ("layoutKv", str)}
_PRESENT: dict[str, tuple[str, type]] = {"has_ori_kv": ("hasOriKv", bool), "has_cmp_kv": ("hasCmpKv", bool)}
_QUANT: dict[str, tuple[str, type]] = {
    "kv_quant_mode": ("kvQuantMode", int),
    "tile_size": ("tileSize", int),
    "rope_head_dim": ("ropeHeadDim", int),
}
_WANTS_LSE: dict[str, tuple[str, type]] = {"return_softmax_lse": ("returnSoftmaxLse", bool)}

SPARSE_FLASH_MLA = Signature(
    "aclnnSparseFlashMla",
    {**_STREAMS, **_LENGTHS, **_LAST_INPUTS},
    {
        "softmax_scale": ("softmaxScale", float),
        **_MASKS,
        **_LAYOUTS,
        "topk_value_mode": ("topkValueMode", int),
        **_WANTS_LSE,
    },
    _OUTPUTS,
)
SPARSE_FLASH_MLA_METADATA = Signature(
    "aclnnSparseFlashMlaMetadata",
    _LENGTHS,
    {
        **_HEADS,
        "batch_size": ("batchSize", int),
        "max_seqlen_q": ("maxSeqlenQ", int),
        "max_seqlen_ori_kv": ("maxSeqlenOriKv", int),
        "max_seqlen_cmp_kv": ("maxSeqlenCmpKv", int),
        "ori_topk": ("oriTopk", int),
        "cmp_topk": ("cmpTopk", int),
        **_MASKS,
        **_LAYOUTS,
        **_PRESENT,
    },
    {"out": "metaData"},
)
KV_QUANT_SPARSE_ATTN_SHAREDKV = Signature(
    "aclnnKvQuantSparseAttnSharedkv",
    {**_STREAMS, **_QUANT_LENGTHS, **_LAST_INPUTS},
    {**_QUANT, "softmax_scale": ("softmaxScale", float), **_MASKS, **_LAYOUTS, **_WANTS_LSE},
    _OUTPUTS,
    needs_lse=True,
)
KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA = Signature(
    "aclnnKvQuantSparseAttnSharedkvMetadata",
    _QUANT_LENGTHS,
    {
        **_HEADS,
        "batch_size": ("batchSize", int),
        "max_seqlen_q": ("maxSeqlenQ", int),
        "max_seqlen_kv": ("maxSeqlenKv", int),
        "ori_topk": ("oriTopK", int),
        "cmp_topk": ("cmpTopK", int),
        **_QUANT,
        **_MASKS,
        **_LAYOUTS,
        **_PRESENT,
    },
    {"out": "metaData"},
)
