# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Scales and offsets of quantised calls, in every shape that the operator takes them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.testing.elements import ELEMENTS, SPREADS
from acl_attn.testing.layouts import query_axes, to_tensor
from acl_attn.testing.pages import Paging, fill_cache
from acl_attn.testing.poison import poisoned

if TYPE_CHECKING:
    from acl_attn.testing.build import Place
    from acl_attn.testing.calls import Call

Array = NDArray[Any]
Arguments = dict[str, Any]

E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


def kv_scale_arguments(call: Call, place: Place, generator: np.random.Generator) -> Arguments:
    """Scales, and offsets if wanted, of a quantised cache.

    Parameters
    ----------
    call : Call
        The call.
    place : Place
        Where its tokens are.
    generator : numpy.random.Generator
        Where numbers come from.

    Returns
    -------
    dict
        key_antiquant_scale, value_antiquant_scale, the modes, and the offsets.
    """
    made: Arguments = {"key_antiquant_mode": call.modes[0], "value_antiquant_mode": call.modes[1]}
    form = int(generator.integers(0, 100))
    for name, mode, channels in (("key", call.modes[0], call.dim), ("value", call.modes[1], call.used_dim_v)):

        def random_scales(shape: tuple[int, ...]) -> Array:
            return generator.uniform(0.7, 1.4, shape) / SPREADS.get(call.kv_format, 1.0)

        def random_offsets(shape: tuple[int, ...]) -> Array:
            return np.rint(generator.uniform(-0.2, 0.2, shape) * SPREADS.get(call.kv_format, 1.0) * 8) / 8

        made[f"{name}_antiquant_scale"] = _shaped(call, place, mode, channels, form, random_scales)
        if call.offsets:
            made[f"{name}_antiquant_offset"] = _shaped(call, place, mode, channels, form, random_offsets)
    return made


