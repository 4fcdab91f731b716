# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""How the tests say that a call must be refused, and how."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import acl_attn

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refuses(
    parameter: str, *, got: str = "", fix: str = "", kind: type[Exception] | tuple[type[Exception], ...] = ValueError
) -> Iterator[None]:
    """Expect an error of the library's own whose message says parameter, expectation, what was got, and a fix.

    `got` and `fix` are patterns to be found behind the parameter's name.
    """
    with pytest.raises(acl_attn.AclAttnError) as caught:
        yield
    message = str(caught.value)
    assert isinstance(caught.value, kind), f"{type(caught.value).__name__}: {message}"
    parts = re.match(rf"(?:{parameter})(?:\[-?\d+\])*: (expected .+?, got .+)", message, re.DOTALL)
    assert parts, message
    for pattern in (got, fix):
        assert re.search(pattern, parts[1]), message
