# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers and truth values are read as such, and not as whatever Python would make of them, in every function."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import acl_attn

from .test_array_likes import CALLS

# What no parameter of these types takes.
WRONG: dict[str, tuple[Any, ...]] = {
    "int": ("1", 1.0, True, np.float32(1), [1], object(), 2**64, -(2**62)),
    "bool": ("no", 1, 0.0, np.int8(1), [], object()),
    "float": ("1", True, [1.0], object(), 1j),
}


def plain_parameters(name: str) -> list[tuple[str, str]]:
    """List the parameters of a call that are numbers or truth values, with their types."""
    function = CALLS[name][0]
    found = []
    for parameter, described in inspect.signature(function).parameters.items():
        kind = str(described.annotation).removesuffix(" | None")
        if kind in WRONG:
            found.append((parameter, kind))
    return found


@pytest.mark.parametrize(
    ("name", "parameter", "kind"), [(name, *each) for name in CALLS for each in plain_parameters(name)]
)
def test_other_types_are_refused_by_name(name: str, parameter: str, kind: str) -> None:
    function, options, _ = CALLS[name]
    for wrong in WRONG[kind]:
        if name == "Mask" and wrong == 2**64:  # as good as all keys
            continue
        with pytest.raises(acl_attn.AclAttnError, match=rf"^{parameter}.*: expected "):
            function(**{**options, parameter: wrong})
