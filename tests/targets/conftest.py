# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One stand-in for all tests of the targets."""

from __future__ import annotations

import pytest

from .standin import StandIn


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    """Build what looks like installations of CANN."""
    return StandIn(tmp_path_factory.mktemp("standin"))
