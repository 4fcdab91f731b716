# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention as a page of NumPy."""

from __future__ import annotations

import numpy as np

from ..cases import Case
from .base import Array, Peer, need


class Naive(Peer):
    """Product, softmax, product."""

    note = "matmul, softmax, matmul in float32"
    dtypes = ("fp32",)

    def check(self, case: Case) -> None:
        """Refuse score matrices that do not fit into memory."""
        super().check(case)
        need(case.batch * case.heads * case.q_len * case.kv_len < 5e8, "the score matrix is too large")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Give each group of query heads its key head."""
        groups = (case.batch, case.kv_heads, case.heads // case.kv_heads, case.q_len, case.dim)
        self._query = query.reshape(groups)
        self._key = np.swapaxes(key, -1, -2)[:, :, None]
        self._value = value[:, :, None]
        self._scale = np.float32(case.dim**-0.5)
        self._shape = query.shape
        hidden = np.triu(np.full((case.q_len, case.kv_len), -np.inf, np.float32), case.kv_len - case.q_len + 1)
        self._hidden = hidden if case.causal else None

    def call(self) -> None:
        """Compute once."""
        scores = np.matmul(self._query, self._key) * self._scale
        if self._hidden is not None:
            scores += self._hidden
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        self._out = np.matmul(scores, self._value)

    def output(self) -> Array:
        """Give the last output."""
        out: Array = self._out.reshape(self._shape)
        return out
