# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packing and unpacking rows against a copy on the same machine: ``python tests/bench/packed_rows.py``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import ml_dtypes
import numpy as np

import acl_attn
from acl_attn.kvcache import write_packed
from acl_attn.kvcache.packed_calls import call_unpack
from acl_attn.kvcache.packed_layout import PACKED

ROWS, BLOCK, REPETITIONS = 60_000, 16, 9


def seconds(body: Callable[[], object]) -> float:
    """Least of some wall-clock times."""
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return min(times)


def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy on two threads."""
    half = len(source) // 2
    other = threading.Thread(target=np.copyto, args=(target[half:], source[half:]))
    other.start()
    np.copyto(target[:half], source[:half])
    other.join()


def main() -> None:
    """Print bytes read and written in a second, and their ratio to a copy's."""
    values = np.random.default_rng(0).standard_normal((ROWS, 512), np.float32)
    slots = np.arange(ROWS)
    target = np.zeros_like(values)
    copied = 2 * values.nbytes / seconds(lambda: copy(values, target))
    print(f"copy {copied / 1e9:.1f} GB/s, {acl_attn.get_num_threads()} threads, {acl_attn.get_cpu_target()}")
    for name in ("float8_e4m3fn", "hifloat8"):
        codes = acl_attn.dtypes.as_dtype(name)
        pool = np.zeros((ROWS // BLOCK, BLOCK, PACKED.row_bytes), np.uint8).view(codes)
        for dtype in (np.float32, ml_dtypes.bfloat16, np.float16):
            numbers = values.astype(dtype)
            moved = numbers.nbytes + pool.nbytes
            rates = [
                moved
                / seconds(lambda numbers=numbers, pool=pool: write_packed(pool, numbers, slots, scale_kind="e8m0")),
                moved / seconds(lambda n=numbers, p=pool, c=codes: call_unpack(p.view(np.uint8), n, PACKED, c, None)),
            ]
            pack, unpack = (f"{rate / 1e9:5.1f} GB/s {rate / copied:4.0%}" for rate in rates)
            print(f"{name:13} {numbers.dtype.name:8}  pack {pack}  unpack {unpack}")


if __name__ == "__main__":
    main()
