# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Reference implementations: float64, NumPy only, written to be read, and slow.

They take the same arguments as the operators and know nothing of the compiled library, so that the two can be held
against each other.
"""

from acl_attn.reference.attend import attend
from acl_attn.reference.ops.attention import attention
from acl_attn.reference.ops.fused_infer_attention_score import fused_infer_attention_score
from acl_attn.reference.ops.kv_quant_sparse_attn_sharedkv import kv_quant_sparse_attn_sharedkv
from acl_attn.reference.ops.sparse_flash_mla import sparse_flash_mla
from acl_attn.reference.sparse.select import Selection, select_topk

__all__ = [
    "Selection",
    "attend",
    "attention",
    "fused_infer_attention_score",
    "kv_quant_sparse_attn_sharedkv",
    "select_topk",
    "sparse_flash_mla",
]
