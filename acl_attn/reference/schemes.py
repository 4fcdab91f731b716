# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The ways to attend that a call's formats and modes choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.attend import attend
from acl_attn.reference.formats import as_float64, elements
from acl_attn.reference.full_quant import (
    attend_rounded,
    gqa_fp8_scheme,
    group_key_scales,
    group_query_scales,
    group_value_scales,
    mla_scheme,
    mxfp8_scheme,
    query_scales,
)
from acl_attn.reference.operands import KvScale, Store, dequantised, with_prefix
from acl_attn.reference.per_tensor import attend_per_tensor, plain_scale, scale_word
from acl_attn.reference.storage import Contiguous, Paged, Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.reference.attend import Float64
    from acl_attn.reference.layouts import Layout
    from acl_attn.reference.storage import Reader

Array = NDArray[Any]

ABSORBED_DIM = 512
"""Head dim of decode MLA, where the value is the key."""


@dataclass(frozen=True)
class Tensors:
    """What a scheme needs of a call, opened but not read; names as in the operator."""

    query: Contiguous
    key: Store
    value: Store
    query_rope: Contiguous | None
    key_rope: Store | None
    query_format: str
    key_format: str
    layout: Layout
    heads: int
    kv_heads: int
    kv_rows: list[slice]
    scale: float
    key_prefix: Array | None
    value_prefix: Array | None
    prefix_length: Sequence[int] | None
    key_scale: Array | None
    key_offset: Array | None
    value_scale: Array | None
    value_offset: Array | None
    query_scale: Array | None
    deq_scale1: Array | None
    quant_scale1: Array | None
    deq_scale2: Array | None
    modes: tuple[int, int, int]
    sink: Float64 | None
    rounds_dequantised: bool

    @property
    def value_is_key(self) -> bool:
        """Whether the value is the key and its own tensor goes unread."""
        return self.query_rope is not None and self.query.dim == ABSORBED_DIM

    def given(self, name: str) -> Array:
        """Give a tensor that the scheme cannot do without."""
        tensor: Array | None = getattr(self, name)
        if tensor is None:
            raise ValueError(f"{name}: expected a tensor for modes {self.modes}, got None")
        return tensor


class SchemeOfCall(Protocol):
    """How a call attends."""

    dim_v: int
    prefix_length: int

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        """Attend to one sequence: rows of the query, columns of the key without a prefix."""


def choose(tensors: Tensors) -> SchemeOfCall:
    """Choose by formats and modes.

    Parameters
    ----------
    tensors : Tensors
        The call.

    Returns
    -------
    SchemeOfCall
        How it attends.

    Raises
    ------
    ValueError
        If there is no such scheme.
    """
    if tensors.query_format in ("float16", "bfloat16"):
        return _Plain(tensors)
    if tensors.query_format != tensors.key_format:
        raise ValueError(f"key: expected {tensors.query_format} as query is, got {tensors.key_format}")
    if tensors.modes == (6, 6, 8):
        return _Mxfp8(tensors)
    if tensors.modes == (3, 3, 2):
        return _GqaFp8(tensors)
    if tensors.modes == (3, 0, 0) and tensors.value_is_key:
        return _Mla(tensors)
    if tensors.modes == (0, 0, 0) and tensors.query_format == "int8":
        return _PerTensor(tensors)
    raise ValueError(f"query_quant_mode: expected a scheme's modes, got {tensors.modes} for {tensors.query_format}")


class _Plain:
    """Float queries, with keys and values in floats or quantised."""

    def __init__(self, t: Tensors) -> None:
        self.t = t
        is_quantised = t.key_format not in ("float16", "bfloat16")
        names = ("key", "value")
        stores: tuple[Store, Store] = (t.key, t.key if t.value_is_key else t.value)
        prefixes = (t.key_prefix, t.value_prefix)
        scales: tuple[KvScale | None, ...] = (None, None)
        if is_quantised:
            scales = (
                KvScale(t.modes[1], t.given("key_scale"), t.key_offset),
                KvScale(t.modes[2], t.given("value_scale"), t.value_offset),
            )
        rounded = (np.float16 if t.query_format == "float16" else ml_dtypes.bfloat16) if t.rounds_dequantised else None
        readers: list[Reader] = []
        self.prefix_length = 0
        for name, store, prefix, scale in zip(names, stores, prefixes, scales, strict=True):
            shift = 0
            where: dict[str, Any] = {"heads": t.kv_heads, "parameter": f"{name}_antiquant_scale"}
            shared = None
            if prefix is not None and prefix.size:
                shared = Shared(elements(prefix), t.layout.query, t.kv_heads, f"{name}_shared_prefix")
                shift = shared.room if t.prefix_length is None or not len(t.prefix_length) else int(t.prefix_length[0])
            starts = None if isinstance(store, Paged) or not t.layout.is_packed else [own.start for own in t.kv_rows]
            reader = dequantised(store, scale, rounded, starts=starts, shift=shift, **where)
            if shared is not None:
                before = dequantised(shared, scale, rounded, **where)
                reader = with_prefix(reader, before, shared.room, t.prefix_length)
                self.prefix_length = reader.length
            readers.append(reader)
        self.key, self.value = readers
        self.dim_v = self.value.dim

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        t = self.t
        query, key = t.query.read(sequence, rows), self.key.read(sequence, columns)
        if t.query_rope is not None and t.key_rope is not None:
            query = np.concatenate([query, t.query_rope.read(sequence, rows)], axis=2)
            key = np.concatenate([key, t.key_rope.read(sequence, columns)], axis=2)
        value = self.value.read(sequence, columns)
        return attend(query, key, value, scale=t.scale, visible=visible, bias=bias, sink=t.sink)


