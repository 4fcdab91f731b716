# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A call that is ready to be timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import acl_attn

__all__ = ["Prepared", "planned"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Prepared:
    """A call, and how to verify it.

    Attributes
    ----------
    call : callable
        Computes once; returns when the result is there.
    rows : callable
        Gives the last output's rows at the case's positions, in float32.
    expected : sequence of ndarray of float64
        What they must be.
    close : callable
        Lets everything go.
    """

    call: Callable[[], object]
    rows: Callable[[], list[npt.NDArray[np.float32]]]
    expected: Sequence[npt.NDArray[np.float64]]
    close: Callable[[], None]


def planned(
    plan: acl_attn.Plan | acl_attn.SparsePlan,
    out: Array,
    places: Sequence[tuple[int, ...]],
    expected: Sequence[npt.NDArray[np.float64]],
) -> Prepared:
    """Prepare a plan that writes to `out`; `places` are the indices of the rows to verify."""
    return Prepared(plan.run, lambda: [out[place].astype(np.float32) for place in places], expected, plan.close)
