# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The log-sum-exp of attention scores, as a type that knows its conventions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import invalid, type_name, wrong_type
from .values import instance, number

__all__ = ["LSE", "merge_states"]

# For each output layout: the LSE axes in the order of the output's axes, the last one standing for the head dim.
# Batched LSE is (B, N, S, 1) and packed LSE (T, N, 1), whatever the output's order. BSH is handled as BSND.
_AXES = {
    "BSH": (0, 2, 1, 3),
    "BSND": (0, 2, 1, 3),
    "BNSD": (0, 1, 2, 3),
    "NBSD": (1, 0, 2, 3),
    "TND": (0, 1, 2),
    "NTD": (1, 0, 2),
}


@dataclass(frozen=True, eq=False)
class LSE:
    """Natural logarithm of the sum of exponentials of a row's visible scores, per query head.

    Parameters
    ----------
    array : numpy.ndarray
        Of float32, shape ``(B, N, S, 1)``, or ``(T, N, 1)`` for packed layouts. ``+inf`` marks a row that sees no key
        (and rows beyond a sequence's length), whose output is 0.
    out_layout : str
        Layout of the attention output that it belongs to, such as ``"BSND"``.

    See Also
    --------
    merge_states : Join partial results by their LSE.

    Examples
    --------
    >>> import numpy as np
    >>> foreign = np.full((5, 2, 1), 3.0)  # base 2, (T, N, 1)
    >>> round(float(LSE.from_array(foreign, "TND", base=2).array[0, 0, 0]), 4)
    2.0794
    """

    array: npt.NDArray[Any]
    out_layout: str

    def __post_init__(self) -> None:
        if not isinstance(self.out_layout, str) or self.out_layout not in _AXES:
            raise invalid("out_layout", f"one of {', '.join(_AXES)}", repr(self.out_layout))
        if not isinstance(self.array, np.ndarray):
            raise wrong_type("lse", "a numpy.ndarray", type_name(self.array))
        rank = len(_AXES[self.out_layout])
        if self.array.ndim != rank or self.array.shape[-1] != 1:
            shape = "(B, N, S, 1)" if rank == 4 else "(T, N, 1)"
            raise invalid("lse", f"shape {shape} for output layout {self.out_layout}", self.array.shape)

    @classmethod
    def from_array(
        cls, array: npt.NDArray[Any], out_layout: str, *, base: float = math.e, empty_value: float = -math.inf
    ) -> LSE:
        """Take another library's LSE.

        Parameters
        ----------
        array : numpy.ndarray
            Shape ``(B, N, S, 1)``, or ``(T, N, 1)`` for packed layouts.
        out_layout : str
            Layout of the output that it belongs to.
        base : float
            Base of the logarithm, 2 for some libraries.
        empty_value : float
            What marks a row that sees no key.

        Returns
        -------
        LSE
            A float32 copy with this library's conventions.
        """
        array = instance(array, np.ndarray, "array")
        if not 1 < number(base, "base") < math.inf:
            raise invalid("base", "a number above 1", base)
        natural = np.where(array == empty_value, np.inf, array * math.log(base)).astype(np.float32)
        return cls(natural, out_layout)

    def is_empty(self) -> npt.NDArray[np.bool_]:
        """Say which rows see no key.

        Returns
        -------
        numpy.ndarray
            Booleans in the shape of `array`.
        """
        return np.asarray(np.isposinf(self.array))

    def beside_output(self) -> npt.NDArray[Any]:
        """Order the axes as the output's, so that it broadcasts against it (for BSH: against ``(B, S, N, D)``).

        Returns
        -------
        numpy.ndarray
            A view with a last axis of 1.
        """
        return np.transpose(self.array, _AXES[self.out_layout])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)


def merge_states(
    out_a: npt.NDArray[Any], lse_a: LSE, out_b: npt.NDArray[Any], lse_b: LSE
) -> tuple[npt.NDArray[Any], LSE]:
    """Join attention over two disjoint sets of keys into attention over both.

    Parameters
    ----------
    out_a : numpy.ndarray
        The output over some keys.
    lse_a : LSE
        Its log-sum-exp.
    out_b : numpy.ndarray
        The output of the same queries over other keys, in the same layout.
    lse_b : LSE
        Its log-sum-exp. A row that is empty on one side takes the other side's values.

    Returns
    -------
    out : numpy.ndarray
        The joint output, of `out_a`'s dtype; computed in float32.
    lse : LSE
        The joint log-sum-exp.

    See Also
    --------
    attention : Returns an output and its LSE with ``return_lse=True``.

    Examples
    --------
    >>> import numpy as np, acl_attn
    >>> rng = np.random.default_rng(0)
    >>> q, k, v = (rng.standard_normal((1, n, 2, 16)).astype(np.float16) for n in (4, 12, 12))
    >>> parts = [acl_attn.attention(q, k[:, s], v[:, s], return_lse=True) for s in (slice(0, 7), slice(7, 12))]
    >>> out, lse = acl_attn.merge_states(*parts[0], *parts[1])
    >>> bool(np.allclose(out, acl_attn.attention(q, k, v), atol=2e-3))
    True
    """
    out_a, out_b = instance(out_a, np.ndarray, "out_a"), instance(out_b, np.ndarray, "out_b")
    lse_a, lse_b = instance(lse_a, LSE, "lse_a"), instance(lse_b, LSE, "lse_b")
    if lse_a.out_layout != lse_b.out_layout:
        raise invalid("lse_b", f"output layout {lse_a.out_layout}", lse_b.out_layout)
    if out_a.shape != out_b.shape or lse_a.array.shape != lse_b.array.shape:
        raise invalid("out_b", f"shape {out_a.shape} as out_a", out_b.shape)
    a, b = (np.where(lse.is_empty(), -np.inf, lse.array).astype(np.float32) for lse in (lse_a, lse_b))
    top = np.maximum(a, b)
    empty = np.isneginf(top)
    base = np.where(empty, np.float32(0), top)
    weight_a, weight_b = np.exp(a - base), np.exp(b - base)
    total = np.where(empty, np.float32(1), weight_a + weight_b)
    joint = LSE(np.where(empty, np.float32(np.inf), base + np.log(total)), lse_a.out_layout)

    def share(out: npt.NDArray[Any], weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        beside = LSE(weight / total, lse_a.out_layout).beside_output()
        rows = out.reshape(*beside.shape[:-1], -1) if lse_a.out_layout == "BSH" and out.size else out
        # A side without keys counts for nothing even if a foreign library left NaN there.
        return np.asarray(np.where(beside == 0, np.float32(0), rows.astype(np.float32) * beside).reshape(out.shape))

    return (share(out_a, weight_a) + share(out_b, weight_b)).astype(out_a.dtype), joint
