# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From the parameters of `attention` to a call of the operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import invalid, type_name, wrong_type
from ..layouts import Geometry, Layout, cache_geometry, check_heads, find_layout
from ..lengths import Lengths, LengthsLike, as_lengths, packed_lengths
from ..masks import FiaMask, Mask
from ..spec import Spec, known_spec
from ..tensor import ArrayLike, Tensor, as_tensor
from ..values import integer, number
from .feature_arguments import FEATURE_NAMES, NAMES_WITH, Features, FeatureTensor, Settings
from .fia_call import POSITION, FiaCall, element_shape, members, snake_case_names
from .full_quant import check_full_quant
from .single_token import hides_nothing_from_last, refuse_overlooked

__all__ = ["AttentionCall", "MaskLike", "prepare"]

MaskLike: TypeAlias = Literal["causal", "causal_top_left"] | Mask

_MASK, _TABLE = POSITION["attenMask"], POSITION["blockTable"]
_Q_LENGTHS, _KV_LENGTHS = POSITION["actualSeqLengths"], POSITION["actualSeqLengthsKv"]
_PREFIX_LENGTH = POSITION["actualSharedPrefixLen"]

# What `attention` calls the C parameters that it calls otherwise.
_RENAMED = {
    "actual_seq_lengths": "q_lengths",
    "actual_seq_lengths_kv": "kv_lengths",
    "atten_mask": "mask",
    "sparse_mode": "mask",
    "pre_tokens": "window",
    "next_tokens": "window",
    "input_layout": "layout",
    "num_key_value_heads": "num_kv_heads",
    "scale_value": "scale",
    "attention_out": "out",
    "softmax_lse": "lse_out",
    "softmax_lse_flag": "return_lse",
}
_NAMES = {
    c_name: FEATURE_NAMES.get(c_name.removesuffix("Optional"), _RENAMED.get(name, name))
    for c_name, name in snake_case_names().items()
}
_NAMES_WITH = {
    feature: {c_name: own.get(c_name.removesuffix("Optional"), name) for c_name, name in _NAMES.items()}
    for feature, own in NAMES_WITH.items()
}

_FULL = Mask().to_fia()
_NAMED_MASKS = {"causal": Mask.causal(), "causal_top_left": Mask.causal("top_left")}
_FLOAT32 = np.dtype(np.float32)
_NO_SETTINGS = Settings()
_ABSORBED_DIM = 512  # where it comes with rope, keys are latent vectors, and values the same ones


class AttentionCall:
    """A call, and what the plan needs to know of it beside the operator's parameters."""

    __slots__ = (
        *("extras", "fia", "kv_lengths", "layout", "lse_spec", "mask", "out_spec", "prefix_length", "q_lengths"),
        *("shape", "value_is_key"),
    )

    fia: FiaCall
    extras: dict[FeatureTensor, Tensor]
    layout: Layout
    shape: Geometry  # of the query
    mask: Mask | None
    value_is_key: bool  # no value was given
    prefix_length: int
    q_lengths: Lengths | None
    kv_lengths: Lengths | None
    out_spec: Spec
    lse_spec: Spec | None

    def sequence_lengths(self) -> list[tuple[int, int]]:
        """List the query rows and keys of each sequence, a shared prefix included."""
        batch = self.shape.batch if self.q_lengths is None else self.q_lengths.batch
        rows = (self.shape.tokens,) * batch if self.q_lengths is None else self.q_lengths.per_sequence
        if self.kv_lengths is not None:
            keys = list(self.kv_lengths.per_sequence)
        else:
            heads = self.fia.attributes[5]
            keys = [self.layout.geometry(element_shape(key), heads, "key").tokens for key in self.fia.key]
            keys = keys if len(keys) > 1 else keys * batch
        return [(row, key + self.prefix_length) for row, key in zip(rows, keys, strict=True)]


