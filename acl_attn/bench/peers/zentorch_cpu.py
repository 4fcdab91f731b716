# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""AMD's zentorch."""

from __future__ import annotations

import torch
import zentorch  # noqa: F401 - registers its operators

from ..cases import Case
from .base import Array
from .torch_cpu import TorchPeer, to_torch


class ZenSdpa(TorchPeer):
    """Its own operator, which knows no grouped heads."""

    note = "zentorch_sdpa; decode: the query group on the token axis, prefill: K and V expanded outside the timing"
    dtypes = ("bf16", "fp32")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Bring the operands into its form."""
        self._shape, self._causal = query.shape, case.causal and case.q_len > 1
        q, k, v = to_torch(query), to_torch(key), to_torch(value)
        if case.heads != case.kv_heads and case.q_len == 1:
            q = q.view(case.batch, case.kv_heads, -1, case.dim)
        elif case.heads != case.kv_heads:
            k, v = (part.repeat_interleave(case.heads // case.kv_heads, 1) for part in (k, v))
        self._operands = (q, k, v)

    def call(self) -> None:
        """Compute once."""
        self._out = torch.ops.zentorch.zentorch_sdpa(*self._operands, 0.0, self._causal)[0]
