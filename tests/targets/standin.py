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

# One call of each kind that has data of its own.
CALLS = """
import ml_dtypes
rng = np.random.default_rng(1)
q, k, v = operands(dim=32)
b16 = [array.astype(ml_dtypes.bfloat16) for array in (q, k, v)]
packed = [rng.standard_normal((24, heads, 32)).astype(np.float16) for heads in (4, 2, 2)]
cache = [rng.standard_normal((8, 16, 2 * 32)).astype(np.float16) for _ in range(2)]
table = rng.permutation(8).astype(np.int32).reshape(2, 4)
pool = np.zeros((8, 2, 16, 2 * 32), np.float16)  # blocks with gaps
pool[:, 0] = cache[0]
calls = {
    "plain": dict(query=q, key=k, value=v),
    "causal": dict(query=q, key=k, value=v, mask="causal", return_lse=True),
    "bfloat16": dict(query=b16[0], key=b16[1], value=b16[2]),
    "mask": dict(query=q, key=k, value=v,
                 mask=acl_attn.Mask.dense(rng.random((48, 48)) < 0.3, true_means="masked")),
    "bias": dict(query=q, key=k, value=v, bias=rng.standard_normal((1, 2, 48, 48)).astype(np.float16)),
    "sink": dict(query=q, key=k, value=v, sink=np.zeros(2, np.float16)),
    "packed": dict(query=packed[0], key=packed[1], value=packed[2], layout="TND", q_lengths=[10, 0, 14],
                   kv_lengths=[10, 0, 14], mask="causal", return_lse=True),
    "paged": dict(query=q[:, :2].repeat(2, 0).copy(), key=cache[0], value=cache[1], block_table=table,
                  kv_lengths=[50, 3], mask="causal"),
    "strided": dict(query=q[:, :2].repeat(2, 0).copy(), key=pool[:, 0], value=cache[1], block_table=table,
                    kv_lengths=[50, 3], mask="causal"),
    "list": dict(query=q.repeat(2, 0), key=[k, k[:, :7].copy()], value=[v, v[:, :7].copy()],
                 q_lengths=[48, 7], kv_lengths=[48, 7]),
}
for dtype in ("int8", acl_attn.dtypes.int4_x2):
    quantized = acl_attn.quantize_kv(k, v, acl_attn.AntiquantMode.PER_CHANNEL, dtype=dtype, layout="BSND")
    calls[str(dtype)] = dict(query=q, key=quantized.key, value=quantized.value, kv_quant=quantized)
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
