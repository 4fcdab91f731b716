# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The element types of scales: powers of two, and the words that integer matrix products take."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import invalid, wrong_type
from ..values import as_array

__all__ = ["decode_scale_words", "encode_e8m0", "encode_scale_words"]


def encode_e8m0(scales: npt.ArrayLike) -> npt.NDArray[Any]:
    """Round scales down to powers of two.

    Parameters
    ----------
    scales : array_like
        Positive numbers. Beyond 2^-127 to 2^127 they saturate.

    Returns
    -------
    ndarray of ml_dtypes.float8_e8m0fnu
        The largest power of two that is not larger.

    Examples
    --------
    >>> encode_e8m0([1.0, 0.3, 7.9]).astype("float32").tolist()
    [1.0, 0.25, 4.0]
    """
    numbers = as_array(scales, "scales").astype(np.float64)
    if not (numbers > 0).all() or np.isinf(numbers).any():
        raise invalid("scales", "positive finite numbers", "others")
    exponents = np.clip(np.frexp(numbers)[1] - 1, -127, 127)
    codes: npt.NDArray[np.uint8] = (exponents + 127).astype(np.uint8)
    return codes.view(ml_dtypes.float8_e8m0fnu)


def encode_scale_words(scales: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Write scales as UINT64 words, as ``deqScale1`` and ``deqScale2`` take them.

    Parameters
    ----------
    scales : array_like
        The scales.

    Returns
    -------
    ndarray of uint64
        Words whose lower half is the fp32 number. The device drops its last 13 bits.
    """
    return as_array(scales, "scales").astype(np.float32).view(np.uint32).astype(np.uint64)


def decode_scale_words(words: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Give the scales that the device uses.

    Parameters
    ----------
    words : ndarray of uint64 or float32
        What ``deqScale1`` or ``deqScale2`` got.

    Returns
    -------
    ndarray of float32
        The scales, cut to the upper 19 bits of fp32.
    """
    array: npt.NDArray[Any] = as_array(words, "words")
    if array.dtype == np.uint64:
        bits: npt.NDArray[np.uint32] = (array & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    elif array.dtype == np.float32:
        bits = np.ascontiguousarray(array).view(np.uint32)
    else:
        raise wrong_type("words", "dtype uint64 or float32", f"dtype {array.dtype}")
    cut: npt.NDArray[np.uint32] = bits & np.uint32(0xFFFFE000)
    return cut.view(np.float32)
