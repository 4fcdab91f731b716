# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of results with a float64 reference, in stages, and of results with each other, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.dtypes import decode, elements_per_item, encode, hifloat8

Array = NDArray[Any]


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from the reference.

    Attributes
    ----------
    relative : float
        Of an element, relative to the expected element.
    to_rms : float
        Of an element, relative to the root mean square of the expected elements along the last axis or, if that is
        more, of all; an element passes if its error is within ``relative * abs(expected) + to_rms * rms``. Attention
        averages, so an element near 0 carries the errors of values that are not.
    rms : float
        Of the whole: root mean square of the errors relative to that of the expected elements.
    """

    relative: float
    to_rms: float
    rms: float

    def times(self, factor: float) -> Tolerance:
        """Widen all bounds by a factor.

        Parameters
        ----------
        factor : float
            The factor.

        Returns
        -------
        Tolerance
            The widened one.
        """
        return replace(self, relative=self.relative * factor, to_rms=self.to_rms * factor, rms=self.rms * factor)


# One rounding to the output's dtype costs an element up to 2**-11 (float16) or 2**-8 (bfloat16). In bfloat16 the
# probabilities may have been rounded as well, which is an error relative to the summands and so to the rms. float32
# is that of softmax_lse.
TOLERANCES: dict[str, Tolerance] = {
    "float16": Tolerance(relative=2.0**-10.5, to_rms=1e-4, rms=3.0e-4),
    "bfloat16": Tolerance(relative=2.0**-8, to_rms=8e-3, rms=2.0e-3),
    "float32": Tolerance(relative=2e-6, to_rms=2e-6, rms=2e-6),
}


@dataclass(frozen=True)
class Comparison:
    """What a comparison that passed has measured.

    Attributes
    ----------
    rms : float
        Root mean square of the errors, relative to that of the expected elements.
    worst : float
        Largest error of an element, as a fraction of what the tolerance grants it.
    """

    rms: float
    worst: float


def assert_close(
    actual: Array, expected: Array, *, name: str = "result", tolerance: Tolerance | None = None
) -> Comparison:
    """Hold a result against a reference.

    Stages: shape; positions and kinds of non-finite elements; each element; the whole.

    Parameters
    ----------
    actual : ndarray
        The result.
    expected : ndarray
        The reference, usually float64.
    name : str
        What to call the result in messages.
    tolerance : Tolerance, optional
        Default: that of the result's dtype.

    Returns
    -------
    Comparison
        The figures.

    Raises
    ------
    AssertionError
        If a stage fails; the message names the worst element and both values.
    """
    if actual.shape != expected.shape:
        raise AssertionError(f"{name}: expected shape {expected.shape}, got {actual.shape}")
    allowed = tolerance or tolerance_of(actual.dtype)
    got, want = actual.astype(np.float64), np.asarray(expected).astype(np.float64)
    if got.size == 0:
        return Comparison(0.0, 0.0)
    finite = np.isfinite(want)
    wrong_kind = np.where(finite, ~np.isfinite(got), ~_same_non_finite(got, want))
    if wrong_kind.any():
        where = _first(wrong_kind)
        raise AssertionError(
            f"{name}{list(where)}: expected {want[where]!r}, got {got[where]!r}; "
            f"{int(wrong_kind.sum())} of {got.size} elements are non-finite where the reference is not, or otherwise so"
        )
    got, want = np.where(finite, got, 0.0), np.where(finite, want, 0.0)
    scale = _rms(want[finite]) if finite.any() else 0.0
    error = np.abs(got - want)
    # Below the type's smallest number there is nothing left to be relative to. float32 is that of softmax_lse, where
    # float16's does: logarithms near 0 are differences of larger numbers.
    smallest = 2.0**-133 if actual.dtype == ml_dtypes.bfloat16 else 2.0**-24
    around = np.maximum(scale, np.sqrt(np.mean(np.square(want), axis=-1, keepdims=True)))
    grant = allowed.relative * np.abs(want) + allowed.to_rms * around + smallest
    ratio = error / grant
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    if ratio[worst] > 1.0:
        raise AssertionError(
            f"{name}{[int(i) for i in worst]}: expected {want[worst]!r}, got {got[worst]!r}, "
            f"error {error[worst]:.3g} exceeds {grant[worst]:.3g}; {int((ratio > 1).sum())} of {got.size} elements fail"
        )
    relative_rms = _rms(error) * np.sqrt(got.size / max(int(finite.sum()), 1)) / scale if scale else 0.0
    # The rms of few different numbers scatters around the rms of many; where a few large ones make most of it, rounding
    # alone may exceed the bound.
    bound = allowed.rms * (1.0 + 2.0 / np.sqrt(np.unique(want).size))
    with np.errstate(over="ignore"):
        rounding = np.where(finite, want.astype(actual.dtype).astype(np.float64) - want, 0.0)
    if scale and np.isfinite(rounding).all():
        bound = max(bound, 1.05 * _rms(rounding) * np.sqrt(got.size / max(int(finite.sum()), 1)) / scale)
    if relative_rms > bound and _rms(error) > smallest:
        raise AssertionError(
            f"{name}: rms of errors / rms of reference is {relative_rms:.3g}, allowed {bound:.3g}; worst element "
            f"{[int(i) for i in worst]}: expected {want[worst]!r}, got {got[worst]!r}"
        )
    return Comparison(float(relative_rms), float(ratio[worst]))


def assert_within_a_step(
    actual: Array,
    expected: Array,
    *,
    name: str = "result",
    noise: float,
    exact: float = 0.0,
    reach: float = 0.0,
    spare: int = 10,
) -> float:
    """Hold a result that has been quantised on the way against a reference that quantises at the same places.

    An error ahead of a rounding may carry a number over to the next step; it must not do more.

    Parameters
    ----------
    actual : ndarray
        The result, in the element type it has.
    expected : ndarray of float64
        The reference: numbers of that type, or not rounded to it.
    name : str
        What to call the result in messages.
    noise : float
        Error allowed ahead of the rounding, relative to the root mean square of the expected elements.
    exact : float
        Share of elements that must be what the reference rounds to.
    reach : float
        How far a step of an earlier quantisation moves an element: that of a weight moves a whole row.
    spare : int
        Elements that may differ in any case.

    Returns
    -------
    float
        The share that is.

    Raises
    ------
    AssertionError
        If an element is further away, or too many are not exact.
    """
    if elements_shape(actual) != expected.shape:
        raise AssertionError(f"{name}: expected shape {expected.shape}, got {elements_shape(actual)}")
    if not expected.size:
        return 1.0
    got = decode(actual).astype(np.float64)
    odd = ~(np.isfinite(got) & np.isfinite(expected))
    if (differs := odd & (got != expected) & ~(np.isnan(got) & np.isnan(expected))).any():
        where = _first(differs)
        raise AssertionError(f"{name}{list(where)}: expected {expected[where]!r}, got {got[where]!r}")
    got, expected = np.where(odd, 0.0, got), np.where(odd, 0.0, expected)
    want, step = _rounded(expected, actual.dtype)
    error = np.abs(got - expected)
    grant = np.maximum(step, _rounded(got, actual.dtype)[1]) * (1 + 1e-6) + noise * _rms(expected) + reach
    ratio = error / np.maximum(grant, 1e-300)
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    if ratio[worst] > 1.0:
        raise AssertionError(
            f"{name}{[int(i) for i in worst]}: expected {expected[worst]!r}, got {got[worst]!r}, a step is "
            f"{step[worst]:.3g}; {int((ratio > 1).sum())} of {got.size} elements are more than a step away"
        )
    differing = int((got != want).sum())
    if differing > max(spare, (1 - exact) * got.size):
        where = _first(got != want)
        raise AssertionError(
            f"{name}: {differing} of {got.size} elements are not exact, first {list(where)}: "
            f"expected {want[where]!r}, got {got[where]!r}"
        )
    return 1 - differing / got.size


def elements_shape(array: Array) -> tuple[int, ...]:
    """Shape of an array as operators see it: packed elements count one by one."""
    return (*array.shape[:-1], array.shape[-1] * elements_per_item(array.dtype)) if array.ndim else ()


def _rounded(numbers: NDArray[np.float64], dtype: np.dtype[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Round to an element type, and tell how far apart its numbers are there."""
    if dtype == np.int8:
        return np.clip(np.rint(numbers), -128, 127), np.ones_like(numbers)
    if dtype == hifloat8:
        exponent = np.abs(np.frexp(numbers)[1] - 1)
        bits = np.select([exponent < 4, exponent < 8, exponent < 16], [3, 2, 1], 0)
        step = np.ldexp(1.0, np.maximum(np.frexp(numbers)[1] - 1 - bits, -22))
        return decode(encode(numbers, dtype)).astype(np.float64), step
    mantissa, least = {"float8_e4m3fn": (3, -6), "float16": (10, -14), "bfloat16": (7, -126)}[dtype.name]
    step = np.ldexp(1.0, np.maximum(np.frexp(numbers)[1] - 1, least) - mantissa)
    return np.rint(numbers / step) * step, step


