# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the operator's error against float64 by the number of keys: ``python -m tests.ops.numerics``.

Prints a table; ``--keys 262144`` adds what takes too long for a test. Unit-normal inputs.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

KEYS = (1024, 8192, 65536)
FORMATS = ("", "int8", "int4", "hifloat8", "float8_e4m3fn", "float4_e2m1fn")


@dataclass(frozen=True)
class Errors:
    """Of one call: root mean square of the error and largest error over that of the output, and the LSE's relative."""

    rms: float
    worst: float
    lse: float


def make_call(keys: int, rows: int, dtype: str, kv_format: str) -> Call:
    """A call with so many keys, in pages."""
    modes = (6, 6) if kv_format.startswith("float4") else (0, 0)
    call = Call("TND", (rows,), (keys,), 2, 1, 64, 64, dtype, storage="BnNBsD", block_size=128, kv_format=kv_format)
    # INT8 does not go with packed layouts, nor, when there are many rows, with pages.
    if kv_format == "int8":
        call = Call(**{**vars(call), "layout": "BNSD", "storage": "BnNBsD" if rows == 1 else "dense"})
    return Call(**{**vars(call), "modes": modes})


def measure(call: Call) -> Errors:
    """Run a call and compare."""
    given = arguments(call)
    out, lse = acl_attn.fused_infer_attention_score(**given, softmax_lse_flag=True)
    want, want_lse = reference.fused_infer_attention_score(**given, softmax_lse_flag=True)
    error = out.astype(np.float64) - want
    size = np.sqrt(np.mean(want**2))
    return Errors(
        float(np.sqrt(np.mean(error**2)) / size),
        float(np.abs(error).max() / size),
        float(np.abs(lse / want_lse - 1).max()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=KEYS)
    parser.add_argument("--rows", type=int, nargs="+", default=(1, 16))
    chosen = parser.parse_args()
    write = sys.stdout.write
    write(f"{'out':9} {'cache':14} {'rows':>5} {'keys':>7}   {'rms':>9} {'worst':>9} {'lse':>9}\n")
    for dtype in ("float16", "bfloat16"):
        for kv_format in FORMATS:
            for rows in chosen.rows:
                if rows > 1 and (kv_format == "int4" or (kv_format == "int8" and (dtype == "float16" or rows > 16))):
                    continue
                for keys in chosen.keys:
                    got = measure(make_call(keys, rows, dtype, kv_format))
                    name = kv_format or dtype
                    write(f"{dtype:9} {name:14} {rows:5} {keys:7}   {got.rms:9.2e} {got.worst:9.2e} {got.lse:9.2e}\n")


if __name__ == "__main__":
    main()
