# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured, and what it is to reach: the table that the benchmark fills in.

A bar on a limit is the share of it to reach; the others say how many times faster than something the call shall be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .cases import CACHE_BITS, Case

__all__ = ["GROUPS", "SUITES", "THREADS_BAR", "Entry", "Group", "groups_of"]

SUITES = ("full", "quick", "decode", "prefill", "sparse", "overhead")
THREADS_BAR = 1.9  # two threads over one


@dataclass(frozen=True)
class Entry:
    """One call and its bars; 0 is none.

    Attributes
    ----------
    case : Case
        The call.
    limit : {"multiply", "read", "both"}
        What bounds it: the rate of multiplications, that of reading keys and values, or whichever takes longer.
    limit_bar : float
        Share of the limit to reach.
    cached_bar : float
        The same where keys and values fit into the processor's caches.
    peer_bar : float
        Times faster than the best other library.
    own : Case or None
        A call of our own to compare with.
    own_bar : float
        Times faster than that: per call, or with `is_rate` per multiplication.
    is_rate : bool
        See `own_bar`.
    is_quick : bool
        Part of the quick suite.
    """

    case: Case
    limit: str = "multiply"
    limit_bar: float = 0
    cached_bar: float = 0
    peer_bar: float = 0
    own: Case | None = None
    own_bar: float = 0
    is_rate: bool = False
    is_quick: bool = False


@dataclass(frozen=True)
class Group:
    """A row of the table: calls of one kind."""

    key: str
    suite: str
    title: str
    entries: tuple[Entry, ...]


_PREFILL = Case(1, 32, 32, 2048, 2048, 128)
_CAUSAL = replace(_PREFILL, causal=True)
_DECODE = Case(8, 32, 8, 1, 8192, 128)


def _square(case: Case, tokens: int, batch: int = 1) -> Case:
    return replace(case, q_len=tokens, kv_len=tokens, batch=batch)


def _prefill() -> list[Group]:
    sizes = (1024, 2048, 4096, 8192)
    narrow = replace(_PREFILL, dim=64)
    plain = [Entry(_square(_PREFILL, s), "multiply", 0.80, peer_bar=1.2, is_quick=s == 2048) for s in sizes]
    causal = [
        Entry(_square(_CAUSAL, s), "multiply", 0.72 if s == 1024 else 0.77, peer_bar=1.2, is_quick=s == 2048)
        for s in sizes
    ]
    d64 = [Entry(_square(narrow, s), "multiply", 0.70, peer_bar=1.3, is_quick=s == 2048) for s in (2048, 4096)]
    half = [
        Entry(_square(replace(case, dtype="fp16"), s), "multiply", bar, peer_bar=1.05, is_quick=s == 2048)
        for case, bar in ((_PREFILL, 0.88), (_CAUSAL, 0.82))
        for s in (2048, 4096)
    ]
    pairs = [
        *((replace(_PREFILL, feature=feature), _PREFILL) for feature in ("bias", "sink", "mla_prefill")),
        *((replace(_PREFILL, feature=feature), _CAUSAL) for feature in ("mask", "window")),
        (replace(_CAUSAL, kv_heads=8), _CAUSAL),
    ]
    features = [
        Entry(case, own=own, own_bar=0.9, is_rate=True, is_quick=case.feature in ("bias", "mask"))
        for case, own in pairs
    ]
    short = [
        Entry(_square(_PREFILL, s, b), "multiply", 0.60, peer_bar=1.3, is_quick=(s, b) == (256, 1))
        for s in (128, 256, 512)
        for b in (1, 8)
    ]
    quantised = [
        Entry(replace(_PREFILL, scheme=scheme), own=_PREFILL, own_bar=1.3, is_quick=scheme == "per_tensor")
        for scheme in ("per_tensor", "mxfp8")
    ]
    return [
        Group("prefill_bf16", "prefill", "prefill BF16, D=128, H=32, S=1024..8192", tuple(plain)),
        Group("prefill_bf16_causal", "prefill", "the same, causal", tuple(causal)),
        Group("prefill_bf16_d64", "prefill", "prefill BF16, D=64", tuple(d64)),
        Group("prefill_fp16", "prefill", "prefill FP16, D=128", tuple(half)),
        Group("prefill_features", "prefill", "mask tensor, bias, sink, window, GQA, MLA 192/128", tuple(features)),
        Group("prefill_short", "prefill", "short prefill BF16, S=128..512, batch 1..8", tuple(short)),
        Group("prefill_quantised", "prefill", "full-quant INT8 and MXFP8 prefill", tuple(quantised)),
    ]


