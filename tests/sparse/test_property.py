# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random legal calls of the sparse operators against the reference.

``pytest tests/sparse/test_property.py --property-cases 2000`` runs as many as you like; without the option a few, the
same ones each time. A failure is shrunk, and shown as `SparseCase(...)`: paste it into `check`.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from acl_attn.testing.generate import ReplayedSource, simplify
from acl_attn.testing.sparse.cases import SparseCase
from acl_attn.testing.sparse.generate import draw_sparse_case

from ..ops.test_property import Drawn
from .runs import check

CASES_IN_CI = 120


@st.composite
def cases(draw: st.DrawFn) -> SparseCase:
    return draw_sparse_case(Drawn(draw))


def failure(case: SparseCase) -> str:
    """What goes wrong with a call; nothing if it is right."""
    try:
        check(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


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
    @given(cases())
    def every_case(case: SparseCase) -> None:
        check(case)

    every_case()


@pytest.mark.parametrize("part", range(4))
def test_evenly_drawn_legal_calls(part: int, pytestconfig: pytest.Config) -> None:
    count = (pytestconfig.getoption("property_cases") or CASES_IN_CI) // 4
    for seed in range(part * count, (part + 1) * count):
        source = ReplayedSource(seed=seed)
        if failure(draw_sparse_case(source)):
            simple = simplify(source.given, lambda case: bool(failure(case)), draw_sparse_case)
            pytest.fail(f"seed {seed}: {simple!r}\n{failure(simple)}")
