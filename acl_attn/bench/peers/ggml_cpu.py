# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""ggml's flash attention, through ggml-python."""

from __future__ import annotations

import ctypes

import ggml
import numpy as np

from ..cases import Case
from .base import Array, Peer, need


class FlashAttention(Peer):
    """A graph of one node, prepared."""

    note = "ggml_flash_attn_ext (queries in fp32, a causal mask in fp16), a prepared graph through ctypes"
    cache_type = ""

    def check(self, case: Case) -> None:
        """Quantised caches for decode."""
        super().check(case)
        need(not self.cache_type or case.q_len == 1, "for decode")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Copy the operands into a context of its own."""
        stored = self.cache_type or {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}[case.peers_dtype or case.dtype]
        kind = getattr(ggml, f"GGML_TYPE_{stored}")
        row = ggml.ggml_row_size(kind, case.dim)
        padded = -(-case.q_len // 64) * 64
        size = 2 * case.batch * case.kv_heads * case.kv_len * row + 32 * query.size + 2 * padded * case.kv_len
        parameters = ggml.ggml_init_params(mem_size=int(size + (64 << 20)), mem_buffer=None, no_alloc=False)
        self._context = ggml.ggml_init(parameters)
        kv_shape = (case.dim, case.kv_len, case.kv_heads, case.batch)
        q = ggml.ggml_new_tensor_4d(self._context, ggml.GGML_TYPE_F32, case.dim, case.q_len, case.heads, case.batch)
        k, v = (ggml.ggml_new_tensor_4d(self._context, kind, *kv_shape) for _ in range(2))
        _copy(q, query.astype(np.float32))
        for tensor, array in ((k, key), (v, value)):
            if self.cache_type:
                _quantise(tensor, kind, row, array)
            else:
                _copy(tensor, array)
        mask = None
        if case.causal:
            hidden = np.zeros((padded, case.kv_len), np.float16)
            hidden[: case.q_len] = np.triu(np.full((case.q_len, case.kv_len), -np.inf), case.kv_len - case.q_len + 1)
            mask = ggml.ggml_new_tensor_2d(self._context, ggml.GGML_TYPE_F16, case.kv_len, padded)
            _copy(mask, hidden)
        self._out = ggml.ggml_flash_attn_ext(self._context, q, k, v, mask, case.dim**-0.5, 0.0, 0.0)
        ggml.ggml_flash_attn_ext_set_prec(self._out, ggml.GGML_PREC_F32)
        self._graph = ggml.ggml_new_graph(self._context)
        ggml.ggml_build_forward_expand(self._graph, self._out)
        self._plan = ggml.ggml_graph_plan(self._graph, self.threads, None)
        self._work = (ctypes.c_uint8 * max(1, self._plan.work_size))()
        self._plan.work_data = ctypes.cast(self._work, type(self._plan.work_data))
        self._plan_pointer, self._case = ctypes.byref(self._plan), case

    def call(self) -> None:
        """Compute once."""
        ggml.ggml_graph_compute(self._graph, self._plan_pointer)

    def output(self) -> Array:
        """Give the last output."""
        case = self._case
        shape = (case.batch, case.q_len, case.heads, case.dim)
        numbers = (ctypes.c_float * int(np.prod(shape))).from_address(ggml.ggml_get_data(self._out))
        out: Array = np.ctypeslib.as_array(numbers).reshape(shape).transpose(0, 2, 1, 3).copy()
        return out


def _copy(tensor: object, array: Array) -> None:
    dense = np.ascontiguousarray(array)
    ctypes.memmove(ggml.ggml_get_data(tensor), dense.ctypes.data, dense.nbytes)


def _quantise(tensor: object, kind: int, row: int, array: Array) -> None:
    batch, heads, tokens, channels = array.shape
    for sequence in range(batch):
        numbers = np.ascontiguousarray(array[sequence].astype(np.float32))
        ggml.ggml_quantize_chunk(
            kind, numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            ctypes.c_void_p(ggml.ggml_get_data(tensor) + sequence * heads * tokens * row), 0, heads * tokens, channels,
            None,
        )  # fmt: skip


class FlashAttentionQ8(FlashAttention):
    """With a cache of 8 bits."""

    note = "ggml_flash_attn_ext, q8_0 cache"
    cache_bits, cache_type = 8, "Q8_0"


class FlashAttentionQ4(FlashAttention):
    """With a cache of 4 bits."""

    note = "ggml_flash_attn_ext, q4_0 cache"
    cache_bits, cache_type = 4, "Q4_0"
