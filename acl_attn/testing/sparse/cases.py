# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the sparse operators as data: what a call is like, from which its arguments follow."""

from __future__ import annotations

from dataclasses import dataclass, fields

DIM = 512


@dataclass(frozen=True, repr=False)
class SparseCase:
    """One call. It prints as what is special about it.

    Attributes
    ----------
    layout : str
        ``layout_q``; rows that are not paged have it too.
    is_paged : bool
        Whether rows lie in pools.
    q_lengths, kv_lengths : tuple of int
        Queries and original tokens of each sequence that count.
    heads : int
        Query heads.
    dtype : str
        "float16" or "bfloat16", of the query.
    kv_format : str
        "" for rows of the query's dtype; "float8_e4m3fn" or "hifloat8" for packed ones.
    cmp_ratio : int
        Tokens that a compressed row stands for; 0 without these.
    missing : int
        Compressed rows that each sequence lacks, so that they stand for fewer tokens than there are.
    topk, ori_topk : int
        Entries of the lists of compressed and of original rows; 0 without lists.
    lists : str
        How lists are made: "best" (as many as are visible and fit), "short" (fewer), "ahead" (rows ahead of the query
        among them), "repeated" (rows that stand there twice), "empty".
    ori_mask_mode, cmp_mask_mode, win_left, win_right : int
        As for the operator.
    q_room, kv_room : int
        Tokens beyond those that count: on the axes of batched tensors, and behind every other packed sequence.
    block_size, cmp_block_size : int
        Of pools.
    block_gap : int
        Elements between blocks.
    is_fused : bool
        Whether a block of memory holds a block of each pool.
    gives_lengths : bool
        Whether lengths are passed where all tokens of a batched tensor count.
    scale : float
        ``softmax_scale``.
    spread : float
        Standard deviation of the query.
    seed : int
        Decides all numbers.
    """

    layout: str = "TND"
    is_paged: bool = False
    q_lengths: tuple[int, ...] = (1,)
    kv_lengths: tuple[int, ...] = (1,)
    heads: int = 1
    dtype: str = "float16"
    kv_format: str = ""
    cmp_ratio: int = 0
    missing: int = 0
    topk: int = 0
    ori_topk: int = 0
    lists: str = "best"
    ori_mask_mode: int = 4
    cmp_mask_mode: int = 3
    win_left: int = 127
    win_right: int = 0
    q_room: int = 0
    kv_room: int = 0
    block_size: int = 16
    cmp_block_size: int = 16
    block_gap: int = 0
    is_fused: bool = False
    gives_lengths: bool = True
    scale: float = DIM**-0.5
    spread: float = 1.0
    seed: int = 0

    def __repr__(self) -> str:
        special = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"SparseCase({', '.join(special)})"

    @property
    def is_packed(self) -> bool:
        """Whether sequences share one token axis."""
        return self.layout == "TND"

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return len(self.q_lengths)

    @property
    def has_cmp(self) -> bool:
        """Whether there are compressed rows."""
        return self.cmp_ratio > 0

    @property
    def cmp_lengths(self) -> tuple[int, ...]:
        """Compressed rows of each sequence."""
        if not self.has_cmp:
            return (0,) * self.batch
        return tuple(max(length // self.cmp_ratio - self.missing, 0) for length in self.kv_lengths)

    @property
    def residuals(self) -> tuple[int, ...]:
        """Original tokens of each sequence that no compressed row stands for."""
        return tuple(length % self.cmp_ratio for length in self.kv_lengths) if self.has_cmp else (0,) * self.batch

    def rooms(self, lengths: tuple[int, ...], room: int) -> tuple[int, ...]:
        """Tokens that each packed sequence has room for."""
        return tuple(length + room * (position % 2) for position, length in enumerate(lengths))

    def visible_compressed(self, sequence: int, row: int) -> int:
        """Count the compressed rows that a query may see."""
        sc = self.cmp_lengths[sequence]
        if self.cmp_mask_mode == 0:
            return sc
        stands_for = self.kv_lengths[sequence] if self.kv_format else sc * self.cmp_ratio + self.residuals[sequence]
        ahead = stands_for - self.q_lengths[sequence] + row + 1
        return min(max(ahead // self.cmp_ratio, 0), sc)
