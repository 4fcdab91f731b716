# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from ..cases import Case
from .base import Array, Peer, need

__all__ = ["GroupedSdpa", "Sdpa", "TorchPeer", "to_torch"]


def to_torch(array: Array) -> Any:
    """Share an array's memory; torch has no door for ml_dtypes."""
    if array.dtype.itemsize == 2 and array.dtype != np.float16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class TorchPeer(Peer):
    """What peers on torch's tensors share."""

    _out: Any
    _shape: tuple[int, ...]

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def output(self) -> Array:
        """Give the last output."""
        out: Array = self._out.float().numpy().reshape(self._shape)
        return out


class Sdpa(TorchPeer):
    """As users write it."""

    note = "F.scaled_dot_product_attention, enable_gqa"

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Take the operands as they are."""
        self._shape = query.shape
        self._operands = tuple(to_torch(array) for array in (query, key, value))
        self._options = {"is_causal": case.causal and case.q_len > 1, "enable_gqa": case.heads != case.kv_heads}

    def call(self) -> None:
        """Compute once."""
        self._out = F.scaled_dot_product_attention(*self._operands, **self._options)


class GroupedSdpa(Sdpa):
    """With the query heads of a group as its tokens, which spares torch the copies of K and V."""

    note = "F.scaled_dot_product_attention with the query group on the token axis"

    def check(self, case: Case) -> None:
        """Only one query for each head."""
        super().check(case)
        need(case.q_len == 1 and case.heads != case.kv_heads, "for decode with grouped heads")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Move the group."""
        super().prepare(case, query.reshape(case.batch, case.kv_heads, -1, case.dim), key, value)
        self._shape, self._options = query.shape, {}
