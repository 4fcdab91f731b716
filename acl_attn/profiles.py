# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Product profiles and editions of their rules, by name."""

from __future__ import annotations

import os

__all__ = ["PROFILES", "RULES", "profile_names", "profile_of_chip", "wrong_choice"]

# In the order of the library's numbers (a test holds them to that).
PROFILES = ("host", "ascend950", "ascend910b", "ascend910_93")
RULES = ("page", "newest")

_VARIABLES = {"ACL_ATTN_PROFILE": PROFILES, "ACL_ATTN_RULES": RULES}


def profile_of_chip(name: str) -> str:
    """Name the profile of a chip, by the name that the runtime gives it; ``"host"`` for one without rules of its own.

    The chips before Ascend910B1 bear that name without a number.
    """
    if name.startswith("Ascend950"):
        return "ascend950"
    if name.startswith("Ascend910_93"):
        return "ascend910_93"
    return "ascend910b" if name.startswith("Ascend910B") and name != "Ascend910B" else "host"


def profile_names(bits: int) -> tuple[str, ...]:
    """Name the profiles whose bits are set."""
    return tuple(name for number, name in enumerate(PROFILES) if bits >> number & 1)


def wrong_choice() -> str:
    """Say which environment variable names a profile or an edition that there is not; empty if none does.

    The library would go on with its default, and the variable would be ignored in silence.
    """
    for variable, known in _VARIABLES.items():
        found = os.environ.get(variable)
        if found is not None and found not in known:
            return f"{variable}: expected one of {', '.join(known)}, got {found!r}"
    return ""
