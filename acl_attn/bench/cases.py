# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One call to measure: what is computed, and how much arithmetic and memory that takes at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["CACHE_BITS", "WINDOW", "Case"]

# Formats of a quantised cache, and bits of an element.
CACHE_BITS = {"int8": 8, "fp8": 8, "hif8": 8, "int4": 4, "fp4": 4}
BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
WINDOW = 512  # keys that a row of the feature "window" sees, its own included
SPARSE_WINDOW = 128  # original rows that a token of a sparse call sees, its own included
LATENT, ROPE, PACKED_ROW = 512, 64, 640


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes
    ----------
    batch, heads, kv_heads, q_len, kv_len, dim : int
        Its shape. `dim` is that of the values; "mla" features add the rope channels.
    dtype : {"bf16", "fp16"}
        Of queries and, unless quantised, of keys and values.
    causal : bool
        The last query stands at the last key.
    block_size : int
        Of a paged cache; 0 for one array.
    feature : str
        "mask" (the causal pattern as a tensor), "bias", "sink", "window", "mla_prefill" or "mla_decode".
    cache : str
        Format of a quantised cache, one of `CACHE_BITS`.
    scheme : str
        Full quantisation: "per_tensor" (INT8) or "mxfp8".
    lengths : tuple of (int, int)
        Queries and keys of unequal sequences, packed one behind the other; `q_len` and `kv_len` are then the largest.
    sparse : str
        "window", "prefix" or "lists" of the sparse operators.
    ratio, topk : int
        Of the sparse operators: original tokens of a compressed row, and entries of a list.
    is_packed : bool
        Of the sparse operators: rows of 640 bytes.
    peers_dtype : str
        What other libraries are given, where that differs.
    """

    batch: int
    heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    dim: int
    dtype: str = "bf16"
    causal: bool = False
    block_size: int = 0
    feature: str = ""
    cache: str = ""
    scheme: str = ""
    lengths: tuple[tuple[int, int], ...] = ()
    sparse: str = ""
    ratio: int = 1
    topk: int = 0
    is_packed: bool = False
    peers_dtype: str = ""

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Case:
        """Make a case of what `as_dict` gave, perhaps through JSON."""
        given = {field.name: description[field.name] for field in fields(cls) if field.name in description}
        given["lengths"] = tuple((int(q), int(kv)) for q, kv in given.get("lengths", ()))
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        """Give all attributes."""
        return asdict(self)

    @property
    def name(self) -> str:
        """Readable id, as tables print it."""
        heads = f"h{self.heads}" if self.heads == self.kv_heads else f"h{self.heads}kv{self.kv_heads}"
        size = "mixed" if self.lengths else f"s{self.q_len}" if self.q_len == self.kv_len else self._two_lengths
        parts = [f"b{self.batch}", heads, size, f"d{self.dim}", self.dtype]
        parts += ["causal"] * self.causal + [f"paged{self.block_size}"] * bool(self.block_size)
        parts += [part for part in (self.feature, self.cache, self.scheme, self.sparse) if part]
        parts += [f"top{self.topk}"] * bool(self.topk) + ["packed"] * self.is_packed
        return "_".join(parts)

    @property
    def _two_lengths(self) -> str:
        return f"q{self.q_len}_kv{self.kv_len}"

    @property
    def sequences(self) -> tuple[tuple[int, int], ...]:
        """Queries and keys of each sequence."""
        return self.lengths or ((self.q_len, self.kv_len),) * self.batch

    @property
    def is_plain(self) -> bool:
        """Whether other libraries have the same call: nothing but queries, keys, values and perhaps a causal mask."""
        special = self.feature or self.scheme or self.sparse or self.lengths
        return not special and self.q_len in (1, self.kv_len)

    @property
    def rope(self) -> int:
        """Channels of query and key beyond those of the value."""
        return ROPE if self.feature.startswith("mla") else 0

    @property
    def flops(self) -> float:
        """Multiplications and additions of the visible scores, both products."""
        return 2.0 * (2 * self.dim + self.rope) * self.scores

    @property
    def scores(self) -> float:
        """Visible pairs of a query and a key, of all heads: so many exponentials."""
        return float(self.heads * sum(self._visible(q, kv) for q, kv in self.sequences))

    def _visible(self, q: int, kv: int) -> int:
        """Count the pairs of a query and a key that it sees."""
        if self.sparse:
            return sum(self.sparse_rows(kv, kv - q + i) for i in range(q))
        if self.feature == "window":
            return sum(min(WINDOW, kv - q + i + 1) for i in range(q))
        return q * kv - (q * (q - 1) // 2 if self.causal or self.feature == "mask" else 0)

    def sparse_rows(self, kv: int, position: int) -> int:
        """Count the rows that the token at a position sees, original and compressed."""
        compressed = min(position + 1, kv) // self.ratio
        by_mode = {"window": 0, "prefix": compressed, "lists": min(self.topk, compressed)}
        return min(SPARSE_WINDOW, position + 1) + by_mode[self.sparse]

    @property
    def kv_bytes(self) -> float:
        """Bytes of keys and values that have to be read at least once."""
        if self.sparse:
            row = PACKED_ROW if self.is_packed else 2 * LATENT
            return float(row * sum(self._distinct_rows(q, kv) for q, kv in self.sequences))
        channels = self.dim + self.rope if self.feature == "mla_decode" else 2 * self.dim + self.rope
        bits = CACHE_BITS.get(self.cache, 8 if self.scheme else 8 * BYTES[self.dtype])
        return self.kv_heads * channels * bits / 8 * sum(kv for _, kv in self.sequences)

    def _distinct_rows(self, q: int, kv: int) -> int:
        """Count the rows of all tokens' windows, and of lists or prefixes, each once."""
        window = min(SPARSE_WINDOW - 1 + q, kv)
        by_mode = {"window": 0, "prefix": kv // self.ratio, "lists": min(q * self.topk, kv // self.ratio)}
        return window + by_mode[self.sparse]

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the processor that may do its products; the fastest one of a machine is its limit."""
        if self.scheme == "per_tensor":
            return ("int8_amx", "int8_dot", "fp32_fma")
        # There is no unit that multiplies FP16 and adds in FP32: it is converted.
        return ("fp32_fma",) if self.dtype != "bf16" else ("bf16_amx", "bf16_dot", "fp32_fma")

    def positions(self) -> list[tuple[int, int, int]]:
        """List the output rows that are verified: (sequence, head, query)."""
        count = len(self.sequences)
        return [
            (sequence, (5 * sequence + 3 * row) % self.heads, row)
            for sequence in sorted({0, count // 2, count - 1})
            for row in sorted({0, self.sequences[sequence][0] // 2, self.sequences[sequence][0] - 1})
        ]
