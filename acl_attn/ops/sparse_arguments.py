# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From the parameters of `SparsePlan` to those of the sparse operators and of their metadata's producers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import dtype_name
from ..errors import invalid, wrong_type
from ..lengths import Lengths, LengthsLike, as_lengths, packed_lengths
from ..tensor import Tensor
from ..values import integer, number
from .sparse_call import METADATA, Signature, run_metadata
from .sparse_signatures import (
    KV_QUANT_SPARSE_ATTN_SHAREDKV,
    KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA,
    SPARSE_FLASH_MLA,
    SPARSE_FLASH_MLA_METADATA,
)

__all__ = ["SparseArguments", "SparseLengths", "names_of_the_plan"]

_PACKED_DTYPES = ("float8_e4m3fn", "hifloat8")
_BAND, _CAUSAL, _NO_MASK = 4, 3, 0
_NO_LIMIT = -1
# What a packed cache's rows are made of; there is no other kind.
_QUANT = {"kv_quant_mode": 1, "tile_size": 64, "rope_head_dim": 64}

_PLAN_NAMES = {
    "cu_seqlens_q": "q_lengths",
    "seqused_q": "q_lengths",
    "cu_seqlens_ori_kv": "kv_lengths",
    "seqused_ori_kv": "kv_lengths",
    "seqused_kv": "kv_lengths",
    "attn_out": "out",
    "softmax_lse": "lse_out",
    "softmax_scale": "scale",
    "ori_win_left": "window",
    "ori_win_right": "window",
    "max_seqlen_q": "q",
    "max_seqlen_ori_kv": "ori_kv",
    "max_seqlen_cmp_kv": "cmp_kv",
    "return_softmax_lse": "return_lse",
}

Arrays = dict[str, npt.NDArray[np.int32]]


@dataclass(frozen=True)
class SparseLengths:
    """Tokens of a call's sequences.

    Attributes
    ----------
    q : Lengths or None
        Queries; None: as many as the query's axis holds.
    kv : Lengths
        Original tokens.
    """

    q: Lengths | None
    kv: Lengths


