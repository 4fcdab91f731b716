# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's ScaledDotProductAttention."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as op

from ..cases import Case
from .base import Array, Peer

__all__ = ["TYPES", "OpenVinoPeer", "to_tensor"]

TYPES = {"bf16": ov.Type.bf16, "fp32": ov.Type.f32}


def to_tensor(array: Array) -> Any:
    """Copy an array into a tensor; BF16 as words, for which there is no NumPy dtype there."""
    if array.dtype.itemsize == 2 and array.dtype != np.float16:
        tensor = ov.Tensor(ov.Type.bf16, ov.Shape(list(array.shape)))
        np.copyto(tensor.data.view(np.uint16), array.view(np.uint16))
        return tensor
    return ov.Tensor(np.array(array, order="C"))


class OpenVinoPeer(Peer):
    """What its peers share; FP16 kernels need arithmetic that few processors have."""

    dtypes = ("bf16", "fp32")
    _request: Any

    def configuration(self, case: Case) -> dict[str, Any]:
        """Give the plugin's options."""
        precision = {"bf16": "bf16", "fp32": "f32"}[case.peers_dtype or case.dtype]
        return {
            "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False, "INFERENCE_PRECISION_HINT": precision,
        }  # fmt: skip

    def call(self) -> None:
        """Compute once."""
        self._request.infer(share_outputs=True)

    def raw_output(self) -> Array:
        """Give the last output in float32, shaped as the model has it."""
        tensor = self._request.get_output_tensor(0)
        if tensor.element_type.get_type_name() == "bf16":  # shown as float16
            words: Array = tensor.data.view(np.uint16).astype(np.uint32) << 16
            return words.view(np.float32)
        out: Array = tensor.data.astype(np.float32)
        return out


class Sdpa(OpenVinoPeer):
    """The operator of opset 13."""

    note = "opset13 ScaledDotProductAttention; grouped heads: prefill broadcasts in the graph, decode groups the query"

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Compile a model for these shapes."""
        self._shape, group = query.shape, case.heads // case.kv_heads
        if group > 1 and case.q_len == 1:
            query = query.reshape(case.batch, case.kv_heads, group, case.dim)
        kind = TYPES[case.peers_dtype or case.dtype]
        q, k, v = (op.parameter(list(array.shape), kind) for array in (query, key, value))
        keys, values = k, v
        if group > 1 and case.q_len > 1:
            wide = op.constant(np.array([case.batch, case.kv_heads, group, case.kv_len, case.dim], np.int64))
            flat = op.constant(np.array([case.batch, case.heads, case.kv_len, case.dim], np.int64))
            keys, values = (
                op.reshape(op.broadcast(op.unsqueeze(x, op.constant(np.int64(2))), wide, "BIDIRECTIONAL"), flat, False)
                for x in (k, v)
            )
        result = op.scaled_dot_product_attention(q, keys, values, causal=case.causal and case.q_len > 1)
        model = ov.Model([op.result(result)], [q, k, v], "attention")
        self._compiled = ov.Core().compile_model(model, "CPU", self.configuration(case))
        self._request = self._compiled.create_infer_request()
        self._operands = [to_tensor(array) for array in (query, key, value)]
        for i, tensor in enumerate(self._operands):
            self._request.set_input_tensor(i, tensor)

    def output(self) -> Array:
        """Give the last output."""
        return self.raw_output().reshape(self._shape)
