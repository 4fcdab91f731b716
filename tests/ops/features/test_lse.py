# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""softmax_lse: its two shapes, its infinities, and that it is left alone without its flag."""

from __future__ import annotations

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.layouts import LAYOUTS, is_packed

from ..checks import run


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shapes(layout: str) -> None:
    call = Call(layout, (5, 1), (40, 7), 4, 1, 512, 512, rope=64)
    if layout not in ("TND", "BSND", "BNSD", "BSH") and "NBSD" not in layout and layout != "TND_NTD":
        call = Call(layout, (5, 1), (40, 7), 4, 1, 64, 64)
    _, lse = run(arguments(call))
    assert lse.shape == ((6, 4, 1) if is_packed(layout) else (2, 4, 5, 1))


def test_without_the_flag_it_is_left_alone() -> None:
    given = arguments(Call("TND", (5, 1), (40, 7), 4, 2, 64, 64))
    untouched = np.full((6, 4, 1), 7.5, np.float32)
    out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse=untouched)
    assert lse is None
    assert (untouched == 7.5).all()
    assert_same_bits(out, run(given)[0])
