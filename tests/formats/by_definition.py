# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""HIFLOAT8 read bit by bit, and rounding by looking at the list of all numbers."""

from __future__ import annotations

import numpy as np


def hifloat8_number(code: int) -> float:
    """Read a code from its left end: sign, prefix, exponent, mantissa."""
    bits = f"{code:08b}"
    if bits == "10000000":
        return float("nan")
    sign = -1.0 if bits[0] == "1" else 1.0
    if bits[1:] == "1101111":
        return sign * float("inf")
    width, prefix = next(
        (width, prefix)
        for prefix, width in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0), ("0000", -1))
        if bits[1:].startswith(prefix)
    )
    rest = bits[1 + len(prefix) :]
    if width < 0:
        return sign * 2.0 ** (int(rest, 2) - 23) if int(rest, 2) else 0.0
    exponent, mantissa = rest[:width], rest[width:]
    value = 0
    if exponent:
        # Its first bit is the sign; a one in that place leads the magnitude.
        value = int("1" + exponent[1:], 2) * (-1 if exponent[0] == "1" else 1)
    return sign * (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0**value


def all_hifloat8() -> np.ndarray:
    return np.array([hifloat8_number(code) for code in range(256)])


def finite_hifloat8() -> np.ndarray:
    numbers = all_hifloat8()
    return np.unique(numbers[np.isfinite(numbers)])


def nearest(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Give the nearest of a sorted list of numbers, of two the one away from zero; saturates."""
    inside = np.clip(values.astype(np.float64), numbers[0], numbers[-1])
    at = np.clip(np.searchsorted(numbers, inside), 1, len(numbers) - 1)
    below, above = numbers[at - 1], numbers[at]
    to_below, to_above = inside - below, above - inside
    takes_above = (to_above < to_below) | ((to_above == to_below) & (inside > 0))
    return np.where(takes_above, above, below)
