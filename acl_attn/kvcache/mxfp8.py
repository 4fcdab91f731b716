# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Query, key and value for the MXFP8 scheme: FP8 with a power of two for every 32 elements.

Groups of query and key are 32 channels of a token; groups of the value are 32 tokens of a channel, counted from the
start of each sequence or block. Scales lie in pairs of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..dtypes import encode
from ..errors import invalid
from ..lengths import Lengths, LengthsLike, packed_lengths
from ..values import as_array, flag, positive
from .axes import to_nz
from .modes import GROUP
from .scaling import as_floats, power_of_two_scale

__all__ = ["MxFp8", "group_query_scale", "quantize_mxfp8"]

Array = npt.NDArray[Any]

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_PAIR = 2 * GROUP


@dataclass(frozen=True)
class MxFp8:
    """Operands of the MXFP8 scheme; the names are the operator's keywords."""

    query: Array
    key: Array
    value: Array
    dequant_scale_query: Array
    key_antiquant_scale: Array
    value_antiquant_scale: Array
    query_quant_mode: int = 6
    key_antiquant_mode: int = 6
    value_antiquant_mode: int = 8


def quantize_mxfp8(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    kv_lengths: LengthsLike | None = None,
    nz: bool = False,
) -> MxFp8:
    """Quantise query, key and value to MXFP8.

    Parameters
    ----------
    query : array_like, shape (tokens, num_heads, head_dim)
        Layout TND. head_dim is 64 or 128.
    key, value : array_like
        (tokens, num_kv_heads, head_dim) with `kv_lengths`, or caches of shape (blocks, num_kv_heads, block_size,
        head_dim).
    kv_lengths : int, sequence of int or Lengths, optional
        Keys of each sequence, for packed key and value.
    nz : bool
        Give caches and their scales in the NZ layout.

    Returns
    -------
    MxFp8
        Codes and scales.

    See Also
    --------
    group_query_scale : The query scale's other layout.

    Examples
    --------
    >>> import numpy as np
    >>> kv = np.ones((100, 1, 64))
    >>> made = quantize_mxfp8(np.ones((3, 4, 64)), kv, kv, kv_lengths=[70, 30])
    >>> made.dequant_scale_query.shape, made.key_antiquant_scale.shape, made.value_antiquant_scale.shape
    ((3, 4, 1, 2), (100, 1, 1, 2), (3, 1, 64, 2))
    """
    q, k, v = _finite(query, "query"), _finite(key, "key"), _finite(value, "value")
    nz = flag(nz, "nz")
    rank = 4 if kv_lengths is None else 3
    for array, name, wanted in ((q, "query", 3), (k, "key", rank), (v, "value", rank)):
        if array.ndim != wanted or array.shape[-1] % _PAIR:
            raise invalid(name, f"rank {wanted} and a head dim that {_PAIR} divides", f"shape {array.shape}")
    q_codes, q_scale = _by_channels(q)
    k_codes, k_scale = _by_channels(k)
    if kv_lengths is not None:
        if nz:
            raise invalid("nz", "False for packed key and value", nz)
        lengths = packed_lengths(kv_lengths, k.shape[0], "kv_lengths", "key", "TND")
        if v.shape[0] != k.shape[0]:
            raise invalid("value", f"{k.shape[0]} tokens, as key has", v.shape[0])
        v_codes, v_scale = _packed_by_tokens(v, lengths)
        return MxFp8(q_codes, k_codes, v_codes, q_scale, k_scale, v_scale)
    if k.shape[2] % _PAIR or v.shape[:3] != k.shape[:3]:
        raise invalid("key", f"the blocks of value, of a size that {_PAIR} divides", f"{k.shape} and {v.shape}")
    v_codes, v_scale = _by_tokens(v)
    if nz:
        k_codes, v_codes = to_nz(k_codes, 32), to_nz(v_codes, 32)
        k_scale, v_scale = _nz_key_scale(k_scale), _nz_value_scale(v_scale)
    return MxFp8(q_codes, k_codes, v_codes, q_scale, k_scale, v_scale)


