# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and values in a tensor for each sequence, each of its own length."""

from __future__ import annotations

import pytest

from acl_attn.testing.calls import Call

from ..checks import check

SIZES = {"q_lengths": (5, 1, 18), "kv_lengths": (40, 70, 9), "heads": 6, "kv_heads": 2}


@pytest.mark.parametrize("gives_lengths", [False, True])
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
def test_lists(layout: str, gives_lengths: bool) -> None:
    check(Call(layout, **SIZES, storage="list", sparse_mode=3, gives_lengths=gives_lengths))


def test_with_bias() -> None:
    check(Call("BNSD", **SIZES, storage="list", bias="tensor"))


@pytest.mark.parametrize(("kv_format", "modes"), [("int8", (0, 0)), ("int8", (1, 1)), ("int8", (3, 3))])
def test_quantised(kv_format: str, modes: tuple[int, int]) -> None:
    call = Call("BSND", (1, 1, 1), (40, 70, 9), 6, 2, 64, 64, storage="list", kv_format=kv_format)
    check(Call(**{**vars(call), "modes": modes}))
