# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Head dims of key and value that differ."""

from __future__ import annotations

import pytest

from acl_attn.testing.calls import Call

from ..checks import check


@pytest.mark.parametrize("mode", [0, 2, 3])
@pytest.mark.parametrize(("dim", "dim_v"), [(64, 128), (128, 64), (17, 96), (192, 128), (1, 33)])
@pytest.mark.parametrize("layout", ["TND", "BSH", "BNSD", "BSND"])
def test_dims(layout: str, dim: int, dim_v: int, mode: int) -> None:
    check(Call(layout, (5, 1, 18), (40, 70, 9), 6, 2, dim, dim_v, sparse_mode=mode))
