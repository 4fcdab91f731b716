# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random calls with one number spoilt in what tensors say: refused, or computed as the reference does; never worse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.generate import ReplayedSource
from acl_attn.testing.sparse.build import arguments
from acl_attn.testing.sparse.generate import draw_sparse_case

from .runs import compare, functions, metadata_of, run

VALUES = (-(2**31), -2, -1, 0, 1, 2, 3, 15, 16, 17, 127, 128, 1000, 2**30, 2**31 - 1)
CASES_IN_CI = 60


def spoil(given: dict[str, Any], source: ReplayedSource) -> str:
    """Change one entry of one tensor of integers; tell which."""
    names = [name for name, part in given.items() if isinstance(part, np.ndarray) and part.dtype == np.int32]
    name = source.choose([name for name in names if given[name].size])
    place = source.integer(0, given[name].size - 1)
    value = source.choose(VALUES)
    given[name] = given[name].copy()
    given[name].reshape(-1)[place] = value
    return f"{name}.flat[{place}] = {value}"


def is_accepted_by_reference(given: dict[str, Any]) -> bool:
    try:
        functions(given)[2](**given)
    except (ValueError, IndexError):
        return False
    return True


def outcome(given: dict[str, Any], **others: Any) -> Any:
    """Output and log-sum-exp, or the error."""
    try:
        return run(given, **others)
    except acl_attn.AclAttnError as error:
        return error


@pytest.mark.parametrize("part", range(4))
def test_one_number_spoilt(part: int, pytestconfig: pytest.Config) -> None:
    count = (pytestconfig.getoption("property_cases") or CASES_IN_CI) // 4
    computed = refused = 0
    for seed in range(part * count, (part + 1) * count):
        source = ReplayedSource(seed=10_000 + seed)
        case = replace(draw_sparse_case(source), gives_lengths=True)
        given = arguments(case)
        before = metadata_of(given)
        what = f"seed {seed}: {case!r}, {spoil(given, source)}"
        for metadata in ({}, {"metadata": before}):  # that of the spoilt call, and that of the call before
            out = np.full(given["q"].shape, 7, given["q"].dtype)
            found = outcome(given, attn_out=out, **metadata)
            if isinstance(found, acl_attn.AclAttnError):
                assert found.expected, f"{what}: {found}"
                assert (out == 7).all(), f"{what}: written to"
                refused += 1
            else:
                assert is_accepted_by_reference(given), f"{what}: computed"
                compare(given, *found)
                computed += 1
    assert min(computed, refused) > count // 5


@pytest.mark.parametrize("part", range(2))
def test_a_word_of_the_metadata_spoilt(part: int) -> None:
    for seed in range(part * 30, (part + 1) * 30):
        source = ReplayedSource(seed=20_000 + seed)
        given = arguments(draw_sparse_case(source))
        metadata = metadata_of(given)
        metadata[source.integer(0, 1023)] ^= np.int32(1 << source.integer(0, 30))
        found = outcome(given, metadata=metadata)
        if isinstance(found, acl_attn.AclAttnError):
            assert found.parameter == "metadata"
        else:
            compare(given, *found)
