# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random legal calls over the whole space of parameters against the reference.

``pytest tests/ops/test_property.py --property-cases 20000`` runs as many as you like; without the option a few, the
same ones each time. A failure is shrunk, and shown as `Call(...)`: paste it into `check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from acl_attn.testing.calls import Call
from acl_attn.testing.generate import ReplayedSource, draw_call, simplify

from .checks import check
from .property import failure

Choice = TypeVar("Choice")
CASES_IN_CI = 200


class Drawn:
    """Choices that hypothesis makes, and makes simpler when something fails."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choose(self, options: Sequence[Choice]) -> Choice:
        return self._draw(st.sampled_from(options))


@st.composite
def calls(draw: st.DrawFn) -> Call:
    return draw_call(Drawn(draw))


def test_random_legal_calls(pytestconfig: pytest.Config) -> None:
    wanted = pytestconfig.getoption("property_cases")

    @settings(
        max_examples=wanted or CASES_IN_CI,
        derandomize=wanted is None,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )
    @given(calls())
    def every_call(call: Call) -> None:
        check(call)

    every_call()


@pytest.mark.parametrize("part", range(4))
def test_evenly_drawn_legal_calls(part: int, pytestconfig: pytest.Config) -> None:
    # hypothesis likes to draw the same again; a generator of its own covers the corners sooner.
    count = (pytestconfig.getoption("property_cases") or CASES_IN_CI) // 4
    for seed in range(part * count, (part + 1) * count):
        source = ReplayedSource(seed=seed)
        if failure(draw_call(source)):
            simple = simplify(source.given, lambda call: bool(failure(call)))
            pytest.fail(f"seed {seed}: {simple!r}\n{failure(simple)}")
