# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Times `acl_attn` beside anchors of the same machine in the same run: ``python3 tests/bench --help``.

The anchors are NumPy's float32 matrix product (how fast this machine multiplies, through a good library) and a read of
as many bytes as key and value have (how fast it reads). Machines are shared and noisy: quote medians and ratios, not
times.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from cases import DTYPES, SUITES, Case

import acl_attn


def median_seconds(call: Callable[[], object], budget: float) -> float:
    """Median duration of ``call`` over at least three runs within about ``budget`` seconds, after one to warm up."""
    call()
    samples: list[float] = []
    deadline = time.perf_counter() + budget
    while len(samples) < 3 or (time.perf_counter() < deadline and len(samples) < 10_000):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


@contextmanager
def prepared(case: Case) -> Iterator[dict[str, Callable[[], object]]]:
    """The ways to make the call: an eager one, and a plan's run."""
    rng = np.random.default_rng(0)
    dtype = DTYPES[case.dtype]

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape, dtype=np.float32).astype(dtype)

    query = normal(case.batch, case.q_len, case.heads, case.head_dim)
    options: dict[str, Any] = {"mask": "causal" if case.causal else None, "out": np.empty_like(query)}
    if case.block_size:
        blocks = -(-case.kv_len // case.block_size)
        pool = (case.batch * blocks, case.kv_heads, case.block_size, case.head_dim)
        key, value = normal(*pool), normal(*pool)
        table = rng.permutation(pool[0]).astype(np.int32).reshape(case.batch, blocks)
        options |= {"block_table": table, "block_size": case.block_size, "kv_lengths": [case.kv_len] * case.batch}
    else:
        shape = (case.batch, case.kv_len, case.kv_heads, case.head_dim)
        key, value = normal(*shape), normal(*shape)
    planned = {name: option for name, option in options.items() if name != "out"}
    with acl_attn.Plan(query, key, value, **planned) as plan:
        yield {
            "attention": lambda: acl_attn.attention(query, key, value, **options),
            "plan.run": lambda: plan.run(query, key, value, out=options["out"]),
        }


def anchors(case: Case, budget: float) -> dict[str, float]:
    """GFLOP/s of a float32 product and GB/s of a read of the case's key and value bytes."""
    a = np.ones((1024, 1024), np.float32)
    data = np.ones(max(int(case.kv_bytes) // 8, 1), np.uint64)
    product = median_seconds(lambda: a @ a, budget)
    read = median_seconds(lambda: np.bitwise_or.reduce(data), budget)
    return {"numpy_gflops": 2 * 1024**3 / product / 1e9, "numpy_read_gbs": data.nbytes / read / 1e9}


def measure(case: Case, threads: int, budget: float) -> dict[str, Any]:
    """One row of the result."""
    acl_attn.set_num_threads(threads)
    row: dict[str, Any] = {"case": case.name, "threads": threads}
    with prepared(case) as calls:
        for name, call in calls.items():
            row[name + "_us"] = median_seconds(call, budget) * 1e6
    seconds = row["plan.run_us"] / 1e6
    row["gflops"] = case.flops / seconds / 1e9
    row["kv_gbs"] = case.kv_bytes / seconds / 1e9
    return row | anchors(case, budget / 4)


def main(argv: list[str]) -> int:
    """Parses the command line, runs the cases, prints a table and optionally JSON."""
    parser = argparse.ArgumentParser(prog="tests/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--suite", nargs="+", choices=sorted(SUITES), default=["call"])
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--cpu", help="force an instruction set, as ACL_ATTN_CPU")
    parser.add_argument("--seconds", type=float, default=1.0, help="time budget of a measurement")
    parser.add_argument("--json", metavar="FILE", help="also write the rows and the environment to this file")
    args = parser.parse_args(argv)
    if args.cpu:
        acl_attn.set_cpu_target(args.cpu)

    rows = []
    print(f"{'case':44s} {'T':>2s} {'run us':>12s} {'eager us':>12s} {'GFLOP/s':>9s} {'KV GB/s':>8s}")
    for case in (case for suite in args.suite for case in SUITES[suite] if args.only in case.name):
        for threads in args.threads:
            row = measure(case, threads, args.seconds)
            rows.append(row)
            print(
                f"{row['case']:44s} {threads:2d} {row['plan.run_us']:12.1f} {row['attention_us']:12.1f} "
                f"{row['gflops']:9.1f} {row['kv_gbs']:8.2f}",
                flush=True,
            )
    if args.json:
        result = {"environment": acl_attn.environment().as_dict(), "rows": rows}
        Path(args.json).write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
