# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls on sequences of unequal lengths, packed one behind the other (layout TND)."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

import acl_attn

from ..cases import Case
from ..truth import attend, fill
from .prepared import Prepared, planned


def prepare(case: Case) -> Prepared:
    """Prepare such a call; it is causal."""
    q_lengths, kv_lengths = ([pair[axis] for pair in case.lengths] for axis in (0, 1))
    q_starts, kv_starts = (list(accumulate(lengths, initial=0)) for lengths in (q_lengths, kv_lengths))
    query = fill((q_starts[-1], case.heads, case.dim), case.dtype, 1)
    key, value = (fill((kv_starts[-1], case.kv_heads, case.dim), case.dtype, seed) for seed in (2, 3))
    group, scale, expected, places = case.heads // case.kv_heads, case.dim**-0.5, [], []
    for sequence, head, i in case.positions():
        first, token = kv_starts[sequence], q_starts[sequence] + i
        seen = slice(first, first + kv_lengths[sequence] - q_lengths[sequence] + i + 1), head // group
        expected.append(attend(query[token, head], key[seen], value[seen], scale))
        places.append((token, head))
    out = np.empty_like(query)
    plan = acl_attn.Plan(
        query, key, value, layout="TND", q_lengths=q_lengths, kv_lengths=kv_lengths, mask="causal", out=out
    )
    return planned(plan, out, places, expected)
