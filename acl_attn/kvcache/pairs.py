# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Quantised key and value together, with the keywords that the operator takes them under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import invalid
from ..lengths import LengthsLike
from ..values import flag
from .antiquant import dequantize, quantize
from .modes import AntiquantMode, as_mode

__all__ = ["QuantizedKV", "dequantize_kv", "quantize_kv"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class QuantizedKV:
    """A quantised key and value, and how to read them.

    Parameters
    ----------
    key, value : ndarray
        Codes, in the layout of the numbers that they stand for.
    key_scale, value_scale : ndarray
        Scales.
    key_offset, value_offset : ndarray or None
        Offsets, both or none.
    key_mode, value_mode : AntiquantMode
        Which elements share a scale.
    layout : str
        Layout of key and value.
    num_heads : int or None
        Key-value heads, where the layout fuses them with channels.
    lengths : int, sequence of int, Lengths or None
        Tokens of each sequence, if they were given.

    See Also
    --------
    quantize_kv : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> cache = quantize_kv(np.ones((1, 1, 2, 32)), np.ones((1, 1, 2, 32)), AntiquantMode.PER_TOKEN)
    >>> cache.fia_arguments()["value_antiquant_scale"].shape
    (1, 2)
    """

    key: Array
    value: Array
    key_scale: Array
    value_scale: Array
    key_offset: Array | None
    value_offset: Array | None
    key_mode: AntiquantMode
    value_mode: AntiquantMode
    layout: str
    num_heads: int | None
    lengths: LengthsLike | None

    def fia_arguments(self) -> dict[str, Any]:
        """Give the keyword arguments of `fused_infer_attention_score` that key and value determine.

        Returns
        -------
        dict
            Key, value, scales, offsets and modes.
        """
        return {
            "key": self.key,
            "value": self.value,
            "key_antiquant_scale": self.key_scale,
            "value_antiquant_scale": self.value_scale,
            "key_antiquant_offset": self.key_offset,
            "value_antiquant_offset": self.value_offset,
            "key_antiquant_mode": int(self.key_mode),
            "value_antiquant_mode": int(self.value_mode),
        }


def quantize_kv(
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    mode: int | tuple[int, int],
    dtype: npt.DTypeLike = np.int8,
    *,
    layout: str = "BNSD",
    num_heads: int | None = None,
    lengths: LengthsLike | None = None,
    query_dtype: npt.DTypeLike | None = None,
    per_tensor: bool = False,
    asymmetric: bool = False,
    scale_tokens: int | None = None,
) -> QuantizedKV:
    """Quantise key and value.

    Parameters
    ----------
    key, value : array_like
        The numbers, finite, in the same layout.
    mode : AntiquantMode, int or pair of them
        Which elements share a scale. The pair (0, 1), key by channel and value by token, is the only unequal one that
        operators take.
    dtype : dtype or its name
        Type of the stored elements: int8, int4_x2, hifloat8, float8_e4m3fn or float4_e2m1fn_x2, as far as the mode has
        it.
    layout : {"BSH", "BSND", "BNSD", "TND", "BnBsH", "BnNBsD", "NZ"}
        Layout of key and value. The last three are caches of blocks: (blocks, block_size, num_heads * head_dim),
        (blocks, num_heads, block_size, head_dim) and (blocks, num_heads, chunks, block_size, width).
    num_heads : int, optional
        Key-value heads; needed where the layout fuses heads and channels.
    lengths : int, sequence of int or Lengths, optional
        Tokens of each sequence. Required for TND. Tokens beyond a length are not looked at, and stored as 0.
    query_dtype : dtype or its name, optional
        Dtype of scales in modes 0 and 2, float16 or bfloat16. That of the numbers by default. In modes (0, 1) both
        scales are float32, which the default rules want; the newest software wants key's in the query's dtype.
    per_tensor : bool
        In mode 0: one scale for everything.
    asymmetric : bool
        Use an offset; integers only.
    scale_tokens : int, optional
        Room for that many tokens in scales that have a token axis, such as the columns of a block table times the block
        size. What is added is 1.

    Returns
    -------
    QuantizedKV
        Codes, scales and offsets.

    See Also
    --------
    dequantize_kv : The way back.
    AntiquantMode : Which modes there are.

    Examples
    --------
    >>> import numpy as np
    >>> key = np.linspace(-2, 2, 512, dtype=np.float16).reshape(1, 2, 4, 64)
    >>> cache = quantize_kv(key, key, (AntiquantMode.PER_CHANNEL, AntiquantMode.PER_TOKEN))
    >>> cache.key.dtype, cache.key_scale.shape, cache.value_scale.shape
    (dtype('int8'), (2, 64), (1, 4))
    >>> bool(abs(dequantize_kv(cache)[0] - key).max() < 0.01)
    True
    """
    both = mode if isinstance(mode, tuple) else (mode, mode)
    if len(both) != 2:
        raise invalid("mode", "a mode, or one for key and one for value", mode)
    key_mode, value_mode = as_mode(both[0], "mode[0]"), as_mode(both[1], "mode[1]")
    if key_mode != value_mode and (key_mode, value_mode) != (AntiquantMode.PER_CHANNEL, AntiquantMode.PER_TOKEN):
        raise invalid("mode", "equal modes, or (0, 1)", (key_mode.value, value_mode.value))
    if key_mode != value_mode:
        if flag(per_tensor, "per_tensor"):
            raise invalid("per_tensor", "False for modes (0, 1)", per_tensor)
        query_dtype = np.float32
    made = [
        quantize(
            array,
            each,
            dtype,
            layout=layout,
            num_heads=num_heads,
            lengths=lengths,
            query_dtype=query_dtype,
            per_tensor=per_tensor,
            asymmetric=asymmetric,
            scale_tokens=scale_tokens,
        )
        for array, each in ((key, key_mode), (value, value_mode))
    ]
    return QuantizedKV(
        *(made[0].values, made[1].values, made[0].scale, made[1].scale, made[0].offset, made[1].offset),
        *(key_mode, value_mode, layout, num_heads, lengths),
    )


def dequantize_kv(
    cache: QuantizedKV, *, rounded_to: npt.DTypeLike | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Give the numbers that a quantised key and value stand for.

    Parameters
    ----------
    cache : QuantizedKV
        What `quantize_kv` gave.
    rounded_to : dtype or its name, optional
        Round each step to it, as a device with queries of that dtype does: float16 or bfloat16.

    Returns
    -------
    key : ndarray of float32
        What the key stands for.
    value : ndarray of float32
        What the value stands for.

    See Also
    --------
    quantize_kv : The way there.

    Examples
    --------
    >>> import numpy as np
    >>> key = np.full((1, 1, 2, 32), 127.0, np.float16)
    >>> dequantize_kv(quantize_kv(key, 2 * key, AntiquantMode.PER_TOKEN))[1][0, 0, 0, :3].tolist()
    [254.0, 254.0, 254.0]
    """
    how: dict[str, Any] = {
        "layout": cache.layout,
        "num_heads": cache.num_heads,
        "lengths": cache.lengths,
        "rounded_to": rounded_to,
    }
    return (
        dequantize(cache.key, cache.key_scale, cache.key_offset, mode=cache.key_mode, **how),
        dequantize(cache.value, cache.value_scale, cache.value_offset, mode=cache.value_mode, **how),
    )