def _decode() -> list[Group]:
    dense = [replace(_DECODE, batch=b, kv_len=kv) for b in (1, 8, 32) for kv in (1024, 8192, 32768)]
    paged = [replace(_DECODE, block_size=size) for size in (16, 128, 512)]
    paged += [replace(_DECODE, batch=1, kv_len=32768, block_size=128)]
    others = [
        replace(_DECODE, dtype="fp16"),
        replace(_DECODE, kv_heads=32, batch=1),
        replace(_DECODE, dim=64),
        replace(_DECODE, dim=256, heads=16, kv_heads=4),
    ]
    latent = Case(8, 128, 1, 1, 4096, 512, feature="mla_decode")
    quick = {dense[0], _DECODE, paged[1], others[0]}
    caches = [
        Entry(
            replace(_DECODE, cache=name), "read", 0.80 if bits == 8 else 0.60, peer_bar=2, own=_DECODE,
            own_bar=1.7 if bits == 8 else 2.4, is_quick=name in ("int8", "int4"),
        )
        for name, bits in CACHE_BITS.items()
    ]  # fmt: skip
    bf16 = [Entry(case, "read", 0.92, 0.55, 2, is_quick=case in quick) for case in dense + paged]
    other = [Entry(case, "read", 0.88, 0.55, 2, is_quick=case in quick) for case in others]
    mla = [Entry(latent, "multiply", 0.70, peer_bar=2, is_quick=True)]
    mixed = ((1, 8192), (1, 300), (64, 64), (512, 512), (1, 2000), (8, 4096), (256, 1280), (1, 1))
    several = [
        *(replace(_DECODE, q_len=q, causal=True) for q in (2, 4, 8)),
        replace(_DECODE, batch=1, q_len=512, kv_len=16384, causal=True),
        replace(_DECODE, q_len=512, kv_len=8192, causal=True, lengths=mixed),
    ]
    both = [Entry(case, "both", 0.90, is_quick=case.q_len == 4 or bool(case.lengths)) for case in several]
    return [
        Group("decode_bf16", "decode", "decode BF16 32:8, D=128, dense and paged", tuple(bf16)),
        Group("decode_others", "decode", "decode FP16, MHA, D=64 and 256", tuple(other)),
        Group("decode_mla", "decode", "MLA decode 576/512, 128 heads", tuple(mla)),
        Group("decode_caches", "decode", "decode with INT8, FP8, HIF8, INT4, FP4 cache", tuple(caches)),
        Group("decode_several", "decode", "multi-token decode, chunked prefill, mixed batches", tuple(both)),
    ]


def _sparse() -> list[Group]:
    base = Case(1, 64, 1, 4096, 4096, 512, sparse="window")
    prefix = replace(base, q_len=1024, kv_len=32768, sparse="prefix", ratio=128)
    lists = replace(base, q_len=256, kv_len=32768, sparse="lists", ratio=4, topk=512)
    step = replace(lists, batch=32, q_len=1, kv_len=65536)
    prefills = [base, prefix, lists, replace(lists, kv_len=262144), replace(base, is_packed=True)]
    steps = [replace(step, sparse="prefix", ratio=128, topk=0), step, replace(step, is_packed=True)]
    quick = {base, step}
    return [
        Group(
            "sparse_prefill", "sparse", "SMLA and KVQ prefill, 64 heads",
            tuple(Entry(case, "multiply", 0.60, is_quick=case in quick) for case in prefills),
        ),
        Group(
            "sparse_decode", "sparse", "SMLA and KVQ decode, B=32, 64k keys, 64 heads",
            tuple(Entry(case, "both", 0.70, is_quick=case in quick) for case in steps),
        ),
    ]  # fmt: skip


def _call() -> list[Group]:
    smallest = [
        Case(1, 1, 1, 1, 1, 16, "fp16", peers_dtype="fp32"),
        Case(1, 8, 8, 1, 16, 64, "fp16", peers_dtype="fp32"),
    ]
    entries = tuple(Entry(case, "", is_quick=True) for case in smallest)
    return [Group("smallest_calls", "overhead", "the smallest calls", entries)]


GROUPS: tuple[Group, ...] = (*_prefill(), *_decode(), *_sparse(), *_call())


def groups_of(suite: str) -> list[Group]:
    """Select what a suite measures."""
    if suite == "full":
        return list(GROUPS)
    if suite != "quick":
        return [group for group in GROUPS if group.suite == suite]
    quick = (replace(group, entries=tuple(e for e in group.entries if e.is_quick)) for group in GROUPS)
    return [group for group in quick if group.entries]