class _PerTensor:
    """INT8 with one scale for each tensor."""

    prefix_length = 0

    def __init__(self, t: Tensors) -> None:
        self.t = t
        self.dim_v = t.value.dim
        self.scores_scale = scale_word(t.given("deq_scale1"))
        self.weights_scale = float(t.given("quant_scale1").reshape(-1)[0])
        self.out_scale = plain_scale(t.given("deq_scale2"))

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        t = self.t
        operands = t.query.read(sequence, rows), t.key.read(sequence, columns), t.value.read(sequence, columns)
        return attend_per_tensor(
            *operands,
            scale=t.scale,
            visible=visible,
            bias=bias,
            scores_scale=self.scores_scale,
            weights_scale=self.weights_scale,
            out_scale=self.out_scale,
        )


class _Mla:
    """Decode MLA: scales per query token and head, one for the key; the rope part is scaled beforehand."""

    prefix_length = 0

    def __init__(self, t: Tensors) -> None:
        self.t = t
        self.dim_v = t.key.dim
        self.rounding = mla_scheme(t.query_format)
        self.query_scale = query_scales(t.given("query_scale"), t.layout.query, t.heads)
        self.key_scale = float(t.given("key_scale").reshape(-1)[0])
        self.value_scale = float(t.given("value_scale").reshape(-1)[0])

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        t = self.t
        _refuse(bias)
        if t.query_rope is None or t.key_rope is None:
            raise ValueError("query_rope: expected a tensor for MLA, got None")
        key = t.key.read(sequence, columns)
        query = np.concatenate([t.query.read(sequence, rows), t.query_rope.read(sequence, rows)], axis=2)
        place: Any = rows if t.layout.is_packed else (sequence, rows)
        scale = as_float64(self.query_scale[place])[..., None] * (t.scale * self.key_scale)
        return attend_rounded(
            query,
            np.concatenate([key, t.key_rope.read(sequence, columns)], axis=2),
            key * self.value_scale,
            scheme=self.rounding,
            scale=scale,
            visible=visible,
        )


class _GqaFp8:
    """FP8 with scales per token and head for query and key, and per head for the value."""

    prefix_length = 0

    def __init__(self, t: Tensors) -> None:
        self.t = t
        self.dim_v = t.value.dim
        self.rounding = gqa_fp8_scheme(_p_scale(t))
        self.query_scale = query_scales(t.given("query_scale"), t.layout.query, t.heads)
        self.value_scale = as_float64(t.given("value_scale").reshape(t.kv_heads, 1))

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        t = self.t
        _refuse(bias)
        if not isinstance(t.key, Paged):
            raise ValueError("block_table: expected a paged cache for modes (3, 3, 2), got None")  # noqa: TRY004
        of_keys = as_float64(t.key.rows(t.given("key_scale").transpose(0, 2, 1), sequence, columns))
        per_head = np.repeat(of_keys, t.heads // t.kv_heads, axis=1).T
        place: Any = rows if t.layout.is_packed else (sequence, rows)
        scale = as_float64(self.query_scale[place])[..., None] * t.scale * per_head[None]
        return attend_rounded(
            t.query.read(sequence, rows),
            t.key.read(sequence, columns),
            t.value.read(sequence, columns) * self.value_scale,
            scheme=self.rounding,
            scale=scale,
            visible=visible,
        )


class _Mxfp8:
    """FP8 with scales per 32 channels of query and key, and per 32 tokens of the value."""

    prefix_length = 0

    def __init__(self, t: Tensors) -> None:
        self.t = t
        self.dim_v = t.value.dim
        self.rounding = mxfp8_scheme(_p_scale(t))
        self.query_scale = group_query_scales(t.given("query_scale"))
        self.key_scale = group_key_scales(t.given("key_scale"), t.key)
        lengths = [own.stop - own.start for own in t.kv_rows]
        self.value_scale = group_value_scales(t.given("value_scale"), t.value, lengths)

    def attend(
        self, sequence: int, rows: slice, columns: slice, visible: NDArray[np.bool_], bias: Float64 | None
    ) -> tuple[Float64, Float64]:
        t = self.t
        _refuse(bias)
        query = t.query.read(sequence, rows) * np.repeat(as_float64(self.query_scale[rows]), 32, axis=2)
        key = t.key.read(sequence, columns) * np.repeat(self.key_scale(sequence, columns), 32, axis=2)
        value = t.value.read(sequence, columns) * self.value_scale(sequence, columns)
        if t.query_rope is not None and t.key_rope is not None:
            query = np.concatenate([query, t.query_rope.read(sequence, rows)], axis=2)
            key = np.concatenate([key, t.key_rope.read(sequence, columns)], axis=2)
        return attend_rounded(
            query, key, value, scheme=self.rounding, scale=np.full((1, 1, 1), t.scale), visible=visible
        )


def _p_scale(t: Tensors) -> float:
    """Give the largest weight; 1 if the call does not say."""
    return 1.0 if t.quant_scale1 is None or not t.quant_scale1.size else float(t.quant_scale1.reshape(-1)[0])


def _refuse(bias: Float64 | None) -> None:
    if bias is not None:
        raise ValueError("pse_shift: expected None for a quantised query, got a tensor")
