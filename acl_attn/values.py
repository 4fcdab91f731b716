# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Plain values as callers pass them: integers, numbers, flags; each refused in its parameter's name."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from .errors import invalid, type_name, wrong_type

__all__ = [
    "are_integers",
    "as_array",
    "flag",
    "instance",
    "integer",
    "integers",
    "new_array",
    "number",
    "positive",
    "sequence",
]

_PLAIN = {int}
_LISTS = (tuple, list)
_NO_LISTS = (str, bytes, bytearray, Mapping)
_NO_NUMBERS = "OSUMmc"  # kinds of dtypes: objects, texts, dates, complex numbers


def integer(value: object, parameter: str) -> int:
    """Read an integer of 64 bits."""
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, (bool, np.bool_)):
        raise wrong_type(parameter, "an int", type_name(value))
    try:
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(parameter, "an int", type_name(value)) from None
    if not -(2**63) <= found < 2**63:
        raise invalid(parameter, "an integer of 64 bits", found)
    return found


def positive(value: object, parameter: str) -> int:
    """Read how many there are of something of which there is one at least."""
    found = integer(value, parameter)
    if found < 1:
        raise invalid(parameter, "at least 1", found)
    return found


def sequence(values: object, parameter: str, expected: str) -> tuple[Any, ...]:
    """Read what has a length and an order: no iterators, which the first reader uses up, no sets, and no mappings."""
    is_list = isinstance(values, _LISTS) or (
        hasattr(values, "__len__") and hasattr(values, "__getitem__") and not isinstance(values, _NO_LISTS)
    )
    if is_list:
        try:
            return tuple(values)  # type: ignore[arg-type]
        except TypeError:  # an array without axes
            pass
    raise wrong_type(parameter, expected, type_name(values))


def integers(values: object, parameter: str, expected: str = "a sequence of int") -> tuple[int, ...]:
    """Read a sequence of integers of 64 bits."""
    found = sequence(values, parameter, expected)
    if are_integers(found):
        return found
    return tuple(integer(value, f"{parameter}[{position}]") for position, value in enumerate(found))


def are_integers(values: tuple[object, ...]) -> TypeGuard[tuple[int, ...]]:
    """Whether all are plain integers of 64 bits, with nothing to read or to refuse: the way of long sequences."""
    plain = cast("tuple[int, ...]", values)
    return set(map(type, values)) <= _PLAIN and (not values or -(2**63) <= min(plain) <= max(plain) < 2**63)


def number(value: object, parameter: str) -> float:
    """Read a real number."""
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise wrong_type(parameter, "a number", type_name(value))
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise invalid(parameter, "a number that a float can hold", "a larger one") from None
    except (TypeError, ValueError):
        raise wrong_type(parameter, "a number", type_name(value)) from None


def as_array(values: object, parameter: str) -> npt.NDArray[Any]:
    """Read an array-like of numbers; nested sequences of different lengths are none."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, BufferError, RuntimeError):
        is_nested = isinstance(values, (list, tuple))
        got = "nested sequences of different lengths" if is_nested else f"{type_name(values)} that NumPy refuses"
        raise wrong_type(parameter, "an array-like", got) from None
    fields = array.dtype.names
    # Carriers of types that NumPy does not have are records of one opaque field.
    if array.dtype.kind in _NO_NUMBERS or (fields and array.dtype[0].kind != "V"):
        got = f"dtype {array.dtype}" if isinstance(values, np.ndarray) else type_name(values)
        raise wrong_type(parameter, "an array-like of numbers", got)
    return array


def new_array(shape: tuple[int, ...], dtype: npt.DTypeLike, parameter: str) -> npt.NDArray[Any]:
    """Make an array, its numbers undefined. `parameter` is whose fault it is if no array can have that shape."""
    try:
        return np.empty(shape, dtype)
    except ValueError:  # not even addresses would do
        raise invalid(parameter, "a shape that an array can have", shape) from None


def flag(value: object, parameter: str) -> bool:
    """Read a truth value: only what is one, so that "no" does not mean yes."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise wrong_type(parameter, "a bool", type_name(value))


def instance(value: object, kind: type[Any], parameter: str) -> Any:
    """Read an object of a class."""
    if isinstance(value, kind):
        return value
    article = "an" if kind.__name__[0] in "AEIOUL" else "a"
    raise wrong_type(parameter, f"{article} {kind.__name__}", type_name(value))
