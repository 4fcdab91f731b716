# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the installed package, control of the engine, and proof that nothing leaks."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# NumPy's threads and the engine's would fight for the same processors. To be said before anything imports NumPy;
# programs that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Most tests compute what no product takes: odd head dims, blocks and numbers of heads. Those about products' rules say
# which product.
os.environ.setdefault("ACL_ATTN_PROFILE", "host")

# `python -m pytest` puts the checkout on the path, where the package's sources lie without what the build adds. The
# tests are for the installed package; only without one does the checkout have to do.
_CHECKOUT = Path(__file__).resolve().parents[1]
_others = [entry for entry in sys.path if Path(entry or ".").resolve() != _CHECKOUT]
_all, sys.path[:] = list(sys.path), _others
if importlib.util.find_spec("acl_attn") is None:
    sys.path[:] = _all

import acl_attn  # noqa: E402 - after the path is right


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--property-cases",
        type=int,
        default=None,
        metavar="N",
        help="run N random calls in tests/ops/test_property.py, other ones each time, instead of a few fixed ones",
    )


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fail a test that leaves objects of the library behind."""
    before = acl_attn.live_objects()
    yield
    gc.collect()
    left = {kind: count - before[kind] for kind, count in acl_attn.live_objects().items() if count != before[kind]}
    assert not left, f"objects left behind: {left}"


def pytest_collection_finish() -> None:
    """Keep what importing has made out of the collections that follow each test."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads, until the test ends."""
    yield acl_attn.set_num_threads
    acl_attn.set_num_threads(0)


def _usable_targets() -> list[str]:
    return [name for name, is_usable in acl_attn.get_cpu_targets().items() if is_usable]


@pytest.fixture(params=_usable_targets())
def cpu_target(request: pytest.FixtureRequest) -> Iterator[str]:
    """Force each instruction set that this machine can run."""
    acl_attn.set_cpu_target(request.param)
    yield request.param
    acl_attn.set_cpu_target(None)