class SparseArguments:
    """A call without its lengths.

    Parameters
    ----------
    q, ori_kv, cmp_kv : Tensor
        Query and rows; no cmp_kv for the window alone.
    topk : int
        Entries of a list; 0 without lists.
    is_paged : bool
        Whether rows lie in pools.
    cmp_ratio : int or None
        Tokens that a compressed row stands for.
    window : tuple of int or None
        Original tokens before and after a query's own.
    scale : float or None
        What scores are multiplied by.
    """

    def __init__(
        self,
        q: Tensor,
        ori_kv: Tensor,
        cmp_kv: Tensor | None,
        *,
        topk: int,
        is_paged: bool,
        cmp_ratio: int | None,
        window: tuple[int, int] | None,
        scale: float | None,
    ) -> None:
        self.q, self.ori_kv, self.cmp_kv = q, ori_kv, cmp_kv
        self.topk = topk
        self.is_paged = is_paged
        if len(q.shape) not in (3, 4):
            raise invalid("q", "shape (B, S, N, 512) or (T, N, 512)", f"shape {q.shape}")
        self.is_packed = len(q.shape) == 3  # sequences share a token axis
        self.is_quantised = dtype_name(ori_kv.dtype) in _PACKED_DTYPES
        if self.is_quantised and not is_paged:
            raise invalid("ori_block_table", "a block table for rows of 8-bit floats", None)
        for name, rows in (("ori_kv", ori_kv), ("cmp_kv", cmp_kv)):
            self._check_rows(rows, name)
        self.cmp_ratio = self._ratio(cmp_ratio)
        scale = q.shape[-1] ** -0.5 if scale is None else number(scale, "scale")
        self.attributes: dict[str, Any] = {
            **(_QUANT if self.is_quantised else {"topk_value_mode": 1}),
            **self._masks(window),
            "softmax_scale": scale,
        }

    @property
    def signature(self) -> Signature:
        """The operator."""
        return KV_QUANT_SPARSE_ATTN_SHAREDKV if self.is_quantised else SPARSE_FLASH_MLA

    def _check_rows(self, rows: Tensor | None, name: str) -> None:
        """Refuse what has no axis of rows, or is packed rows that do not say of which codes."""
        if rows is None:
            return
        expected = "(T, 1, 512)" if self.is_packed else "(B, S, 1, 512)"
        if self.is_paged:
            expected = "(blocks, block_size, 1, 512), or 640 for packed rows"
        if len(rows.shape) != (3 if self.is_packed and not self.is_paged else 4):
            is_pool = len(rows.shape) == 4 and not self.is_paged
            fix = "a pool of blocks goes with ori_block_table" if is_pool else ""
            raise invalid(name, f"shape {expected}", f"shape {rows.shape}", fix)
        if dtype_name(rows.dtype) in ("uint8", "int8"):
            fix = f"{name}.view(ml_dtypes.float8_e4m3fn), or .view(acl_attn.dtypes.hifloat8)"
            raise invalid(name, "dtype float8_e4m3fn or hifloat8 for packed rows", dtype_name(rows.dtype), fix)

    def _ratio(self, given: int | None) -> int:
        if self.cmp_kv is None:
            if given not in (None, 1):
                raise invalid("cmp_ratio", "None without cmp_kv", given)
            return 1
        if given is None:
            raise invalid("cmp_ratio", "how many tokens a row of cmp_kv stands for", None)
        ratio = integer(given, "cmp_ratio")
        if ratio < 1:
            raise invalid("cmp_ratio", "at least 1 token", ratio)
        return ratio

    def _masks(self, window: tuple[int, int] | None) -> dict[str, Any]:
        if window is None:
            left, right = _NO_LIMIT, _NO_LIMIT
        elif isinstance(window, (tuple, list)) and len(window) == 2:
            left, right = (integer(extent, "window") for extent in window)
        else:
            raise wrong_type("window", "a tuple (left, right)", repr(window))
        if self.is_quantised and window is None:
            raise invalid("window", "a tuple (left, right) for packed rows", None)
        return {
            "cmp_ratio": self.cmp_ratio,
            "ori_mask_mode": _CAUSAL if window is None else _BAND,
            "cmp_mask_mode": _CAUSAL if self.cmp_kv is not None or self.is_quantised else _NO_MASK,
            "ori_win_left": left,
            "ori_win_right": right,
            "layout_q": "TND" if self.is_packed else "BSND",
            "layout_kv": self._kv_layout(),
        }

    def _kv_layout(self) -> str:
        if self.is_quantised:
            return "PA_ND"
        if self.is_paged:
            return "PA_BBND"
        return "TND" if self.is_packed else "BSND"

    def lengths(self, q_lengths: LengthsLike | None, kv_lengths: LengthsLike | None) -> SparseLengths:
        """Read the lengths of the sequences.

        Parameters
        ----------
        q_lengths, kv_lengths : int, sequence of int, Lengths or None
            What the caller gave.

        Returns
        -------
        SparseLengths
            The lengths; as many as there are sequences.
        """
        if self.is_packed:
            q: Lengths | None = packed_lengths(q_lengths, self.q.shape[0], "q_lengths", "q", "TND")
            batch, derived = q.batch if q is not None else 0, "one for each entry of q_lengths"
        else:
            batch, derived = self.q.shape[0], "q's batch"
            if q_lengths is not None and self.is_quantised:
                fix = "pack the queries: shape (T, N, 512) takes q_lengths"
                raise invalid("q_lengths", "None for batched queries and packed rows", q_lengths, fix)
            q = None if q_lengths is None else as_lengths(q_lengths, batch, "q_lengths", derived)
        if batch == 0:
            # The operator takes empty arrays of lengths as absent, and would ask for them.
            raise invalid("q_lengths" if self.is_packed else "q", "a sequence or more", "none", "leave the call out")
        if self.is_paged and kv_lengths is None:
            raise invalid("kv_lengths", "the number of original tokens of each sequence for a paged cache", None)
        if self.is_packed and not self.is_paged:
            kv = packed_lengths(kv_lengths, self.ori_kv.shape[0], "kv_lengths", "ori_kv", "TND")
            kv = as_lengths(kv, batch, "kv_lengths", derived)
        else:
            kv = as_lengths(self.ori_kv.shape[1] if kv_lengths is None else kv_lengths, batch, "kv_lengths", derived)
        if self.is_packed and not self.is_paged and self.cmp_kv is not None:
            needed = sum(length // self.cmp_ratio for length in kv.per_sequence)
            if self.cmp_kv.shape[0] != needed:
                expected = f"{needed} rows, the sum of kv_lengths // cmp_ratio"
                raise invalid("cmp_kv", expected, self.cmp_kv.shape[0])
        if not self.is_packed and not self.is_paged and self.cmp_kv is not None:
            room, needed = self.cmp_kv.shape[1], kv.max // self.cmp_ratio
            if room < needed and kv.max <= self.ori_kv.shape[1]:
                raise invalid("cmp_kv", f"{needed} rows a sequence or more, kv_lengths // cmp_ratio", room)
        return SparseLengths(q, kv)

    def length_arrays(self, lengths: SparseLengths) -> Arrays:
        """Write lengths down as the operator takes them."""
        made: Arrays = {}
        if lengths.q is not None:
            made["cu_seqlens_q" if self.is_packed else "seqused_q"] = (
                lengths.q.cu_seqlens if self.is_packed else _int32(lengths.q, "q_lengths")
            )
        if self.is_quantised:
            return {**made, "seqused_kv": _int32(lengths.kv, "kv_lengths")}
        rows = self._compressed(lengths)
        if self.is_packed and not self.is_paged:
            made["cu_seqlens_ori_kv"] = lengths.kv.cu_seqlens
            if self.cmp_kv is not None:
                made["cu_seqlens_cmp_kv"] = rows.cu_seqlens
        else:
            made["seqused_ori_kv"] = _int32(lengths.kv, "kv_lengths")
            if self.cmp_kv is not None:
                made["seqused_cmp_kv"] = _int32(rows, "kv_lengths")
        if self.cmp_kv is not None:
            made["cmp_residual_kv"] = np.array(
                [length % self.cmp_ratio for length in lengths.kv.per_sequence], np.int32
            )
        return made

    def metadata(self, lengths: SparseLengths, arrays: Arrays, device: int | None) -> npt.NDArray[np.int32]:
        """Make the metadata of a call of such lengths."""
        made: npt.NDArray[np.int32] = np.zeros(METADATA.shape, np.int32)
        longest_q = self.q.shape[1] if lengths.q is None or not self.is_packed else lengths.q.max
        given: dict[str, Any] = {
            **self.attributes,
            **arrays,
            "num_heads_q": self.q.shape[-2],
            "num_heads_kv": 1,
            "head_dim": self.q.shape[-1],
            "batch_size": lengths.kv.batch,
            "max_seqlen_q": longest_q,
            "ori_topk": 0,
            "cmp_topk": self.topk,
            "has_ori_kv": True,
            "has_cmp_kv": self.cmp_kv is not None,
        }
        if self.is_quantised:
            given["max_seqlen_kv"] = lengths.kv.max
            _make(KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA, given, made, device)
            return made
        is_batched = not self.is_packed and not self.is_paged
        given["max_seqlen_ori_kv"] = self.ori_kv.shape[1] if is_batched else lengths.kv.max
        given["max_seqlen_cmp_kv"] = 0
        if self.cmp_kv is not None:
            given["max_seqlen_cmp_kv"] = self.cmp_kv.shape[1] if is_batched else self._compressed(lengths).max
        _make(SPARSE_FLASH_MLA_METADATA, given, made, device)
        return made

    def _compressed(self, lengths: SparseLengths) -> Lengths:
        return Lengths(tuple(length // self.cmp_ratio for length in lengths.kv.per_sequence))


def names_of_the_plan(signature: Signature) -> dict[str, str]:
    """Give the plan's name of each of an operator's parameters, by the library's, for messages.

    Parameters
    ----------
    signature : Signature
        The operator.

    Returns
    -------
    dict of str to str
        Names.
    """
    return {c: _PLAN_NAMES.get(ours, ours) for c, ours in signature.parameter_names.items()}


def _make(signature: Signature, given: Mapping[str, Any], made: npt.NDArray[np.int32], device: int | None) -> None:
    run_metadata(signature, given, out=made, device=device, names=names_of_the_plan(signature))


def _int32(lengths: Lengths, parameter: str) -> npt.NDArray[np.int32]:
    most = np.iinfo(np.int32).max
    for position, length in enumerate(lengths.per_sequence):
        if length > most:
            raise invalid(f"{parameter}[{position}]", f"at most {most} tokens, which int32 holds", length)
    return np.array(lengths.per_sequence, np.int32)