def prepare(
    query: ArrayLike | Spec,
    key: ArrayLike | Spec | Sequence[ArrayLike | Spec],
    value: ArrayLike | Spec | Sequence[ArrayLike | Spec] | None,
    *,
    layout: str | None,
    num_heads: int | None,
    num_kv_heads: int | None,
    q_lengths: LengthsLike | None,
    kv_lengths: LengthsLike | None,
    mask: MaskLike | None,
    window: tuple[int, int] | None,
    scale: float | None,
    block_table: ArrayLike | None,
    block_size: int | None,
    wants_lse: bool,
    inner_precise: int | None,
    features: Features,
    profile: Callable[[], str],
    describe: Callable[[Any, str], Tensor] = as_tensor,
    describe_table: Callable[[Any, str], Tensor] = as_tensor,
) -> AttentionCall:
    """Turn the arguments of `attention` into a call that lacks only its outputs.

    `profile` names the product whose operator computes. `describe` reads query, key, value and features, and
    `describe_table` the block table, which a plan keeps; a plan's `describe` takes a `Spec` as well, and both do where
    a call is only judged.
    """
    num_heads = None if num_heads is None else integer(num_heads, "num_heads")
    num_kv_heads = None if num_kv_heads is None else integer(num_kv_heads, "num_kv_heads")
    call = AttentionCall()
    query_tensor = describe(query, "query")
    keys = members(key, "key", describe)
    call.value_is_key = value is None
    if value is None and features.rope is None:
        raise invalid("value", "an array, or None with rope where the key is the value too", None)
    values = keys if value is None else members(value, "value", describe)
    call.layout = find_layout(_default_layout(query_tensor) if layout is None else layout, "layout")
    call.shape = shape = call.layout.geometry(query_tensor.shape, num_heads, "query")
    heads = shape.heads if num_heads is None else num_heads
    check_heads(heads, shape, query_tensor.shape)
    optional: dict[int, Tensor] = {}
    if block_table is None:
        if block_size is not None:
            raise invalid("block_size", "None without a block_table", block_size)
        kv_heads = _kv_heads(call.layout, element_shape(keys[0]), num_kv_heads, shape.dim)
        dim = call.layout.geometry(element_shape(values[0]), kv_heads, "value").dim
        block_size = 0
    else:
        optional[_TABLE] = describe_table(block_table, "block_table")
        kv_heads, tokens, _ = cache_geometry(element_shape(keys[0]), num_kv_heads, shape.dim, "key")
        _refuse_token_major(element_shape(keys[0]), heads)
        dim = cache_geometry(element_shape(values[0]), kv_heads, None, "value")[2]
        block_size = tokens if block_size is None else integer(block_size, "block_size")
    kv_heads = kv_heads if num_kv_heads is None else num_kv_heads
    call.q_lengths, call.kv_lengths = _lengths(call.layout, shape, q_lengths, kv_lengths, block_table is not None)
    lengths: dict[int, Sequence[int]] = {}
    is_packed = call.layout.is_packed
    if call.q_lengths is not None:
        lengths[_Q_LENGTHS] = call.q_lengths.cumulative if is_packed else call.q_lengths.per_sequence
    if call.kv_lengths is not None:
        is_cumulative = is_packed and block_table is None
        lengths[_KV_LENGTHS] = call.kv_lengths.cumulative if is_cumulative else call.kv_lengths.per_sequence
    call.mask = _mask(mask, window)
    is_single = shape.tokens == 1 and not is_packed
    said: FiaMask = _FULL
    if call.mask is not None and not (is_single and hides_nothing_from_last(call.mask)):
        said = call.mask.to_fia()
    if said.atten_mask is not None:
        optional[_MASK] = as_tensor(said.atten_mask, "mask")
    call.extras, settings = {}, _NO_SETTINGS
    if features.is_given():
        features.check()
        call.extras, settings = features.describe(describe), features.settings()
        optional.update((place.position, tensor) for place, tensor in call.extras.items())
        lengths.update(settings.lengths)
    if is_single and features.rope is None and dim == shape.dim:
        refuse_overlooked(call.layout, call.mask, said, call.q_lengths, profile)
    check_full_quant(features.full_quant, query_tensor, has_rope=features.rope is not None)
    call.prefix_length = _prefix_length(call, features, settings, kv_heads)
    if inner_precise is None:
        inner_precise = 2 if call.mask is not None and call.mask.hidden is not None and features.sink is None else 0
    else:
        inner_precise = integer(inner_precise, "inner_precise")
    scale = _scale(call, heads) if scale is None else number(scale, "scale")
    attributes: list[Any] = [
        heads, scale, said.pre_tokens, said.next_tokens, call.layout.name.encode(), kv_heads, said.sparse_mode,
        inner_precise, block_size, 0, wants_lse, settings.key_mode, settings.value_mode, settings.query_mode,
        settings.pse_type,
    ]  # fmt: skip
    call.out_spec = known_spec(call.layout.output_shape(shape, dim), settings.out_dtype or query_tensor.dtype)
    call.lse_spec = known_spec(call.layout.lse_shape(shape), _FLOAT32) if wants_lse else None
    names = _NAMES
    if features.alibi is not None:
        names = _NAMES_WITH["alibi"]
    elif features.full_quant is not None:
        names = _NAMES_WITH["full_quant"]
    call.fia = FiaCall(query_tensor, keys, values, optional, lengths, attributes, names)
    return call


