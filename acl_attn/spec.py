# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Shape and dtype without memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .dtypes import DType, as_dtype
from .errors import invalid
from .values import integers

__all__ = ["Spec", "known_spec", "read_shape", "read_strides"]

_MOST_AXES = 64  # as many as NumPy's arrays have; operators take fewer


@dataclass(frozen=True)
class Spec:
    """Shape and dtype of an array that comes later, or that need not come.

    Parameters
    ----------
    shape : tuple of int
        Shape.
    dtype : dtype or its name
        Element type.
    strides : tuple of int, optional
        In elements. Dense without it.

    See Also
    --------
    Plan : Takes a `Spec` in place of an array.
    check : Judges a call of which nothing else is known.

    Examples
    --------
    >>> Spec((1, 16, 8, 64), "bfloat16").dtype
    dtype(bfloat16)
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", read_shape(self.shape, "shape"))
        object.__setattr__(self, "dtype", as_dtype(self.dtype))
        object.__setattr__(self, "strides", read_strides(self.strides, self.shape))


def known_spec(shape: tuple[int, ...], dtype: DType) -> Spec:
    """Make a spec of parts that are known to be right."""
    spec = Spec.__new__(Spec)
    fields = spec.__dict__
    fields["shape"], fields["dtype"], fields["strides"] = shape, dtype, None
    return spec


def read_shape(shape: Sequence[int], parameter: str) -> tuple[int, ...]:
    """Read a shape."""
    found = integers(shape, parameter)
    if len(found) > _MOST_AXES:
        raise invalid(parameter, f"at most {_MOST_AXES} axes", f"{len(found)} of them")
    if any(extent < 0 for extent in found):
        raise invalid(parameter, "extents of at least 0", found)
    return found


def read_strides(strides: Sequence[int] | None, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Read strides in elements."""
    found = None if strides is None else integers(strides, "strides")
    if found is not None and len(found) != len(shape):
        raise invalid("strides", f"{len(shape)} strides for shape {shape}", found)
    return found
