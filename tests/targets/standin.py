# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that run beside a stand-in for CANN, each in a process of its own: libraries are loaded once a process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import acl_attn

from ..python_program import run_python

SOURCE = Path(__file__).parents[2] / "native" / "tests" / "standin"

PREAMBLE = """
import ctypes, gc, os, sys, threading
from pathlib import Path
import numpy as np
import acl_attn
from acl_attn import _installation
_installation._DEFAULT_ROOTS = ()  # what is installed on this machine is no matter of the tests'

def operands(tokens=48, heads=2, dim=64, dtype=np.float16):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, tokens, heads, dim)).astype(dtype) for _ in range(3)]

def refused(call, kind=acl_attn.AclAttnError):
    try:
        call()
    except kind as refusal:
        return str(refusal)
    raise AssertionError("nothing was refused")

def same(found, expected):
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()

def device_objects():
    "Objects that are alive on the stand-in's device."
    library = ctypes.CDLL(os.environ["STANDIN_HOST"])
    library.aclAttnGetLiveObjects.restype = ctypes.c_int64
    gc.collect()
    acl_attn.shutdown()
    return [library.aclAttnGetLiveObjects(kind) for kind in range(14)]
"""


class StandIn:
    """The trees of `native/tests/standin`, built against the library under test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        configure = ["cmake", "-S", str(SOURCE), "-B", str(folder), "-G", "Ninja"]
        for command in (
            [*configure, f"-DHOST_LIBRARY={acl_attn.get_library()}"],
            ["cmake", "--build", str(folder)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr

    def tree(self, name: str) -> Path:
        """Give the root of what looks like an installation."""
        return self.folder / "trees" / name

    def run(self, program: str, tree: str | None = None, **environment: str) -> str:
        """Run a program, with a tree as the installation; nothing may be left to say on standard error."""
        if tree is not None:
            environment = {"ASCEND_HOME_PATH": str(self.tree(tree)), **environment}
        known = {"OPENBLAS_NUM_THREADS": "1", "STANDIN_HOST": str(self.host_library)}
        return run_python(PREAMBLE + program, **known, **environment)

    @property
    def host_library(self) -> Path:
        """The copy of the host library that computes for the stand-in."""
        return self.folder / "libstandin_host.so"
