# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs calls on operands that end, or begin, at a page that faults; a read beyond one ends this process.

Run by test_containment with "after" or "before".
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

import acl_attn
from acl_attn.testing.build import arguments as build
from acl_attn.testing.cases import Case
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.generate import ReplayedSource, draw_call
from acl_attn.testing.layouts import dense_arguments
from acl_attn.testing.pages import Paging, paged_arguments
from acl_attn.testing.poison import guarded
from acl_attn.testing.suites import HEADS, MASKS


def main(before: bool) -> None:
    compared = 0
    for dim, dim_v in ((1, 1), (3, 5), (17, 17), (64, 64), (80, 96), (130, 33)):
        for heads in HEADS:
            for mask in ("no_mask", "mode1", "mode3"):
                case = Case("guarded", (50, 1), (70, 33), dim=dim, dim_v=dim_v, **HEADS[heads], **MASKS[mask])
                calls = [dense_arguments(case.build(), layout) for layout in ("TND", "BNSD")]
                calls.append(paged_arguments(case.build(), "TND", Paging("BnNBsD", 16, spare_blocks=0)))
                for arguments in calls:
                    safe = {
                        name: guarded(part, before=before) if isinstance(part, np.ndarray) else part
                        for name, part in arguments.items()
                    }
                    out = np.empty((*arguments["query"].shape[:-1], dim_v), arguments["query"].dtype)
                    got = acl_attn.fused_infer_attention_score(
                        **safe, **case.attributes, attention_out=guarded(out, before=before)
                    )[0]
                    want = acl_attn.fused_infer_attention_score(**arguments, **case.attributes)[0]
                    assert_same_bits(got, want)
                    compared += 1
    compared += features(before)
    sys.stdout.write(f"{compared} calls compared\n")


def features(before: bool) -> int:
    """Random calls of all features."""
    compared = 0
    for seed in range(150):
        call = replace(draw_call(ReplayedSource(seed=seed)), block_gap=0)
        arguments = build(call)
        safe = {name: _guarded(part, before) for name, part in arguments.items()}
        try:
            results = [
                acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True) for given in (safe, arguments)
            ]
        except acl_attn.UnsupportedError:
            continue
        for got, want in zip(*results, strict=True):
            assert_same_bits(got.view(np.uint8), want.view(np.uint8), name=repr(call))
        compared += 1
    return compared


def _guarded(part: object, before: bool) -> object:
    if isinstance(part, np.ndarray):
        return guarded(part, before=before)
    if isinstance(part, list) and isinstance(part[0], np.ndarray):
        return [guarded(member, before=before) for member in part]
    return part


if __name__ == "__main__":
    main(sys.argv[1] == "before")
