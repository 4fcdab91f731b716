# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random calls of every feature with one argument spoiled: refused with a message, or computed rightly."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.build import arguments
from acl_attn.testing.generate import ReplayedSource, draw_call

from .checks import compare
from .test_random_spoiled import LAYOUT_NAMES

Array = np.ndarray[Any, Any]
CASES_IN_CI = 400
INTEGERS = (-3, -1, 0, 1, 2, 3, 6, 8, 9, 16, 64, 100, 2**31 - 1, 2**31, 2**62, -(2**31), -(2**63))
SCALARS = (
    "sparse_mode",
    "inner_precise",
    "block_size",
    "pre_tokens",
    "next_tokens",
    "num_heads",
    "num_key_value_heads",
)
MODES = ("pse_type", "key_antiquant_mode", "value_antiquant_mode", "query_quant_mode", "antiquant_mode")


def spoil(given: dict[str, Any], choose: random.Random) -> tuple[str, dict[str, Any]]:
    """Change one argument, and say which."""
    name = choose.choice(sorted({*given, *SCALARS, *MODES}))
    old = given.get(name)
    if name == "input_layout":
        new: object = choose.choice(LAYOUT_NAMES)
    elif name == "scale_value":
        new = choose.choice((0.0, -1.0, 3, 1e-40))
    elif isinstance(old, np.ndarray):
        new = _spoiled(old, choose)
    elif isinstance(old, list) and isinstance(old[0], np.ndarray):
        new = [*old[:-1], _spoiled(old[-1], choose)] if choose.random() < 0.7 else old[:-1]
    elif isinstance(old, list):
        entry = choose.randrange(len(old))
        changes = ([*old[:entry], choose.choice(INTEGERS), *old[entry + 1 :]], old[:-1], [*old, 1], None, old[::-1])
        new = choose.choice(changes)
    else:
        new = choose.choice(INTEGERS)
    return name, {**given, name: new}


def _spoiled(array: Array, choose: random.Random) -> Array | None:
    axis = choose.randrange(array.ndim)
    made = [
        None,
        np.ascontiguousarray(np.delete(array, slice(0, 1), axis)),
        np.concatenate([array, array], axis),
        array[None],
        array.reshape(-1),
        array[..., ::-1],
        array.swapaxes(0, axis),
        array[..., :0],
    ]
    if array.dtype.names is None:
        made += [array.astype(dtype) for dtype in (np.float32, np.float16, np.int8, np.int64) if dtype != array.dtype]
    return choose.choice(made)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # conversions that spoil numbers as well
def test_refused_or_right(part: int, pytestconfig: pytest.Config) -> None:
    count = (pytestconfig.getoption("property_cases") or CASES_IN_CI) // 4
    for seed in range(part * count, (part + 1) * count):
        call = draw_call(ReplayedSource(seed=seed))
        name, given = spoil(arguments(call), random.Random(seed))
        try:
            out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
        except acl_attn.AclAttnError as refusal:
            message = str(refusal)
            assert re.match(r"[a-z0-9_]+(\[-?\d+\])*: expected .+, got .+", message, re.DOTALL), (
                seed,
                call,
                name,
                message,
            )
            continue
        try:
            compare(call, given, out, np.asarray(lse))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {call!r} with something else for {name}") from error