def _scale(call: AttentionCall, heads: int) -> float:
    """Give one over the root of the channels that a score sums over."""
    dim = call.shape.dim
    rope = None
    if call.extras:
        rope = next((tensor for place, tensor in call.extras.items() if place.name == "rope.query"), None)
    if rope is not None:
        if call.value_is_key or dim == _ABSORBED_DIM:
            # The model's head dim before its projections were absorbed, such as 128 + 64, which no shape tells.
            expected = "a number where keys are values too: 1/sqrt of the head dim before projections were absorbed"
            raise invalid("scale", expected, None)
        dim += call.layout.geometry(rope.shape, heads, "rope.query").dim
    return 1 / math.sqrt(dim) if dim else 1.0


def _prefix_length(call: AttentionCall, features: Features, settings: Settings, kv_heads: int) -> int:
    if features.prefix is None:
        return 0
    for position, values in settings.lengths:
        if position == _PREFIX_LENGTH:
            return values[0]
    key = next(tensor for place, tensor in call.extras.items() if place.name == "prefix.key")
    return call.layout.geometry(element_shape(key), kv_heads, "prefix.key").tokens


def _default_layout(query: Tensor) -> str:
    rank = len(query.shape)
    if rank == 4:
        return "BSND"
    if rank == 3:
        return "TND"
    raise invalid("query", "shape (B, S, N, D) or (T, N, D), or a layout", f"shape {query.shape}")


def _refuse_token_major(shape: tuple[int, ...], heads: int) -> None:
    """Refuse a cache of (blocks, block_size, N, D), as other engines have it, where its heads betray it."""
    if len(shape) == 4 and min(shape[1:3]) > 0 and heads % shape[1] and heads % shape[2] == 0:
        expected = f"(blocks, N, block_size, D), where N divides the query's {heads} heads"
        fix = f"give one of (blocks, block_size, N, D) as cache.reshape({shape[0]}, {shape[1]}, {shape[2] * shape[3]})"
        raise invalid("key", expected, f"shape {shape}", fix, rule="COM-C-13")


def _kv_heads(layout: Layout, shape: tuple[int, ...], given: int | None, dim: int) -> int:
    if layout.order != "BSH":
        return layout.geometry(shape, None, "key").heads
    if given is not None:
        return given
    if len(shape) != 3 or not dim or shape[2] % dim:
        raise invalid("key", f"a last axis that query's head dim {dim} divides (layout BSH)", f"shape {shape}")
    return shape[2] // dim


def _lengths(
    layout: Layout, shape: Geometry, q: LengthsLike | None, kv: LengthsLike | None, is_paged: bool
) -> tuple[Lengths | None, Lengths | None]:
    if not layout.is_packed:
        batch, derived = shape.batch, f"query's batch in layout {layout.name}"
        q_lengths = None if q is None else as_lengths(q, batch, "q_lengths", derived)
    else:
        q_lengths = packed_lengths(q, shape.tokens, "q_lengths", "query", layout.name)
        batch, derived = q_lengths.batch, "one for each entry of q_lengths"
    if kv is None:
        if is_paged or layout.is_packed:
            reason = "a paged cache" if is_paged else f"layout {layout.name}"
            raise invalid("kv_lengths", f"the number of keys of each sequence for {reason}", None)
        return q_lengths, None
    return q_lengths, as_lengths(kv, batch, "kv_lengths", derived)


def _mask(mask: MaskLike | None, window: tuple[int, int] | None) -> Mask | None:
    if isinstance(mask, Mask):
        found: Mask | None = mask
    elif mask is None:
        found = None
    elif isinstance(mask, str):
        found = _NAMED_MASKS.get(mask)
        if found is None:
            raise invalid("mask", "'causal', 'causal_top_left' or a Mask", repr(mask))
    else:
        fix = "say what true means: Mask.dense(array, true_means='masked') or 'keep'"
        raise wrong_type("mask", "'causal', 'causal_top_left' or a Mask", type_name(mask), fix)
    if window is None:
        return found
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise wrong_type("window", "a tuple (left, right)", repr(window))
    band = Mask.window(*window)
    if found is None or found.is_full:
        return band
    if found.hidden is not None or found.left is not None or found.right != 0 or found.align != "bottom_right":
        raise invalid("window", "None, or mask None or 'causal'", f"{window} with another mask")
    return Mask(band.left, 0)
