# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's PagedAttention."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as op
from openvino.op import _PagedAttentionExtension

from ..cases import Case
from .base import Array, need, tokens_first
from .openvino_cpu import TYPES, OpenVinoPeer, to_tensor

BLOCK = 32  # the plugin's own, whatever the cache's shape shows
FILLED_AT_ONCE = 64  # blocks


class Paged(OpenVinoPeer):
    """It is always causal, and stores the newest keys and values."""

    note = "PagedAttentionExtension, blocks of 32 in random order; stores the newest K and V"
    is_paged = True
    cache_type = ""

    def check(self, case: Case) -> None:
        """Causal or one query."""
        super().check(case)
        need(case.causal or case.q_len == 1, "always causal")
        need(not self.cache_bits or case.q_len == 1, "for decode")

    def _model(self, case: Case) -> Any:
        kind, ints, four_axes = TYPES[case.peers_dtype or case.dtype], ov.Type.i32, ov.PartialShape.dynamic(4)
        parameters = [
            op.parameter([-1, case.heads * case.dim], kind, name="q"),
            op.parameter([-1, case.kv_heads * case.dim], kind, name="k"),
            op.parameter([-1, case.kv_heads * case.dim], kind, name="v"),
            op.parameter(four_axes, ov.Type.dynamic, name="key_cache.0"),
            op.parameter(four_axes, ov.Type.dynamic, name="value_cache.0"),
            *(op.parameter([-1], ints, name=name)
              for name in ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins")),
            op.parameter([], ints, name="max_context_len"),
        ]  # fmt: skip
        heads = {
            "num_k_heads": case.kv_heads, "num_v_heads": case.kv_heads, "k_head_size": case.dim,
            "v_head_size": case.dim,
        }  # fmt: skip
        for parameter in parameters:
            parameter.get_output_tensor(0).set_names({parameter.friendly_name})
        for cache in parameters[3:5]:  # the plugin sizes the caches by these
            for name, count in heads.items():
                cache.rt_info[name] = count

        def none(dtype: type) -> Any:
            return op.constant(np.array([], dtype))

        def number(value: float, dtype: type) -> Any:
            return op.constant(np.array(value, dtype))

        ints_, floats, zero = none(np.int32), none(np.float32), number(0, np.int32)
        arguments = [
            *parameters[:9], number(case.dim**-0.5, np.float32), zero, floats, parameters[9], ints_, ints_, ints_,
            floats, floats, zero, zero, floats, zero, ints_, ints_, ints_, ints_, none(np.uint8), ints_,
        ]  # fmt: skip
        attention = _PagedAttentionExtension([argument.output(0) for argument in arguments])
        attention.set_friendly_name("PagedAttention_0")
        for name, count in heads.items():
            attention.get_rt_info()[name] = count
        return ov.Model([op.result(attention.output(0))], parameters, "paged_attention")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Compile the model, and let it fill the cache."""
        options, past = self.configuration(case), case.kv_len - case.q_len
        plain = {"bf16": "bf16", "fp32": "f32"}[case.peers_dtype or case.dtype]
        options["KEY_CACHE_PRECISION"] = options["VALUE_CACHE_PRECISION"] = self.cache_type or plain
        self._compiled = ov.Core().compile_model(self._model(case), "CPU", options)
        self._request, self._case = self._compiled.create_infer_request(), case
        columns = -(-case.kv_len // BLOCK)
        for name in ("key_cache.0", "value_cache.0"):
            port = self._compiled.input(name)
            block = [axis.get_length() for axis in list(port.partial_shape)[1:]]
            self._request.set_tensor(name, ov.Tensor(port.element_type, ov.Shape([case.batch * columns, *block])))
        table = np.random.default_rng(0).permutation(case.batch * columns).astype(np.int32).reshape(-1, columns)
        if past:
            for sequence in range(case.batch):
                k, v = (tokens_first(array[sequence : sequence + 1])[0] for array in (key, value))
                self._fill(case, table[sequence], k, v)
        q, k, v = (
            tokens_first(a[:, :, -case.q_len :]).reshape(case.batch * case.q_len, -1) for a in (query, key, value)
        )
        self._set(
            q=q, k=k, v=v, past_lens=np.full(case.batch, past, np.int32),
            subsequence_begins=np.arange(0, case.batch * case.q_len + 1, case.q_len, dtype=np.int32),
            block_indices=table.reshape(-1), block_indices_begins=np.arange(0, table.size + 1, columns, dtype=np.int32),
            max_context_len=np.array(case.kv_len, np.int32),
        )  # fmt: skip

    def _set(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            self._request.set_tensor(name, to_tensor(array))

    def _fill(self, case: Case, blocks: Array, key: Array, value: Array) -> None:
        """Store a sequence: each block as if it were a short sequence of its own."""
        for first in range(0, len(blocks), FILLED_AT_ONCE):
            some = blocks[first : first + FILLED_AT_ONCE]
            k, v = (array[first * BLOCK : (first + len(some)) * BLOCK] for array in (key, value))
            begins = np.minimum(np.arange(len(some) + 1) * BLOCK, len(k)).astype(np.int32)
            self._set(
                q=np.zeros((len(k), case.heads * case.dim), k.dtype), k=k, v=v,
                past_lens=np.zeros(len(some), np.int32), subsequence_begins=begins, block_indices=some,
                block_indices_begins=np.arange(len(some) + 1, dtype=np.int32),
                max_context_len=np.array(BLOCK, np.int32),
            )  # fmt: skip
            self._request.infer()

    def output(self) -> Array:
        """Give the last output."""
        case = self._case
        out: Array = self.raw_output().reshape(case.batch, case.q_len, case.heads, case.dim).transpose(0, 2, 1, 3)
        return out


class PagedU8(Paged):
    """With a cache of 8 bits."""

    note = "PagedAttentionExtension, u8 cache"
    cache_bits, cache_type = 8, "u8"


class PagedU4(Paged):
    """With a cache of 4 bits."""

    note = "PagedAttentionExtension, u4 cache"
    cache_bits, cache_type = 4, "u4"
