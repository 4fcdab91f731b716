# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Cases by what they show."""

from __future__ import annotations

from typing import Any

from acl_attn.testing.sparse.cases import SparseCase

# How a query's rows are chosen.
MODES: dict[str, dict[str, Any]] = {
    "swa": {},
    "swa_short_window": {"win_left": 5, "win_right": 2},
    "swa_open_left": {"win_left": -1, "win_right": 0},
    "swa_open_right": {"win_left": 3, "win_right": -1},
    "causal": {"ori_mask_mode": 3, "win_left": -1, "win_right": -1},
    "no_mask": {"ori_mask_mode": 0, "win_left": -1, "win_right": -1},
    "csa": {"cmp_ratio": 4, "topk": 16},
    "csa_512": {"cmp_ratio": 4, "topk": 512},
    "csa_short_lists": {"cmp_ratio": 4, "topk": 64, "lists": "short"},
    "csa_ahead": {"cmp_ratio": 4, "topk": 64, "lists": "ahead"},
    "csa_repeated": {"cmp_ratio": 4, "topk": 64, "lists": "repeated"},
    "csa_empty_lists": {"cmp_ratio": 4, "topk": 16, "lists": "empty"},
    "csa_no_cmp_mask": {"cmp_ratio": 4, "topk": 64, "cmp_mask_mode": 0},
    "hca": {"cmp_ratio": 128},
    "hca_4": {"cmp_ratio": 4},
    "hca_1": {"cmp_ratio": 1},
    "hca_no_cmp_mask": {"cmp_ratio": 16, "cmp_mask_mode": 0},
    "hca_missing_rows": {"cmp_ratio": 4, "missing": 3},
    "ori_list": {"ori_topk": 100, "ori_mask_mode": 0, "win_left": -1, "win_right": -1},
    "both_lists": {
        "ori_topk": 40,
        "cmp_ratio": 4,
        "topk": 16,
        "ori_mask_mode": 0,
        "cmp_mask_mode": 0,
        "win_left": -1,
        "win_right": -1,
    },
}
PACKED_MODES = ("swa", "csa", "csa_short_lists", "csa_ahead", "csa_empty_lists", "hca", "hca_4")

# Where query and rows lie.
STORAGE: dict[str, dict[str, Any]] = {
    "bsnd": {"layout": "BSND", "q_room": 2, "kv_room": 3},
    "tnd": {"layout": "TND", "q_room": 2, "kv_room": 3},
    "bsnd_paged": {"layout": "BSND", "is_paged": True},
    "tnd_paged": {"layout": "TND", "is_paged": True, "block_size": 48, "cmp_block_size": 16, "block_gap": 5120},
    "tnd_fused": {"layout": "TND", "is_paged": True, "block_size": 64, "cmp_block_size": 16, "is_fused": True},
}
PACKED_STORAGE = ("bsnd_paged", "tnd_paged", "tnd_fused")

LENGTHS: dict[str, Any] = {"q_lengths": (17, 0, 5, 1), "kv_lengths": (300, 40, 3, 513)}


def case_of(mode: str, storage: str, **others: Any) -> SparseCase:
    """Put a case together. Packed rows that are batched have as many queries in each sequence."""
    fields = {**LENGTHS, "heads": 8, **MODES[mode], **STORAGE[storage], **others}
    if fields.get("kv_format"):
        fields["dtype"] = "bfloat16"
        if fields["layout"] == "BSND":
            fields["q_lengths"] = (9,) * len(fields["q_lengths"])
        fields.update(q_room=0)
    return SparseCase(**fields)
