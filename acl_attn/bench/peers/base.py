# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a peer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import CACHE_BITS, Case

__all__ = ["Array", "Peer", "UnsupportedCaseError", "need", "tokens_first"]

Array = npt.NDArray[Any]


class UnsupportedCaseError(Exception):
    """The peer does not have this kind of call."""


def need(condition: bool, why: str) -> None:
    """Raise `UnsupportedCaseError` unless the condition holds."""
    if not condition:
        raise UnsupportedCaseError(why)


def tokens_first(array: Array) -> Array:
    """``(batch, heads, tokens, channels)`` to ``(batch, tokens, heads * channels)``, a copy."""
    batch, heads, tokens, channels = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, tokens, heads * channels)


class Peer(ABC):
    """One way of another library to compute attention.

    Attributes
    ----------
    note : str
        What a timed call includes, in a line.
    dtypes : tuple of str
        Element types that it takes.
    cache_bits : int
        Of its quantised cache; 0 if it has none.
    is_paged : bool
        Whether its cache is in blocks.
    versions : dict
        Of its library.
    """

    note = ""
    dtypes: tuple[str, ...] = ("bf16", "fp16", "fp32")
    cache_bits = 0
    is_paged = False

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.versions: dict[str, str] = {}

    def check(self, case: Case) -> None:
        """Raise `UnsupportedCaseError` for calls that the peer has not, before any memory is spent on them."""
        need(case.is_plain, "no such call")
        need((case.peers_dtype or case.dtype) in self.dtypes, f"no {case.dtype} kernel")
        need(CACHE_BITS.get(case.cache, 0) == self.cache_bits, "another kind of cache")
        need(self.is_paged or not case.block_size, "no paged cache")

    @abstractmethod
    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Take operands ``(batch, heads, tokens, channels)``; what is not part of a call happens here."""

    @abstractmethod
    def call(self) -> object:
        """Compute once."""

    @abstractmethod
    def output(self) -> Array:
        """Give the last call's output in float32, ``(batch, heads, tokens, channels)``."""
