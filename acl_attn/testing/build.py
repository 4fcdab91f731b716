# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From a `Call` to the arguments of `acl_attn.fused_infer_attention_score`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.testing.elements import ELEMENTS, carried, empty, normal
from acl_attn.testing.layouts import is_packed, out_axes, query_axes, to_tensor
from acl_attn.testing.pages import Paging, block_table, fill_cache
from acl_attn.testing.poison import poisoned
from acl_attn.testing.scales import full_quant_arguments, kv_scale_arguments, post_quant_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.calls import Call

Array = NDArray[Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the key's and value's tokens go.

    Attributes
    ----------
    call : Call
        The call.
    table : ndarray or None
        The block table of a paged cache.
    blocks : int
        Its physical blocks.
    """

    call: Call
    table: NDArray[np.int32] | None
    blocks: int

    def store(self, sequences: Sequence[Array], name: str, *, gap: int = 0) -> Any:
        """Store tokens of all sequences, each of shape (tokens, heads, channels), as key and value are."""
        call = self.call
        axes = query_axes(call.layout)
        if self.table is not None:
            cache = fill_cache(tuple(sequences), self.table, self.blocks, self.paging(name, gap))
            return carried(cache, name)
        if call.storage == "list":
            return [carried(to_tensor([own], axes), name) for own in sequences]
        return carried(to_tensor(sequences, axes, room=call.kv_axis, padding=call.kv_padding), name)

    def paging(self, name: str, gap: int = 0) -> Paging:
        """How a cache of numbers of a format is laid out."""
        # Quantised caches beside float queries have 16 channels in a chunk, all others 32 bytes.
        chunk = 16 if name == self.call.kv_format else None
        return Paging(self.call.storage, self.call.block_size, self.call.seed, block_gap=gap, chunk=chunk)


def arguments(call: Call) -> Arguments:
    """Build the arguments of a call.

    Parameters
    ----------
    call : Call
        What it is like.

    Returns
    -------
    dict
        Keyword arguments; the same ones for the same call.
    """
    generator = np.random.default_rng(call.seed)
    q_name = call.q_format or call.dtype
    kv_name = call.q_format or call.kv_format or call.dtype

    def draw(lengths: Sequence[int], heads: int, channels: int, name: str) -> list[Array]:
        return [normal(generator, (length, heads, channels), name) for length in lengths]

    query = draw(call.q_lengths, call.heads, call.dim, q_name)
    key = draw(call.kv_lengths, call.kv_heads, call.dim, kv_name)
    value = draw(call.kv_lengths, call.kv_heads, call.used_dim_v, kv_name)
    axes = query_axes(call.layout)
    table, blocks = None, 0
    if call.is_paged:
        table, blocks = block_table(list(call.kv_lengths), Paging(call.storage, call.block_size, call.seed))
    place = Place(call, table, blocks)
    gap = call.block_gap
    made: Arguments = {
        "query": _query_side(call, query, q_name),
        "key": place.store(key, kv_name, gap=gap),
        "value": place.store(value, kv_name, gap=gap),
        "num_heads": call.heads,
        "num_key_value_heads": call.kv_heads,
        "input_layout": call.layout,
        "scale_value": call.scale or float(call.dim + call.rope) ** -0.5,
        "sparse_mode": call.sparse_mode,
        "pre_tokens": call.pre_tokens,
        "next_tokens": call.next_tokens,
        "inner_precise": call.inner_precise,
    }
    made.update(_lengths(call))
    if table is not None:
        made.update(block_table=table, block_size=call.block_size)
    if call.rope:
        query_rope = draw(call.q_lengths, call.heads, call.rope, _rope_format(call))
        key_rope = draw(call.kv_lengths, call.kv_heads, call.rope, _rope_format(call))
        stored = place.store(key_rope, _rope_format(call), gap=gap)
        made["query_rope"] = _query_side(call, query_rope, _rope_format(call))
        made["key_rope"] = np.concatenate(stored) if isinstance(stored, list) else stored
    if call.prefix + call.prefix_room:
        made.update(_prefix(call, axes, kv_name, generator))
    if call.q_padding is not None:
        made["query_padding_size"] = np.array([call.q_padding], np.int64)
    if call.kv_padding is not None:
        made["kv_padding_size"] = np.array([call.kv_padding], np.int64)
    made.update(_mask(call, generator), **_bias(call, generator))
    if call.sink:
        made["learnable_sink"] = normal(generator, (call.heads,), call.dtype)
    if call.kv_format:
        made.update(kv_scale_arguments(call, place, generator))
    if call.scheme:
        made.update(full_quant_arguments(call, place, generator))
    if call.scheme == "mla":
        _scale_rope(made)
    if call.out_format:
        made.update(post_quant_arguments(call, generator))
    if call.out_format or call.scheme:
        made["attention_out"] = empty(_out_shape(call), call.out_format or call.dtype)
    return made


def _query_side(call: Call, sequences: Sequence[Array], name: str) -> Any:
    tensor = to_tensor(sequences, query_axes(call.layout), room=call.q_axis, padding=call.q_padding)
    return carried(tensor, name)


def _rope_format(call: Call) -> str:
    return "bfloat16" if call.scheme else call.dtype


def _lengths(call: Call) -> Arguments:
    packed = is_packed(call.layout)
    q_full = not packed and set(call.q_lengths) == {call.q_axis}
    kv_full = not packed and not call.is_paged and (call.storage == "list" or set(call.kv_lengths) == {call.kv_axis})
    made: Arguments = {}
    if not q_full or call.gives_lengths:
        made["actual_seq_lengths"] = list(accumulate(call.q_lengths)) if packed else list(call.q_lengths)
    if not kv_full or call.gives_lengths:
        cumulative = packed and not call.is_paged
        made["actual_seq_lengths_kv"] = list(accumulate(call.kv_lengths)) if cumulative else list(call.kv_lengths)
    return made


def _prefix(call: Call, axes: str, name: str, generator: np.random.Generator) -> Arguments:
    made: Arguments = {}
    for parameter, channels in (("key", call.dim), ("value", call.used_dim_v)):
        tokens = poisoned((call.prefix + call.prefix_room, call.kv_heads, channels), ELEMENTS[name])
        tokens[: call.prefix] = normal(generator, (call.prefix, call.kv_heads, channels), name)
        made[f"{parameter}_shared_prefix"] = carried(to_tensor([tokens], axes), name)
    if call.prefix_room:
        made["actual_shared_prefix_len"] = [call.prefix]
    return made


def _mask(call: Call, generator: np.random.Generator) -> Arguments:
    if call.sparse_mode in (2, 3, 4):
        return {"atten_mask": _above_the_diagonal()}
    if call.mask is None:
        return {}
    batch = call.batch if call.mask_per_sequence else 1
    shape = (batch, 1, call.q_axis, call.columns)
    return {"atten_mask": generator.random(shape) < call.mask}


@cache
def _above_the_diagonal() -> NDArray[np.bool_]:
    return np.triu(np.ones((2048, 2048), np.bool_), 1)


def _bias(call: Call, generator: np.random.Generator) -> Arguments:
    if not call.bias:
        return {}
    if call.bias != "tensor":
        slopes = (2.0 ** -generator.uniform(0, 6, call.heads)).astype(np.float32)
        pse_type = 2 if call.bias == "slope" else 3
        made: Arguments = {"pse_shift": slopes, "pse_type": pse_type}
        if call.starts != (0, 0):
            made.update(q_start_idx=[call.starts[0]], kv_start_idx=[call.starts[1]])
        return made
    shape = (
        call.batch if call.bias_per_sequence else 1,
        call.heads,
        call.q_axis if call.bias_per_row else 1,
        call.columns,
    )
    return {"pse_shift": normal(generator, shape, "float16" if call.scheme else call.dtype)}


def _scale_rope(made: Arguments) -> None:
    """Divide the query's rope part by the scales that its products will be multiplied by."""
    layout = made["input_layout"]
    scales = made["dequant_scale_query"][..., None] * made["key_antiquant_scale"].reshape(())
    rope = made["query_rope"]
    if query_axes(layout) == "BSH":
        per_head = rope.reshape(*rope.shape[:2], made["num_heads"], -1)
        made["query_rope"] = (per_head / scales).astype(ml_dtypes.bfloat16).reshape(rope.shape)
    else:
        made["query_rope"] = (rope / scales).astype(ml_dtypes.bfloat16)


def _out_shape(call: Call) -> tuple[int, ...]:
    sizes = {
        "B": call.batch,
        "S": call.q_axis,
        "N": call.heads,
        "D": call.used_dim_v,
        "H": call.heads * call.used_dim_v,
        "T": sum(call.q_lengths),
    }
    return tuple(sizes[axis] for axis in out_axes(call.layout))
