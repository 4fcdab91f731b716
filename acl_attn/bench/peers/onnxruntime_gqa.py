# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's GroupQueryAttention, with plain and quantised caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from ..cases import Case
from .base import Array, need, tokens_first
from .onnxruntime_cpu import ELEMENTS, OnePeer

CLIPPED_AT = 4.5  # standard deviations that a quantised cache spans


class GroupQuery(OnePeer):
    """It is always causal, and appends the newest keys and values to the cache."""

    note = "com.microsoft GroupQueryAttention: stores the newest K and V in the cache that it shares with its output"

    def check(self, case: Case) -> None:
        """Causal or one query."""
        super().check(case)
        need(case.causal or case.q_len == 1, "always causal")
        need(not self.cache_bits or case.q_len == 1, "for decode")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Fill the cache with all tokens; the newest will be stored again."""
        kind, past = ELEMENTS[case.peers_dtype or case.dtype], case.kv_len - case.q_len
        extra: dict[str, Any] = {}
        names = ["q", "k", "v", "past_k", "past_v", "lengths", "total"]
        stored, kinds = kind, {}
        inputs: dict[str, Any] = {
            "q": tokens_first(query), "k": tokens_first(key[:, :, past:]), "v": tokens_first(value[:, :, past:]),
        }  # fmt: skip
        if self.cache_bits:
            stored = TensorProto.INT8 if self.cache_bits == 8 else TensorProto.UINT8
            extra = {"k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR", "kv_cache_bit_width": self.cache_bits}
            step = np.array([CLIPPED_AT / (2 ** (self.cache_bits - 1) - 1)], np.float32)
            key, value = (_quantised(array, step, self.cache_bits) for array in (key, value))
            scales = {"k_scale": step, "v_scale": step}
            names += ["", "", "", "", "", *scales]
        elif not past:
            key, value, scales = np.zeros_like(key), np.zeros_like(value), {}
        else:
            scales = {}
        cache = [ort.OrtValue.ortvalue_from_numpy(array) for array in (key, value)]
        inputs |= {"past_k": cache[0], "past_v": cache[1], **scales}
        inputs["lengths"] = np.full(case.batch, case.kv_len - 1, np.int32)
        inputs["total"] = np.array([case.kv_len], np.int32)
        kinds = dict.fromkeys(("q", "k", "v", "y"), kind) | dict.fromkeys(scales, TensorProto.FLOAT)
        kinds |= dict.fromkeys(("past_k", "past_v", "now_k", "now_v"), stored)
        kinds |= dict.fromkeys(("lengths", "total"), TensorProto.INT32)
        node = helper.make_node(
            "GroupQueryAttention", names, ["y", "now_k", "now_v"], domain="com.microsoft", num_heads=case.heads,
            kv_num_heads=case.kv_heads, **extra,
        )  # fmt: skip
        self._case = case
        outputs = {"y": np.empty_like(inputs["q"]), "now_k": cache[0], "now_v": cache[1]}
        self.bind(node, kinds, inputs, outputs)

    def output(self) -> Array:
        """Give the last output."""
        case = self._case
        shape = (case.batch, case.q_len, case.heads, case.dim)
        out: Array = self._out.numpy().astype(np.float32).reshape(shape).transpose(0, 2, 1, 3)
        return out


def _quantised(array: Array, step: Array, bits: int) -> Array:
    largest = 2 ** (bits - 1) - 1
    codes = np.clip(np.rint(array.astype(np.float32) / step), -largest - 1, largest).astype(np.int8)
    if bits == 8:
        return codes
    unsigned = (codes + 8).astype(np.uint8)
    return unsigned[..., 0::2] | (unsigned[..., 1::2] << 4)


class GroupQueryInt8(GroupQuery):
    """With a cache of INT8."""

    note = "com.microsoft GroupQueryAttention, int8 cache, one scale a tensor"
    cache_bits = 8


class GroupQueryInt4(GroupQuery):
    """With a cache of INT4."""

    note = "com.microsoft GroupQueryAttention, 4-bit cache, one scale a tensor"
    cache_bits = 4
