# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The KV cache in pages, and the attention over it through ``acl_attn``."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

import acl_attn
import acl_attn.reference

from .weights import Array, Config

BLOCK_SIZE = 128  # tokens in a page
UNUSED = -1  # what a block table holds where a sequence has no page yet; never read


class PagedAttention:
    """Attention of a batch of growing sequences, as `Model` calls it.

    Keys and values live in pages of `BLOCK_SIZE` tokens, handed out as the sequences grow, so sequences of unequal
    length share one cache without padding. Prefill and decode are the same call: packed queries (layout TND), paged
    keys, causal from the bottom right. Only the number of query rows differs.

    Parameters
    ----------
    config : Config
        Sizes of the network.
    max_lengths : sequence of int
        The longest that each sequence can become, in tokens.
    dtype : dtype
        float16, or bfloat16 of ``ml_dtypes``.
    check : bool
        Compare every call with the float64 reference.

    Attributes
    ----------
    checked_calls : int
        Attention calls compared so far.
    worst_error : float
        Their largest deviation, relative to the largest magnitude in the reference result of the same call.
    """

    def __init__(self, config: Config, max_lengths: Sequence[int], dtype: DTypeLike, check: bool = False) -> None:
        self._config, self._dtype, self._check = config, np.dtype(dtype), check
        pages = [-(-length // BLOCK_SIZE) for length in max_lengths]
        shape = (config.num_layers, sum(pages), BLOCK_SIZE, config.num_kv_heads * config.head_dim)
        self._keys, self._values = np.zeros(shape, self._dtype), np.zeros(shape, self._dtype)
        self._free_pages = list(range(sum(pages)))
        self._pages: list[list[int]] = [[] for _ in max_lengths]
        self._lengths = [0 for _ in max_lengths]
        self._max_pages = max(pages)

        self._plan: acl_attn.Plan | None = None
        self._planned_for: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.checked_calls, self.worst_error = 0, 0.0

    def begin_step(self, sequences: Sequence[int], counts: Sequence[int]) -> None:
        """Make room for new tokens and plan their attention; the calls of all layers of the step follow.

        Parameters
        ----------
        sequences : sequence of int
            Which sequences take part.
        counts : sequence of int
            How many new tokens each has.
        """
        slots: list[NDArray[np.int64]] = []
        for sequence, count in zip(sequences, counts, strict=True):
            start, end = self._lengths[sequence], self._lengths[sequence] + count
            pages = self._pages[sequence]
            while len(pages) * BLOCK_SIZE < end:
                pages.append(self._free_pages.pop(0))
            tokens = np.arange(start, end)
            slots.append(np.asarray(pages)[tokens // BLOCK_SIZE] * BLOCK_SIZE + tokens % BLOCK_SIZE)
            self._lengths[sequence] = end
        self._slots = np.concatenate(slots)
        kv_lengths = [self._lengths[sequence] for sequence in sequences]

        if self._plan is None or self._planned_for != (tuple(sequences), tuple(counts)):
            self._make_plan(sequences, counts, kv_lengths)
        else:
            self._plan.update(kv_lengths=kv_lengths)
        for row, sequence in enumerate(sequences):  # in place: the plan holds the table's address
            self._block_table[row, : len(self._pages[sequence])] = self._pages[sequence]
        self._call["kv_lengths"] = kv_lengths

    def __call__(self, layer: int, query: Array, key: Array, value: Array) -> Array:
        """Keep the step's new keys and values of a layer and attend to everything up to each token."""
        keys, values = self._keys[layer], self._values[layer]
        keys.reshape(-1, keys.shape[-1])[self._slots] = key.reshape(len(key), -1)
        values.reshape(-1, values.shape[-1])[self._slots] = value.reshape(len(value), -1)
        self._query[...] = query
        assert self._plan is not None
        self._plan.run(self._query, keys, values, out=self._out)
        if self._check:
            self._compare(keys, values)
        return self._out.astype(np.float32)

    def close(self) -> None:
        """Release the plan."""
        if self._plan is not None:
            self._plan.close()
            self._plan = None

    def __enter__(self) -> PagedAttention:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make_plan(self, sequences: Sequence[int], counts: Sequence[int], kv_lengths: list[int]) -> None:
        # One plan serves all layers and, while the same sequences decode, all steps: they differ in addresses and
        # key lengths only, and those may change. What depends on the shapes is worked out once.
        self.close()
        config = self._config
        self._query = np.zeros((sum(counts), config.num_heads, config.head_dim), self._dtype)
        self._out = np.empty_like(self._query)
        self._block_table = np.full((len(sequences), self._max_pages), UNUSED, np.int32)
        self._call: dict[str, Any] = {
            "layout": "TND",
            "num_kv_heads": config.num_kv_heads,
            "q_lengths": list(counts),
            "kv_lengths": kv_lengths,
            "block_table": self._block_table,
            "block_size": BLOCK_SIZE,
            "mask": "causal",
        }
        self._plan = acl_attn.Plan(self._query, self._keys[0], self._values[0], **self._call)
        self._planned_for = (tuple(sequences), tuple(counts))

    def _compare(self, keys: NDArray[np.generic], values: NDArray[np.generic]) -> None:
        expected = acl_attn.reference.attention(self._query, keys, values, **self._call)
        deviation = np.abs(self._out.astype(np.float64) - expected).max()
        # Not max(): it would drop a NaN, the very thing to report.
        self.worst_error = float(np.maximum(self.worst_error, deviation / np.abs(expected).max()))
        self.checked_calls += 1
