# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The calls of `acl_attn` itself for the benchmark's cases."""

from __future__ import annotations

from ..cases import Case
from . import dense, packed, quantised, sparse
from .prepared import Prepared

__all__ = ["Prepared", "prepare"]


def prepare(case: Case) -> Prepared:
    """Make a case's data, a plan for it, and what some rows of its output must be.

    Raises
    ------
    AclAttnError
        The engine does not take the call.
    """
    if case.sparse:
        return sparse.prepare(case)
    if case.scheme:
        return quantised.prepare_full(case)
    if case.cache:
        return quantised.prepare_cache(case)
    return packed.prepare(case) if case.lengths else dense.prepare(case)
