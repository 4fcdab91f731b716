# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What a call costs beside its arithmetic: ``python tests/bench/overhead.py [--json FILE]``.

Medians in microseconds of the smallest calls there are, on one thread, and of importing the package.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

import acl_attn
from acl_attn._lib import lib
from acl_attn.bench.overhead import EAGER_US, IMPORT_MS, PHASE_ONE_US, RUN_US, import_seconds
from acl_attn.handle_set import HandleSet
from acl_attn.ops.attention_call import prepare
from acl_attn.ops.feature_arguments import Features
from acl_attn.prepared import phase_one
from acl_attn.tensor import as_tensor

GOALS = {
    "plan.run": RUN_US,
    "sparse_plan.run": RUN_US,
    "attention": EAGER_US,
    "phase one": PHASE_ONE_US,
    "import": IMPORT_MS * 1e3,
}
_PLAIN = ("layout", "num_heads", "num_kv_heads", "q_lengths", "kv_lengths", "mask", "window", "scale", "block_table",
          "block_size", "inner_precise")  # fmt: skip


def median_us(call: Callable[[], object], budget: float) -> float:
    """Median duration within `budget` seconds, after some calls to warm up."""
    for _ in range(50):
        call()
    samples: list[float] = []
    deadline = time.perf_counter() + budget
    while time.perf_counter() < deadline:
        for _ in range(100):
            start = time.perf_counter()
            call()
            samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def phase_one_call(x: np.ndarray) -> Callable[[], None]:
    """Phase one alone, rules included, and the executor's end."""
    call = prepare(x, x, x, wants_lse=False, features=Features(), **dict.fromkeys(_PLAIN))  # type: ignore[arg-type]
    call.fia.out = as_tensor(np.empty_like(x), "out")
    arguments = call.fia.arguments(HandleSet())
    return lambda: lib.aclDestroyAclOpExecutor(phase_one(call.fia, arguments)[1])


def measure(budget: float = 0.5) -> dict[str, float]:
    """Medians in microseconds by name; those of `GOALS` and some for comparison."""
    acl_attn.set_num_threads(1)
    return dict(_measured(budget)) | {"import": import_seconds() * 1e6}


def _measured(budget: float) -> Iterator[tuple[str, float]]:
    x, long = np.ones((1, 1, 1, 16), np.float16), np.ones((1, 4096, 1, 16), np.float16)
    out = np.empty_like(x)
    yield "nothing", median_us(lambda: None, budget)
    with acl_attn.Plan(x, x, x) as plan:
        yield "plan.run", median_us(lambda: plan.run(x, x, x, out=out), budget)
        yield "plan.run, new output", median_us(lambda: plan.run(x, x, x), budget)
        yield "plan.run, planned arrays", median_us(lambda: plan.run(out=out), budget)
    row = np.ones((1, 1, 1, 512), np.float16)
    row_out = np.empty_like(row)
    with acl_attn.SparsePlan(row, row, sinks=np.zeros(1, np.float32)) as sparse:
        yield "sparse_plan.run", median_us(lambda: sparse.run(row, row, out=row_out), budget)
    yield "attention", median_us(lambda: acl_attn.attention(x, x, x), budget)
    yield (
        "attention, causal with lengths",
        median_us(lambda: acl_attn.attention(x, x, x, mask="causal", kv_lengths=[1]), budget),
    )
    lengths = count()
    yield (
        "attention, other lengths each time",
        median_us(lambda: acl_attn.attention(x, long, long, kv_lengths=[next(lengths) % 64 + 1]), budget),
    )
    yield "phase one", median_us(phase_one_call(x), budget)
    acl_attn.shutdown()


def main() -> None:
    """Print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to put the results too")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    options = parser.parse_args()
    found = measure(options.seconds)
    for name, duration in found.items():
        goal = f"  (goal {GOALS[name]:g})" if name in GOALS else ""
        print(f"{name:36s} {duration:10.2f} us{goal}")
    if options.json is not None:
        results = {"environment": acl_attn.environment().as_dict(), "us": found, "goals": GOALS}
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
