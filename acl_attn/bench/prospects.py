# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Leaves out calls of which a smaller one of the same kind has shown that they would only cost time.

Some peers take minutes for a case that the fastest takes a second for; with all of them measured everywhere a run would
take hours.
"""

from __future__ import annotations

from .cases import Case

__all__ = ["HOPELESS", "Prospects"]

HOPELESS = 3.0  # times slower than the fastest contestant
_SHORT = 0.3  # seconds: so short calls are always measured


class Prospects:
    """What contestants' times say about larger calls of the same kind: same types, widths, heads, mask and phase."""

    def __init__(self) -> None:
        self._slow: dict[tuple[object, ...], tuple[Case, float, float]] = {}

    def note(self, case: Case, seconds: dict[str, float]) -> None:
        """Remember the contestants' times of a case."""
        fastest = min(seconds.values(), default=0.0)
        for name, own in seconds.items():
            key = (name, *_kind(case))
            if own > HOPELESS * fastest:
                self._slow[key] = (case, own / case.flops, own / fastest)
            else:
                self._slow.pop(key, None)

    def why_not(self, name: str, case: Case) -> str:
        """Say why a case is not worth a contestant's time; empty if it is."""
        smaller, rate, ratio = self._slow.get((name, *_kind(case)), (case, 0.0, 0.0))
        if smaller.flops > case.flops or rate * case.flops < _SHORT:
            return ""
        return f"would take {rate * case.flops:.2g} s: {ratio:.2g} times slower than the fastest at {smaller.name}"


def _kind(case: Case) -> tuple[object, ...]:
    heads = case.heads // case.kv_heads
    return case.dtype, case.dim, heads, case.causal, case.q_len == 1, case.cache, case.feature, bool(case.block_size)
