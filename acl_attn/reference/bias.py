# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What is added to the scaled products of query and key: a tensor, or slopes times distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.formats import as_float64

if TYPE_CHECKING:
    from acl_attn.reference.attend import Float64

Array = NDArray[Any]


def tensor_bias(bias: Array, sequence: int, rows: slice, columns: slice) -> Float64:
    """Cut one sequence's bias out of the tensor of type 0.

    Parameters
    ----------
    bias : ndarray
        Shape (1 or batch, heads, 1 or >= rows, >= columns).
    sequence : int
        Which sequence.
    rows, columns : slice
        Which rows and columns of the tensor belong to it.

    Returns
    -------
    ndarray of float64, shape (heads, rows, columns)
        What is added.

    Raises
    ------
    ValueError
        If the tensor is too small.
    """
    if bias.ndim != 4 or bias.shape[3] < columns.stop or (bias.shape[2] != 1 and bias.shape[2] < rows.stop):
        raise ValueError(f"pse_shift: expected 4 axes that hold [{rows.stop}, {columns.stop}], got shape {bias.shape}")
    own = bias[sequence if len(bias) > 1 else 0]
    cut = own[:, :1, columns] if own.shape[1] == 1 else own[:, rows, columns]
    return np.broadcast_to(as_float64(cut), (len(own), rows.stop - rows.start, columns.stop - columns.start))


def slope_bias(slopes: Array, pse_type: int, sq: int, skv: int, shift: int) -> Float64:
    """Calculate the bias of types 2 and 3.

    Parameters
    ----------
    slopes : ndarray of float32, shape (heads,)
        One per head.
    pse_type : int
        2: minus slope times distance; 3: minus slope times the root of the distance.
    sq, skv : int
        Rows and keys of the sequence.
    shift : int
        Position of the first key minus that of the first row.

    Returns
    -------
    ndarray of float64, shape (heads, rows, columns)
        What is added.
    """
    distance = np.abs(np.arange(skv)[None, :] + shift - np.arange(sq)[:, None]).astype(np.float64)
    if pse_type == 3:
        distance = np.sqrt(distance)
    bias: Float64 = -as_float64(slopes)[:, None, None] * distance
    return bias
