# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention problems as data: a case has a readable name and makes its own inputs from a seed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class Batch:
    """Sequences apart from each other, before any layout puts them into tensors.

    Attributes
    ----------
    query : tuple of ndarray
        For each sequence (rows, heads, dim).
    key, value : tuple of ndarray
        For each sequence (tokens, kv_heads, dim or dim_v).
    hidden : tuple of ndarray or None
        For each sequence (rows, tokens) of bool, True hides; None if the case has no mask tensor.
    """

    query: tuple[Array, ...]
    key: tuple[Array, ...]
    value: tuple[Array, ...]
    hidden: tuple[NDArray[np.bool_], ...] | None = None

    @property
    def q_lengths(self) -> list[int]:
        """Rows of each sequence."""
        return [len(rows) for rows in self.query]

    @property
    def kv_lengths(self) -> list[int]:
        """Tokens of each sequence."""
        return [len(rows) for rows in self.key]

    @property
    def heads(self) -> int:
        """Query heads."""
        return int(self.query[0].shape[1])

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return int(self.key[0].shape[1])

    @property
    def dim(self) -> int:
        """Head dim of query and key."""
        return int(self.query[0].shape[2])

    @property
    def dim_v(self) -> int:
        """Head dim of value and output."""
        return int(self.value[0].shape[2])

    def only(self, sequence: int) -> Batch:
        """Keep one sequence.

        Parameters
        ----------
        sequence : int
            Which.

        Returns
        -------
        Batch
            A batch of one.
        """
        return Batch(
            (self.query[sequence],),
            (self.key[sequence],),
            (self.value[sequence],),
            None if self.hidden is None else (self.hidden[sequence],),
        )


@dataclass(frozen=True)
class Case:
    """One attention problem.

    Attributes
    ----------
    name : str
        What is special about it.
    q_lengths, kv_lengths : tuple of int
        Lengths of the sequences.
    heads, kv_heads, dim, dim_v
        Sizes.
    dtype : str
        A key of `DTYPES`.
    sparse_mode, pre_tokens, next_tokens
        As for the operator.
    mask : float or None
        Share of keys that a mask tensor hides at random; None: no mask tensor. Modes 0 and 1.
    scale : float or None
        None: 1 / sqrt(dim).
    spread : float
        Standard deviation of query and key.
    """

    name: str
    q_lengths: tuple[int, ...] = (5,)
    kv_lengths: tuple[int, ...] = (7,)
    heads: int = 6
    kv_heads: int = 2
    dim: int = 64
    dim_v: int = 64
    dtype: str = "fp16"
    sparse_mode: int = 0
    pre_tokens: int = 2147483647
    next_tokens: int = 2147483647
    mask: float | None = None
    scale: float | None = None
    spread: float = 1.0

    @property
    def id(self) -> str:
        """The name with dtype, for test reports."""
        return f"{self.name}-{self.dtype}"

    def with_dtype(self, dtype: str) -> Case:
        """Keep everything but the dtype.

        Parameters
        ----------
        dtype : str
            A key of `DTYPES`.

        Returns
        -------
        Case
            The other case.
        """
        return replace(self, dtype=dtype)

    @property
    def attributes(self) -> dict[str, Any]:
        """Scalar arguments of the operator that do not depend on a layout."""
        chosen: dict[str, Any] = {"sparse_mode": self.sparse_mode, "scale_value": self.scale}
        if self.pre_tokens != 2147483647:
            chosen["pre_tokens"] = self.pre_tokens
        if self.next_tokens != 2147483647:
            chosen["next_tokens"] = self.next_tokens
        return chosen

    def build(self) -> Batch:
        """Make the inputs; the same ones for the same case.

        Returns
        -------
        Batch
            The inputs.
        """
        generator = np.random.default_rng(zlib.crc32(repr(replace(self, dtype="")).encode()))
        dtype = DTYPES[self.dtype]

        def normal(tokens: int, heads: int, dim: int, spread: float = 1.0) -> Array:
            return (generator.standard_normal((tokens, heads, dim)) * spread).astype(dtype)

        query, key, value, hidden = [], [], [], []
        for sq, skv in zip(self.q_lengths, self.kv_lengths, strict=True):
            query.append(normal(sq, self.heads, self.dim, self.spread))
            key.append(normal(skv, self.kv_heads, self.dim, self.spread))
            value.append(normal(skv, self.kv_heads, self.dim_v))
            hidden.append(generator.random((sq, skv)) < (self.mask or 0.0))
        return Batch(tuple(query), tuple(key), tuple(value), None if self.mask is None else tuple(hidden))
