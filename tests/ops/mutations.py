# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Legal calls with one parameter changed: ``python -m tests.ops.mutations --calls 200``.

Each is refused with the id of a rule, or computed as the reference does: nothing crashes, and nothing is ignored. And
what a product's rules accept, the host target computes, or says that it does not yet.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in conftest
os.environ.setdefault("ACL_ATTN_PROFILE", "host")

import numpy as np

import acl_attn
from acl_attn import reference
from acl_attn.dtypes import decode, hifloat8
from acl_attn.testing.build import arguments
from acl_attn.testing.compare import assert_close, assert_within_a_step, tolerance_of
from acl_attn.testing.generate import ReplayedSource, draw_call
from acl_attn.testing.mutate import mutations

from .checks import LSE_OF_HALF_SCORES, reach_of_a_weight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acl_attn.testing.mutate import Mutation

REFUSED, COMPUTED = "refused", "computed"
PRODUCTS = ("ascend950", "ascend910b")


def outcome(changed: dict[str, Any]) -> str:
    """Make a call: say by which rule it is refused, or hold it against the reference and say that it is computed."""
    try:
        out, lse = acl_attn.fused_infer_attention_score(**changed, softmax_lse_flag=True)
    except acl_attn.AclAttnError as problem:
        refusal = problem
    else:
        _compare(changed, out, np.asarray(lse))
        return COMPUTED
    for part in ("rule", "parameter", "expected", "got"):
        assert getattr(refusal, part), f"no {part}: {refusal}"
    return f"{REFUSED} {refusal.rule}"


def _compare(changed: dict[str, Any], out: np.ndarray[Any, Any], lse: np.ndarray[Any, Any]) -> None:
    keys = changed["key"] if isinstance(changed["key"], list) else [changed["key"]]
    if not changed["query"].size or not any(key.size for key in keys):
        # Answered before anything else is checked, by the vendor as well.
        assert not out.view(np.uint8).any()
        assert np.isposinf(lse).all()
        return
    want, want_lse = reference.fused_infer_attention_score(**changed, softmax_lse_flag=True)
    is_quantised = changed["query"].dtype.itemsize == 1
    assert_close(lse, want_lse, name="softmax_lse", tolerance=LSE_OF_HALF_SCORES if is_quantised else None)
    if out.dtype.itemsize == 1:
        noise = tolerance_of(changed["query"].dtype if not is_quantised else np.dtype(np.float16)).to_rms
        assert_within_a_step(out, want, name="attention_out", noise=noise, exact=0.0)
    elif is_quantised:
        noise, reach = tolerance_of(out.dtype).to_rms, reach_of_a_weight(changed)
        with np.errstate(over="ignore"):
            want = np.where(np.isinf(want.astype(out.dtype)), want.astype(out.dtype).astype(np.float64), want)
        assert_within_a_step(out, want, name="attention_out", noise=noise, exact=0.9, reach=reach, spare=out.shape[-1])
    else:
        # The rounding of large float32 scores shows in the weights, in proportion to the scores.
        scores = np.abs(want_lse[np.isfinite(want_lse)]).max(initial=0.0)
        tolerance = tolerance_of(out.dtype).times(max(1.0, scores / 100))
        assert_close(out, want, name="attention_out", tolerance=tolerance)


def products_agree(changed: dict[str, Any]) -> None:
    """Ask about the call under products' rules: a refusal names a rule, and what is accepted runs on the target."""
    for name in PRODUCTS:
        report = acl_attn.check(OPERATOR, profile=name, **changed)
        for problem in report:
            assert problem.rule, f"{name}: no rule: {problem.message}"
        if report and not acl_attn.check(OPERATOR, profile="host", **changed):
            # A product may look away where the host's own rules do not, as A2 does from lengths of one-token queries.
            with _profile(name):
                acl_attn.fused_infer_attention_score(**changed)


@contextmanager
def _profile(name: str) -> Iterator[None]:
    device = acl_attn.Device(0)
    before, device.profile = device.profile, name
    try:
        yield
    finally:
        device.profile = before


OPERATOR = "fused_infer_attention_score"


def legal_calls(count: int, first_seed: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Draw legal calls."""
    for seed in range(first_seed, first_seed + count):
        call = draw_call(ReplayedSource(seed=seed))
        yield seed, {name: _without_poison(value) for name, value in arguments(call).items()}


def _without_poison(value: Any) -> Any:
    """Put numbers and block ids where nothing was to be read: a changed call may rightly read it."""
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [_without_poison(member) for member in value]
    if not isinstance(value, np.ndarray):
        return value
    clean = value.copy() if value.flags.c_contiguous else value
    if value.dtype == np.int32 and value.ndim == 2:
        clean[value < 0] = 0
    elif value.dtype == hifloat8 or value.dtype.kind == "f" or value.dtype.name.startswith(("bfloat16", "float8")):
        numbers = decode(value) if value.dtype == hifloat8 else value.astype(np.float32)
        clean[~np.isfinite(numbers)] = np.zeros(1, value.dtype)[0]
    return clean


def failure(mutation: Mutation) -> tuple[str, str]:
    """What comes of a mutated call, and what goes wrong with it; nothing if it is right."""
    try:
        products_agree(mutation.arguments)
        return outcome(mutation.arguments), ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.ops.mutations")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="how many failures of a kind to print")
    chosen = parser.parse_args()
    write, start = sys.stdout.write, time.monotonic()
    outcomes, kinds = Counter[str](), Counter[str]()
    for seed, given in legal_calls(chosen.calls, chosen.first_seed):
        for mutation in mutations(given):
            found, message = failure(mutation)
            outcomes[found] += 1
            if message:
                kind = "".join(" " if letter.isdigit() else letter for letter in message)[:70]
                kinds[kind] += 1
                if kinds[kind] <= chosen.show:
                    write(f"seed {seed}, {mutation.name}: {message[:600]}\n")
        sys.stdout.flush()
    for found, count in outcomes.most_common():
        write(f"{count:7} {found}\n")
    write(f"{sum(outcomes.values())} mutated calls, {sum(kinds.values())} wrong, {time.monotonic() - start:.0f} s\n")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
