# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs calls on operands that end, or begin, at a page that faults; a read beyond one ends this process.

Run by test_containment with "after" or "before".
"""

from __future__ import annotations

import sys

import numpy as np

import acl_attn
from acl_attn.testing.cases import Case
from acl_attn.testing.compare import assert_same_bits
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
    sys.stdout.write(f"{compared} calls compared\n")


if __name__ == "__main__":
    main(sys.argv[1] == "before")
