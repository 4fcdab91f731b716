# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Draws legal calls of the sparse operators over the whole space of their parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acl_attn.testing.sparse.cases import SparseCase

if TYPE_CHECKING:
    from acl_attn.testing.generate import Source

LISTS = ("best", "short", "ahead", "repeated", "empty")
WINDOWS = ((127, 0), (0, 0), (5, 2), (-1, 0), (3, -1), (-1, -1), (300, 0), (63, 1))


def draw_sparse_case(source: Source) -> SparseCase:
    """Draw a legal call.

    Parameters
    ----------
    source : Source
        Where choices come from.

    Returns
    -------
    SparseCase
        The call.
    """
    batch = source.integer(1, 4)
    kv_format = source.choose(("", "", "", "float8_e4m3fn", "hifloat8"))
    case = SparseCase(
        layout=source.choose(("TND", "BSND")),
        is_paged=bool(source.integer(0, 1)) or bool(kv_format),
        q_lengths=tuple(_queries(source) for _ in range(batch)),
        kv_lengths=tuple(_tokens(source) for _ in range(batch)),
        heads=source.choose((1, 2, 3, 8, 16, 64)),
        dtype="bfloat16" if kv_format else source.choose(("float16", "bfloat16")),
        kv_format=kv_format,
        scale=source.choose((512**-0.5, 0.02, 0.1)),
        seed=source.integer(0, 2**20),
    )
    case = _without_empty_axes(_pools(source, _compressed(source, case)))
    if kv_format:
        return replace(case, cmp_mask_mode=3)
    return _rooms(source, _masks(source, case))


def _without_empty_axes(case: SparseCase) -> SparseCase:
    """Have at least one token on each packed axis, and as many queries as a tensor has where nothing says how many."""
    if case.kv_format and not case.is_packed:
        case = replace(case, q_lengths=(max(case.q_lengths[0], 1),) * case.batch)
    if case.is_packed and not any(case.q_lengths):
        case = replace(case, q_lengths=(1, *case.q_lengths[1:]))
    if (
        case.is_packed
        and not case.is_paged
        and not (any(case.kv_lengths) and (any(case.cmp_lengths) or not case.has_cmp))
    ):
        case = replace(case, kv_lengths=(2 * max(case.cmp_ratio, 1), *case.kv_lengths[1:]), missing=0)
    return case


def _queries(source: Source) -> int:
    return source.choose((1, 2, 0, 3, 7, 17, 40))


def _tokens(source: Source) -> int:
    if source.integer(0, 2):
        return source.integer(0, 40)
    return source.choose((127, 128, 129, 255, 256, 257, 300, 511, 513, 700))


def _compressed(source: Source, case: SparseCase) -> SparseCase:
    kind = source.choose(("SWA", "HCA", "CSA"))
    if kind == "SWA":
        return case
    ratios = (4, 128) if case.kv_format else (4, 128, 1, 2, 7, 16)
    case = replace(case, cmp_ratio=source.choose(ratios))
    if kind == "CSA":
        case = replace(case, topk=source.choose((4, 1, 16, 64, 512)), lists=source.choose(LISTS))
    if not case.kv_format and source.integer(0, 7) == 7:
        case = replace(case, missing=source.integer(1, 3))
    return case


def _masks(source: Source, case: SparseCase) -> SparseCase:
    kind = source.choose(("window", "causal", "none", "list"))
    if case.has_cmp:
        case = replace(case, cmp_mask_mode=source.choose((3, 3, 0)))
    if kind == "window":
        left, right = source.choose(WINDOWS)
        return replace(case, win_left=left, win_right=right)
    case = replace(case, ori_mask_mode=3 if kind == "causal" else 0, win_left=-1, win_right=-1)
    if kind == "list" and (case.topk or not case.has_cmp):
        return replace(case, ori_topk=source.choose((4, 1, 100, 600)), lists=source.choose(LISTS))
    return case


def _pools(source: Source, case: SparseCase) -> SparseCase:
    if not case.is_paged:
        return case
    sizes = (16, 48, 128, 1024) if case.kv_format else (16, 1, 7, 128, 100)
    return replace(
        case,
        block_size=source.choose(sizes),
        cmp_block_size=source.choose(sizes),
        block_gap=source.choose((0, 0, 512, 10 * 640)),
        is_fused=bool(source.integer(0, 1)) and case.has_cmp,
    )


def _rooms(source: Source, case: SparseCase) -> SparseCase:
    return replace(
        case,
        q_room=source.choose((0, 0, 3)),
        kv_room=source.choose((0, 0, 5)) if not case.is_paged else 0,
        gives_lengths=bool(source.integer(0, 1)),
    )