def assert_same_bits(actual: Array, expected: Array, *, name: str = "result") -> None:
    """Hold a result against another that must agree in every bit.

    Parameters
    ----------
    actual, expected : ndarray
        The results.
    name : str
        What to call the result in messages.

    Raises
    ------
    AssertionError
        If dtype, shape or a bit differs; the message names the first element that does.
    """
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        raise AssertionError(
            f"{name}: expected {expected.dtype} of shape {expected.shape}, got {actual.dtype} of shape {actual.shape}"
        )
    bits = np.dtype(f"u{actual.dtype.itemsize}")
    left, right = np.ascontiguousarray(actual).view(bits), np.ascontiguousarray(expected).view(bits)
    differs = left != right
    if differs.any():
        where = _first(differs)
        raise AssertionError(
            f"{name}{list(where)}: expected {expected[where]!r} (0x{int(right[where]):x}), "
            f"got {actual[where]!r} (0x{int(left[where]):x}); {int(differs.sum())} of {actual.size} elements differ"
        )


def tolerance_of(dtype: np.dtype[Any]) -> Tolerance:
    """Look the tolerance of a dtype up.

    Parameters
    ----------
    dtype : numpy.dtype
        Of the result.

    Returns
    -------
    Tolerance
        Its entry in `TOLERANCES`.

    Raises
    ------
    KeyError
        If the table has none.
    """
    return TOLERANCES["bfloat16" if dtype == ml_dtypes.bfloat16 else dtype.name]


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _same_non_finite(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (np.isnan(left) & np.isnan(right)) | (left == right)
    return same


def _first(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(flags.argmax()), flags.shape))
