# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Legal calls with one parameter changed are refused with a rule's id, or computed as the reference does.

A part of the changes of a few calls; ``--mutated-calls 200`` makes all changes of 200 calls.
"""

from __future__ import annotations

import pytest

from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call
from acl_attn.testing.mutate import mutations

from .mutations import COMPUTED, failure, legal_calls

CALLS_IN_CI, EVERY = 24, 7


@pytest.mark.parametrize("part", range(4))
def test_every_change_is_refused_by_a_rule_or_computed(part: int, pytestconfig: pytest.Config) -> None:
    wanted = pytestconfig.getoption("mutated_calls")
    count, step = (wanted, 1) if wanted else (CALLS_IN_CI, EVERY)
    wrong = [
        f"seed {seed}, {mutation.name}: {message}"
        for number, (seed, given) in enumerate(legal_calls(count))
        if number % 4 == part
        for place, mutation in enumerate(mutations(given))
        if (place + number) % step == 0 and (message := failure(mutation)[1])
    ]
    assert not wrong, f"{len(wrong)} changes:\n" + "\n".join(wrong[:10])


def test_changes_of_all_kinds_are_made() -> None:
    given = arguments(Call(layout="BSND", q_lengths=(3, 2), kv_lengths=(7, 9), heads=4, kv_heads=2, mask=0.3))
    names = {mutation.name for mutation in mutations(given)}
    for name in (
        *("query as int8", "query axis 1 + 1", "key axis 3 - 1", "value with an axis more", "atten_mask left out"),
        *("actual_seq_lengths [1] = 3", "actual_seq_lengths_kv with an entry less", "num_heads = 5", "sparse_mode = 1"),
        *("inner_precise = 9223372036854775807", "pre_tokens = -1", "input_layout = BNSD"),
    ):
        assert name in names, name
    assert len(names) > 250
    outcomes = {failure(mutation)[0] for mutation in mutations(given)}
    assert COMPUTED in outcomes
    assert len(outcomes) > 20, "refusals by many rules"
