# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""softmax_lse: its two shapes, its infinities, and that an array for it needs its flag."""

from __future__ import annotations

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.layouts import LAYOUTS, is_packed

from ..checks import run


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shapes(layout: str) -> None:
    call = Call(layout, (5, 1), (40, 7), 4, 1, 512, 512, rope=64)
    if layout not in ("TND", "BSND", "BNSD", "BSH") and "NBSD" not in layout and layout != "TND_NTD":
        call = Call(layout, (5, 1), (40, 7), 4, 1, 64, 64)
    _, lse = run(arguments(call))
    assert lse.shape == ((6, 4, 1) if is_packed(layout) else (2, 4, 5, 1))


def test_without_the_flag_an_array_for_it_is_refused() -> None:
    given = arguments(Call("TND", (5, 1), (40, 7), 4, 2, 64, 64))
    untouched = np.full((6, 4, 1), 7.5, np.float32)
    with pytest.raises(acl_attn.InvalidArgumentError, match="softmax_lse"):
        acl_attn.fused_infer_attention_score(**given, softmax_lse=untouched)
    assert (untouched == 7.5).all()
