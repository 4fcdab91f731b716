# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse operators on the sim target, both generations of chips, with the simulator's checks: drawn calls."""

from __future__ import annotations

import pytest

from ..python_program import run_python

PROGRAM = """
from dataclasses import replace
import numpy as np
import acl_attn
from acl_attn import reference
from acl_attn.testing.compare import assert_close, tolerance_of
from acl_attn.testing.generate import ReplayedSource
from acl_attn.testing.sparse.build import arguments, metadata_arguments
from acl_attn.testing.sparse.generate import draw_sparse_case

def functions(given):
    names = ["kv_quant_sparse_attn_sharedkv" if "kv_quant_mode" in given else "sparse_flash_mla"]
    names.append(names[0] + "_metadata")
    return [getattr(acl_attn, name) for name in names] + [getattr(reference, names[0])]

def run(given, target):
    operator, producer, _ = functions(given)
    acl_attn.use(target)
    metadata = producer(**metadata_arguments(given))
    out, lse = operator(**given, metadata=metadata, return_softmax_lse=True)
    return out, np.asarray(lse)

def assert_near(got, want, name):
    # Probabilities are rounded to the query's dtype before they meet the rows: an error relative to the summands.
    out, lse = got
    rounding = 2.0**-11 if out.dtype == np.float16 else 2.0**-8
    tolerance = replace(tolerance_of(out.dtype).times(2), to_rms=2 * rounding)
    assert_close(out, want[0], name="attn_out of " + name, tolerance=tolerance)
    assert_close(lse, want[1], name="softmax_lse of " + name, tolerance=tolerance_of(lse.dtype).times(4))

served = refused = 0
for seed in range(SEEDS):
    case = draw_sparse_case(ReplayedSource(seed=seed))
    given = arguments(case)
    host = run(given, "host")
    if case.kv_format and OLDER:
        try:
            run(given, "sim")
        except acl_attn.UnsupportedError as refusal:
            assert "got packed rows on dav-2201, which no kernel instantiation serves" in str(refusal), refusal
            refused += 1
            continue
        raise AssertionError(f"{case!r}: not refused")
    got = run(given, "sim")
    assert_near(got, functions(given)[2](**given, return_softmax_lse=True), repr(case))
    assert_near(got, [np.asarray(x, np.float64) for x in host], repr(case) + ", against the host")
    served += 1
print(served, refused)
"""


@pytest.mark.parametrize(("chip", "is_older"), [("Ascend910B1", True), ("Ascend950PR_950z", False)])
def test_drawn_calls(chip: str, is_older: bool) -> None:
    program = PROGRAM.replace("SEEDS", "16").replace("OLDER", str(is_older))
    environment = {"ACL_ATTN_PROFILE": "host", "ACL_ATTN_SOC_NAME": chip, "ACL_ATTN_SIM_CHECKS": "1"}
    served, refused = map(int, run_python(program, **environment).split())
    assert served >= 8
    assert (refused > 0) == is_older
