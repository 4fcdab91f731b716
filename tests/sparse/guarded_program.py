# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Runs calls on operands that end, or begin, at a page that faults; a read beyond one ends this process.

Run by test_containment with "after" or "before".
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

import acl_attn
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.generate import ReplayedSource
from acl_attn.testing.poison import guarded
from acl_attn.testing.sparse.build import arguments, metadata_arguments
from acl_attn.testing.sparse.generate import draw_sparse_case


def main(before: bool) -> None:
    compared = 0
    for seed in range(120):
        # Blocks side by side, so that the last one ends where the memory does.
        case = replace(draw_sparse_case(ReplayedSource(seed=seed)), block_gap=0, is_fused=False)
        given = arguments(case)
        safe = {
            name: guarded(part, before=before) if isinstance(part, np.ndarray) else part for name, part in given.items()
        }
        for got, want in zip(results(safe), results(given), strict=True):
            assert_same_bits(got, want, name=repr(case))
        compared += 1
    sys.stdout.write(f"{compared} calls compared\n")


def results(given: dict[str, Any]) -> tuple[Any, ...]:
    """Metadata, output and log-sum-exp."""
    if "kv_quant_mode" in given:
        metadata = acl_attn.kv_quant_sparse_attn_sharedkv_metadata(**metadata_arguments(given))
        operator: Any = acl_attn.kv_quant_sparse_attn_sharedkv
    else:
        metadata = acl_attn.sparse_flash_mla_metadata(**metadata_arguments(given))
        operator = acl_attn.sparse_flash_mla
    return metadata, *operator(**given, metadata=metadata, return_softmax_lse=True)


if __name__ == "__main__":
    main(sys.argv[1] == "before")