def _shaped(call: Call, place: Place, mode: int, channels: int, form: int, draw: Any) -> Array:
    heads, batch = call.kv_heads, call.batch
    dtype = ELEMENTS[call.dtype]
    if mode == 0:
        if call.per_tensor:
            return _of(draw((1,)), dtype)
        shapes: list[tuple[int, ...]] = [
            (heads, channels),
            (1, heads, 1, channels),
            (1, 1, heads, channels),
            (1, heads, channels),
            (heads, 1, channels),
            (1, heads * channels),
            (heads * channels,),
        ]
        if call.modes == (0, 1):
            shapes.pop(2)
        return _of(draw(shapes[form % len(shapes)]), dtype)
    if mode == 2:
        return _of(draw((heads,)), dtype)
    if mode in (4, 5):
        tokens = [_of(draw((length, heads if mode == 5 else 1, 1)), np.float32) for length in call.kv_lengths]
        assert place.table is not None  # noqa: S101 - modes 4 and 5 are drawn for paged caches only
        cache = fill_cache(tuple(tokens), place.table, place.blocks, Paging("BnNBsD", call.block_size))
        cache = cache[..., 0]
        return np.ascontiguousarray(cache if mode == 5 else cache[:, 0])
    # Entries that belong to no token are NaN.
    if mode == 6:
        out = poisoned((1, batch, heads, call.columns, channels // 32), E8M0)
        for sequence, (start, end) in enumerate(_spans(call)):
            shape = (heads, end - start, channels // 32)
            out[0, sequence, :, start:end] = np.exp2(np.rint(np.log2(draw(shape)))).astype(E8M0)
        return out
    out = poisoned((batch, *((heads,) if mode == 3 else ()), call.columns), np.float32)
    for sequence, (start, end) in enumerate(_spans(call)):
        out[sequence, ..., start:end] = draw(out[sequence, ..., start:end].shape)
    return out[None] if mode == 1 and form % 2 else out


def _spans(call: Call) -> list[tuple[int, int]]:
    """Where each sequence's scales lie, those of a shared prefix included."""
    if call.kv_padding is not None:
        end = call.kv_axis - call.kv_padding
        return [(end - length, end) for length in call.kv_lengths]
    return [(0, call.prefix + length) for length in call.kv_lengths]


def _of(numbers: Array, dtype: Any) -> Array:
    return np.asarray(numbers).astype(dtype)


def post_quant_arguments(call: Call, generator: np.random.Generator) -> Arguments:
    """Scale, and offset if wanted, of a quantised output.

    Parameters
    ----------
    call : Call
        The call.
    generator : numpy.random.Generator
        Where numbers come from.

    Returns
    -------
    dict
        quant_scale2, quant_offset2.
    """
    shape: tuple[int, ...] = (1,)
    if call.out_per_channel:
        shape = (call.heads, call.used_dim_v)
        if not call.is_packed and call.layout in ("BSH", "BSND", "BNSD", "BNSD_BSND"):
            flat = call.heads * call.used_dim_v
            shape = [shape, (flat,), (1, call.heads, 1, call.used_dim_v)][int(generator.integers(0, 3))]
    dtype = np.float32 if call.dtype == "float16" or generator.random() < 0.5 else ml_dtypes.bfloat16
    steps = {"int8": 60.0, "float8_e4m3fn": 4.0, "hifloat8": 4.0}[call.out_format]
    made: Arguments = {"quant_scale2": (generator.uniform(0.5, 1.5, shape) * steps).astype(dtype)}
    if call.out_offset:
        made["quant_offset2"] = (generator.uniform(-0.2, 0.2, shape) * steps).astype(dtype)
    return made


def full_quant_arguments(call: Call, place: Place, generator: np.random.Generator) -> Arguments:
    """Scales and modes of a quantised query.

    Parameters
    ----------
    call : Call
        The call.
    place : Place
        Where its tokens are.
    generator : numpy.random.Generator
        Where numbers come from.

    Returns
    -------
    dict
        The scheme's tensors and modes.
    """
    made = {"per_tensor": _per_tensor, "mla": _mla, "gqa_fp8": _gqa_fp8, "mxfp8": _mxfp8}[call.scheme](
        call, place, generator
    )
    if call.p_scale is not None and call.scheme != "per_tensor":
        made["quant_scale1"] = np.array([call.p_scale], np.float32)
    return made


def _per_tensor(_call: Call, _place: Place, generator: np.random.Generator) -> Arguments:
    spread = SPREADS["int8"]
    scores = np.array([1.0 / spread**2], np.float32)
    out = np.array([1.0 / (spread * 127)], np.float32)

    def word(scale: Array) -> Array:
        # The upper half of a word has flags that are none of the scale's business.
        words: Array = scale.view(np.uint32).astype(np.uint64) | np.uint64(0x0000_4000_0000_0000)
        return words

    is_word = generator.random() < 0.5
    return {
        "deq_scale1": word(scores) if is_word else scores,
        "quant_scale1": np.array([127.0], np.float32),
        "deq_scale2": word(out) if is_word else out,
    }


def _mla(call: Call, _: Place, generator: np.random.Generator) -> Arguments:
    spread = SPREADS.get(call.q_format, 1.0)
    axes = {"BSH": "BSND"}.get(query_axes(call.layout), query_axes(call.layout))
    scales = [
        (generator.uniform(0.5, 1.5, (length, call.heads, 1)) / spread).astype(np.float32) for length in call.q_lengths
    ]
    of_key = np.array([generator.uniform(0.8, 1.2) / spread], np.float32)
    return {
        "dequant_scale_query": to_tensor(scales, axes, room=call.q_axis)[..., 0],
        "key_antiquant_scale": of_key,
        "value_antiquant_scale": of_key.copy(),
        "query_quant_mode": 3,
    }


def _gqa_fp8(call: Call, place: Place, generator: np.random.Generator) -> Arguments:
    def scales(length: int, heads: int) -> Array:
        return generator.uniform(0.5, 1.5, (length, heads, 1)).astype(np.float32)

    of_query = to_tensor([scales(length, call.heads) for length in call.q_lengths], query_axes(call.layout))
    of_keys = tuple(scales(length, call.kv_heads) for length in call.kv_lengths)
    assert place.table is not None  # noqa: S101 - this scheme is drawn for paged caches only
    cache = fill_cache(of_keys, place.table, place.blocks, Paging("BnNBsD", call.block_size))
    return {
        "dequant_scale_query": of_query[..., 0],
        "key_antiquant_scale": np.ascontiguousarray(cache[..., 0]),
        "value_antiquant_scale": generator.uniform(0.5, 1.5, (call.kv_heads,)).astype(np.float32),
        "query_quant_mode": 3,
        "key_antiquant_mode": 3,
        "value_antiquant_mode": 2,
    }


def _mxfp8(call: Call, place: Place, generator: np.random.Generator) -> Arguments:
    def scales(*shape: int) -> Array:
        return np.exp2(generator.integers(-1, 2, shape).astype(np.float64)).astype(E8M0)

    dim, dim_v, heads = call.dim, call.used_dim_v, call.kv_heads
    tokens = sum(call.q_lengths)
    of_query = scales(tokens, call.heads, dim // 64, 2)
    if generator.random() < 0.5:
        grouped = of_query.reshape(tokens, heads, call.heads // heads, dim // 64, 2)
        of_query = np.ascontiguousarray(grouped.transpose(1, 0, 2, 3, 4))
    if place.table is None:
        of_key = scales(sum(call.kv_lengths), heads, dim // 64, 2)
        of_value = scales(sum(-(-length // 64) for length in call.kv_lengths), heads, dim_v, 2)
        # The second half of a pair that a sequence does not reach belongs to nobody.
        first = 0
        for length in call.kv_lengths:
            pairs = -(-length // 64)
            if 0 < length - (pairs - 1) * 64 <= 32:
                of_value[first + pairs - 1, ..., 1] = poisoned((1,), E8M0)[0]
            first += pairs
    elif call.storage == "BnNBsD":
        of_key = scales(place.blocks, heads, call.block_size, dim // 64, 2)
        of_value = scales(place.blocks, heads, call.block_size // 64, dim_v, 2)
    else:
        of_key = scales(place.blocks, heads, call.block_size // 16, dim // 64, 16, 2)
        of_value = scales(place.blocks, heads, dim_v // 16, call.block_size // 64, 16, 2)
    return {
        "dequant_scale_query": of_query,
        "key_antiquant_scale": of_key,
        "value_antiquant_scale": of_value,
        "query_quant_mode": 6,
        "key_antiquant_mode": 6,
        "value_antiquant_mode": 8,
    }