def group_query_scale(scale: Array, num_kv_heads: int) -> Array:
    """Change a query scale to the layout that devices prefer for few rows.

    Parameters
    ----------
    scale : ndarray, shape (tokens, num_heads, head_dim / 64, 2)
        As `quantize_mxfp8` gives it.
    num_kv_heads : int
        Key-value heads.

    Returns
    -------
    ndarray, shape (num_kv_heads, tokens, num_heads / num_kv_heads, head_dim / 64, 2)
        A copy.
    """
    scale = as_array(scale, "scale")
    num_kv_heads = positive(num_kv_heads, "num_kv_heads")
    if scale.ndim != 4 or scale.shape[1] % num_kv_heads:
        raise invalid("scale", f"rank 4 and a number of heads that {num_kv_heads} divides", f"shape {scale.shape}")
    tokens, heads, pairs, two = scale.shape
    grouped = scale.reshape(tokens, num_kv_heads, heads // num_kv_heads, pairs, two)
    return np.ascontiguousarray(grouped.transpose(1, 0, 2, 3, 4))


def _finite(values: npt.ArrayLike, parameter: str) -> Array:
    numbers = as_floats(values, parameter)
    if not np.isfinite(numbers).all():
        raise invalid(parameter, "finite numbers", "infinity or NaN")
    return numbers


def _quantize(groups: Array, axis: int) -> tuple[Array, Array]:
    """Quantise with one scale along `axis`, which the scale keeps with an extent of 1."""
    size = np.max(np.abs(groups), axis=axis, keepdims=True, initial=0.0).astype(np.float64)
    scale = power_of_two_scale(size, _E4M3)
    return encode(groups / scale.astype(groups.dtype), _E4M3), scale


def _by_channels(numbers: Array) -> tuple[Array, Array]:
    codes, scale = _quantize(numbers.reshape(*numbers.shape[:-1], numbers.shape[-1] // GROUP, GROUP), -1)
    pairs = scale.reshape(*numbers.shape[:-1], numbers.shape[-1] // _PAIR, 2)
    return codes.reshape(numbers.shape), pairs


def _by_tokens(numbers: Array) -> tuple[Array, Array]:
    """Quantise (outer, head, token, channel), where 64 divides the tokens."""
    outer, heads, tokens, dim = numbers.shape
    codes, scale = _quantize(numbers.reshape(outer, heads, tokens // _PAIR, 2, GROUP, dim), -2)
    pairs = scale[..., 0, :].transpose(0, 1, 2, 4, 3)  # (outer, head, pair, channel, half)
    return codes.reshape(numbers.shape), np.ascontiguousarray(pairs)


def _packed_by_tokens(numbers: Array, lengths: Lengths) -> tuple[Array, Array]:
    """Quantise (token, head, channel); each sequence begins a pair, and its last pair may have unused entries."""
    codes, scales = [], []
    start = 0
    for length in lengths.per_sequence:
        rows = -(-length // _PAIR) * _PAIR
        own = np.zeros((rows, *numbers.shape[1:]), numbers.dtype)
        own[:length] = numbers[start : start + length]
        own_codes, own_scale = _by_tokens(own.transpose(1, 0, 2)[None])
        codes.append(own_codes[0].transpose(1, 0, 2)[:length])
        scales.append(own_scale[0].transpose(1, 0, 2, 3))
        start += length
    if not codes:
        raise invalid("kv_lengths", "at least one sequence", lengths.per_sequence)
    return np.ascontiguousarray(np.concatenate(codes)), np.ascontiguousarray(np.concatenate(scales))


def _nz_key_scale(scale: Array) -> Array:
    blocks, heads, tokens, pairs, two = scale.shape
    rows = scale.reshape(blocks, heads, tokens // 16, 16, pairs, two)
    return np.ascontiguousarray(rows.transpose(0, 1, 2, 4, 3, 5))


def _nz_value_scale(scale: Array) -> Array:
    blocks, heads, pairs, dim, two = scale.shape
    chunks = scale.reshape(blocks, heads, pairs, dim // 16, 16, two)
    return np.ascontiguousarray(chunks.transpose(0, 1, 3, 2, 4, 5))
