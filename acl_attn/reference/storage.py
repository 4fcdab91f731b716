# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Readers of query, key and value: however they are stored, a sequence's tokens come out as (token, head, channel).

A reader has two members: ``dim``, the channels of a head, and ``read(sequence, rows)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64
from acl_attn.reference.layouts import PACKED, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


class Reader(Protocol):
    """Tokens of a tensor, wherever they lie."""

    dim: int

    def read(self, sequence: int, rows: slice) -> Float64:
        """Rows of one sequence.

        Parameters
        ----------
        sequence : int
            Which sequence.
        rows : slice
            Its rows on the token axis: of the whole axis if packed, otherwise of the sequence's own.

        Returns
        -------
        ndarray of float64, shape (rows, heads, dim)
            The tokens.
        """


class Contiguous:
    """One tensor that holds all sequences.

    Parameters
    ----------
    array : ndarray
        The tensor.
    axes : str
        Its order of axes.
    heads : int
        Its number of heads.
    parameter : str
        Its name in messages.
    """

    def __init__(self, array: Array, axes: str, heads: int, parameter: str) -> None:
        self.tokens = canonical(array, axes, heads, parameter)
        self.is_packed = axes in PACKED
        self.dim = self.tokens.shape[-1]

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: D102 - see Reader
        return as_float64(self.tokens[rows] if self.is_packed else self.tokens[sequence, rows])

    def rooms(self, batch: int) -> list[int]:
        """Tokens that each of ``batch`` sequences has room for; of a batched tensor."""
        if self.is_packed:
            return [len(self.tokens)] * batch
        if len(self.tokens) != batch:
            raise ValueError(f"key: expected batch {batch} as query has, got {len(self.tokens)}")
        return [self.tokens.shape[1]] * batch


class Members:
    """One tensor for each sequence.

    Parameters
    ----------
    arrays : sequence of ndarray
        The tensors, each of batch 1.
    axes, heads, parameter
        As for `Contiguous`.
    """

    def __init__(self, arrays: Sequence[Array], axes: str, heads: int, parameter: str) -> None:
        self.members = [Contiguous(array, axes, heads, parameter) for array in arrays]
        self.dim = self.members[0].dim
        for member in self.members:
            if member.dim != self.dim or member.is_packed or len(member.tokens) != 1:
                raise ValueError(f"{parameter}: expected tensors of batch 1 that differ in their length only")

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: D102 - see Reader
        return self.members[sequence].read(0, rows)

    def rooms(self, batch: int) -> list[int]:
        """Tokens that each of ``batch`` sequences has room for."""
        if len(self.members) != batch:
            raise ValueError(f"key: expected 1 or {batch} tensors, got {len(self.members)}")
        return [member.tokens.shape[1] for member in self.members]


class Prefixed:
    """Tokens that stand before every sequence, and then a sequence's own.

    Parameters
    ----------
    prefix : Reader
        The tokens before.
    length : int
        How many of them count.
    own : Reader
        The sequences' own.
    """

    def __init__(self, prefix: Reader, length: int, own: Reader) -> None:
        self.prefix = prefix
        self.length = length
        self.own = own
        self.dim = own.dim

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: D102 - see Reader
        shared = self.prefix.read(sequence, slice(0, self.length))
        return np.concatenate([shared, self.own.read(sequence, rows)])


class Shared:
    """One sequence that every sequence reads.

    Parameters
    ----------
    array, axes, heads, parameter
        As for `Contiguous`; of batch 1.
    """

    def __init__(self, array: Array, axes: str, heads: int, parameter: str) -> None:
        self.only = Contiguous(array, axes, heads, parameter)
        self.dim = self.only.dim
        if self.only.is_packed or len(self.only.tokens) != 1:
            raise ValueError(f"{parameter}: expected a batched tensor of batch 1, got shape {array.shape}")
        self.room = self.only.tokens.shape[1]

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: ARG002, D102 - see Reader
        return self.only.read(0, rows)


class Paged:
    """A cache of blocks, and a table that says which blocks a sequence has.

    Parameters
    ----------
    cache : ndarray
        Shape (blocks, block_size, kv_heads * dim), (blocks, kv_heads, block_size, dim), or
        (blocks, kv_heads, dim / d0, block_size, d0).
    block_table : ndarray of int32, shape (batch, blocks of a sequence)
        Entries that a sequence's length does not reach are not looked at.
    block_size : int
        Tokens in a block.
    kv_heads : int
        Number of heads in the cache.
    parameter : str
        Its name in messages.
    """

    def __init__(self, cache: Array, block_table: Array, block_size: int, kv_heads: int, parameter: str) -> None:
        if block_table.ndim != 2:
            raise ValueError(f"block_table: expected 2 axes, got shape {block_table.shape}")
        if cache.ndim == 3 and cache.shape[2] % kv_heads == 0:
            blocks = cache.reshape(*cache.shape[:2], kv_heads, cache.shape[2] // kv_heads)
        elif cache.ndim == 4:
            blocks = cache.transpose(0, 2, 1, 3)
        elif cache.ndim == 5:
            count, heads, chunks, tokens, width = cache.shape
            blocks = cache.transpose(0, 3, 1, 2, 4).reshape(count, tokens, heads, chunks * width)
        else:
            raise ValueError(f"{parameter}: expected a cache of 3, 4 or 5 axes, got shape {cache.shape}")
        if blocks.shape[1:3] != (block_size, kv_heads):
            raise ValueError(
                f"{parameter}: expected {kv_heads} heads and block_size {block_size}, got shape {cache.shape}"
            )
        self.blocks = blocks
        self.table = block_table
        self.block_size = block_size
        self.dim = blocks.shape[3]

    def read(self, sequence: int, rows: slice) -> Float64:  # noqa: D102 - see Reader
        return as_float64(self.rows(self.blocks, sequence, rows))

    def rows(self, blocks: Array, sequence: int, rows: slice) -> Array:
        """Look rows of a sequence up in the blocks of this cache or in others that share its table.

        Parameters
        ----------
        blocks : ndarray
            Axes (block, token, ...).
        sequence : int
            Which sequence.
        rows : slice
            Its rows.

        Returns
        -------
        ndarray
            Axes (row, ...).
        """
        return self.at(blocks, sequence, np.arange(rows.start, rows.stop))

    def at(self, blocks: Array, sequence: int, tokens: NDArray[np.int64]) -> Array:
        """Look up rows that need not be neighbours.

        Parameters
        ----------
        blocks, sequence
            As for `rows`.
        tokens : ndarray of int64
            Its rows.

        Returns
        -------
        ndarray
            Axes (row, ...).
        """
        numbers = self.table[sequence, tokens // self.block_size]
        wrong = (numbers < 0) | (numbers >= len(blocks))
        if wrong.any():
            first = int(wrong.argmax())
            raise ValueError(
                f"block_table[{sequence}][{int(tokens[first]) // self.block_size}]: "
                f"expected a block id in 0 to {len(blocks) - 1}, got {int(numbers[first])}"
            )
        found: Array = blocks[numbers, tokens % self.block_size]
        return found

    def rooms(self, batch: int) -> list[int]:
        """Tokens that each of ``batch`` sequences has room for."""
        if len(self.table) < batch:
            raise ValueError(f"block_table: expected {batch} rows, got shape {self.table.shape}")
        return [self.table.shape[1] * self.block_size] * batch
