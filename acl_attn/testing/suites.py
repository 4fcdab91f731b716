# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Lists of cases: correctness (the plain grid), corners (where indices go wrong) and features (as users combine them).

Picked by hand, not the product of everything. Lengths are around multiples of what an engine may tile by: 16, 64, 96,
128, 256, 512.
"""

from __future__ import annotations

from typing import Any

from acl_attn.testing.cases import Case

HEADS: dict[str, dict[str, Any]] = {
    "mha": {"heads": 3, "kv_heads": 3},
    "gqa3": {"heads": 6, "kv_heads": 2},
    "mqa": {"heads": 5, "kv_heads": 1},
}

MASKS: dict[str, dict[str, Any]] = {
    "no_mask": {"sparse_mode": 0},
    "mode0": {"sparse_mode": 0, "mask": 0.3, "pre_tokens": 20, "next_tokens": 9},
    "mode1": {"sparse_mode": 1, "mask": 0.6},
    "mode2": {"sparse_mode": 2},
    "mode3": {"sparse_mode": 3},
    "mode4": {"sparse_mode": 4, "pre_tokens": 12, "next_tokens": 3},
}

# Fewer, as many and more keys than rows; one row; one key.
MIXED: dict[str, Any] = {"q_lengths": (37, 1, 18, 40, 2), "kv_lengths": (70, 33, 18, 9, 1)}

CORRECTNESS: tuple[Case, ...] = tuple(
    Case(f"{heads}-{mask}", **MIXED, **HEADS[heads], **MASKS[mask]) for heads in HEADS for mask in MASKS
)

_LENGTH_CORNERS = tuple(
    Case(f"q{sq}-kv{skv}-mode{mode}", (sq,), (skv,), heads=4, kv_heads=2, dim=32, dim_v=32, sparse_mode=mode)
    for sq, skv, mode in (
        (1, 1, 0),
        (1, 15, 0),
        (1, 16, 3),
        (1, 17, 3),
        (2, 255, 3),
        (1, 256, 0),
        (1, 257, 0),
        (3, 511, 0),
        (3, 512, 3),
        (3, 513, 0),
        (1, 1023, 0),
        (1, 1025, 3),
        (1, 2049, 0),
        (95, 255, 3),
        (96, 256, 3),
        (97, 257, 3),
        (47, 257, 2),
        (49, 512, 0),
        (129, 513, 3),
        (257, 257, 2),
        (257, 256, 3),
        (256, 257, 3),
        (300, 20, 3),
        (300, 20, 2),
        (20, 300, 2),
        (8, 8, 3),
        (9, 9, 3),
    )
)

_DIM_CORNERS = tuple(
    Case(
        f"d{dim}-dv{dim_v}-q{sq}",
        (sq, 1),
        (70, 300),
        heads=4,
        kv_heads=2,
        dim=dim,
        dim_v=dim_v,
        sparse_mode=3,
    )
    for dim, dim_v in (
        (1, 1),
        (3, 3),
        (8, 8),
        (16, 16),
        (17, 17),
        (31, 33),
        (80, 80),
        (96, 64),
        (64, 96),
        (112, 112),
        (128, 128),
        (192, 128),
        (256, 256),
        (511, 509),
        (512, 512),
        (1, 512),
        (512, 1),
    )
    for sq in (3, 50)
)

_BAND_CORNERS = tuple(
    Case(
        f"mode{mode}-pre{pre}-next{following}-q{sq}-kv{skv}",
        (sq,),
        (skv,),
        heads=2,
        kv_heads=1,
        dim=16,
        dim_v=16,
        sparse_mode=mode,
        mask=0.0 if mode == 0 else None,
        pre_tokens=pre,
        next_tokens=following,
    )
    for mode, pre, following in (
        (0, 0, 0),
        (0, 5, -2),
        (0, -1, 4),
        (0, 2147483647, 0),
        (0, 0, 2147483647),
        (4, 0, 0),
        (4, 127, 0),
        (4, 5, -2),
        (4, -1, 4),
        (4, 2147483647, 2147483647),
        (4, 2147483647, -3),
        (4, -300, 400),
    )
    for sq, skv in ((1, 300), (40, 300), (70, 40))
)

_EMPTY_CORNERS = (
    Case("no_query_in_the_middle", (150, 0, 150), (100, 100, 100), heads=2, kv_heads=2, sparse_mode=0),
    Case("every_other_empty", (0, 1, 0, 1), (0, 3, 0, 5), heads=9, kv_heads=3, sparse_mode=3, scale=1.0),
    Case("no_keys", (4,), (0,), heads=2, kv_heads=2),
    Case("no_keys_in_one", (4, 3, 130), (0, 9, 0), heads=4, kv_heads=2, sparse_mode=3),
    Case("all_empty", (0, 0), (0, 0), heads=2, kv_heads=1),
    Case("no_query_at_all", (0, 0), (7, 9), heads=2, kv_heads=1),
    Case("every_key_hidden", (5, 130), (300, 40), heads=4, kv_heads=2, sparse_mode=1, mask=1.0),
    Case("most_keys_hidden", (9, 70), (5, 90), heads=4, kv_heads=2, sparse_mode=1, mask=0.97),
    Case("causal_with_empty_rows", (300, 40), (20, 39), heads=4, kv_heads=2, sparse_mode=3),
)

_VALUE_CORNERS = (
    Case("scale_zero", (5, 60), (300, 70), scale=0.0),
    Case("scale_negative", (5, 60), (300, 70), scale=-0.2),
    Case("scale_tiny", (5, 60), (300, 70), scale=1e-30),
    Case("one_key_dominates", (5, 60), (300, 70), spread=4.0),
)

CORNERS: tuple[Case, ...] = _LENGTH_CORNERS + _DIM_CORNERS + _BAND_CORNERS + _EMPTY_CORNERS + _VALUE_CORNERS

FEATURES: tuple[Case, ...] = (
    Case("prefill", (400,), (400,), heads=9, kv_heads=3, sparse_mode=3),
    Case("chunked_prefill", (32, 128), (128, 640), heads=8, kv_heads=2, dim=128, dim_v=128, sparse_mode=3),
    Case("decode", (1, 1, 1, 1), (3000, 1, 517, 64), heads=9, kv_heads=3, sparse_mode=0),
    Case("speculative_decode", (4, 2, 3), (900, 33, 3), heads=8, kv_heads=1, dim=128, dim_v=128, sparse_mode=3),
    Case("mixed_prefill_and_decode", (1, 200, 1, 33), (700, 200, 20, 300), heads=12, kv_heads=4, sparse_mode=3),
    Case("sliding_window", (1, 300), (1000, 300), heads=8, kv_heads=8, sparse_mode=4, pre_tokens=127, next_tokens=0),
    Case("encoder", (77, 200), (77, 200), heads=12, kv_heads=12),
    Case("cross_attention", (250, 90), (77, 130), heads=8, kv_heads=8, dim=40, dim_v=40),
    Case("wide_group", (1, 3, 20), (640, 200, 64), heads=40, kv_heads=2, sparse_mode=3),
)
