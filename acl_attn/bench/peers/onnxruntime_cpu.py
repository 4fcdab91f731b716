# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's CPU provider: what its peers share, and the standard Attention operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from ..cases import Case
from .base import Array, Peer, UnsupportedCaseError

__all__ = ["ELEMENTS", "OnePeer"]

ELEMENTS = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16}


class OnePeer(Peer):
    """A model of one node, its inputs and outputs bound before."""

    dtypes = ("fp16", "fp32")
    opset = 24

    def bind(self, node: Any, kinds: Mapping[str, int], inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Make the session, and bind arrays to names; `kinds` are element types by name."""

        def infos(arrays: Mapping[str, Any]) -> Sequence[Any]:
            return [helper.make_tensor_value_info(n, kinds[n], list(values[n].shape())) for n in arrays]

        values = {
            name: ort.OrtValue.ortvalue_from_numpy(array) if isinstance(array, np.ndarray) else array
            for name, array in {**inputs, **outputs}.items()
        }
        graph = helper.make_graph([node], "attention", infos(inputs), infos(outputs))
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as problem:  # its exceptions have no common class
            raise UnsupportedCaseError(str(problem)[:200]) from problem
        self._binding = self._session.io_binding()
        for name in inputs:
            self._binding.bind_ortvalue_input(name, values[name])
        for name in outputs:
            self._binding.bind_ortvalue_output(name, values[name])
        self._out = values[next(iter(outputs))]

    def call(self) -> None:
        """Compute once."""
        self._session.run_with_iobinding(self._binding)


class Attention(OnePeer):
    """The operator of the standard."""

    note = "ai.onnx Attention (opset 24), bound inputs and outputs"

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Bind the operands as they are."""
        kind = ELEMENTS[case.peers_dtype or case.dtype]
        node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=int(case.causal and case.q_len > 1))
        inputs = {"q": query, "k": key, "v": value}
        self.bind(node, dict.fromkeys("qkvy", kind), inputs, {"y": np.empty_like(query)})

    def output(self) -> Array:
        """Give the last output."""
        out: Array = self._out.numpy().astype(np.float32)
        return out
