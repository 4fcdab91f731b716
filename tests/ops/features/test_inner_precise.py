# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""innerPrecise: all four values, one result."""

from __future__ import annotations

import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits

from ..checks import check, run

CALL = Call("BSND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, sparse_mode=3)


@pytest.mark.parametrize("inner_precise", [0, 1, 2, 3])
def test_values(inner_precise: int) -> None:
    check(Call(**{**vars(CALL), "inner_precise": inner_precise}))
    given = arguments(CALL)
    for got, want in zip(run({**given, "inner_precise": inner_precise}), run(given), strict=True):
        assert_same_bits(got, want)
