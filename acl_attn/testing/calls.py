# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the fused operator as data: what a call is like, from which its arguments follow.

A `Call` prints as what is special about it. Numbers come from its seed, and memory that nobody may read is poisoned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

UNBOUNDED = 2147483647


@dataclass(frozen=True, repr=False)
class Call:
    """One call.

    Attributes
    ----------
    layout : str
        ``input_layout``.
    q_lengths, kv_lengths : tuple of int
        Of the sequences, without a shared prefix.
    heads, kv_heads, dim, dim_v : int
        Sizes; ``dim`` without rope.
    dtype : str
        "float16" or "bfloat16": of a query in floats, and of the output unless that is quantised.
    storage : str
        "dense", "list", or a paged cache: "BnBsH", "BnNBsD" or "NZ".
    q_room, kv_room : int
        Rows beyond the longest sequence on the token axes of batched tensors, and columns beyond what is needed of
        masks and biases.
    block_size, block_gap : int
        Of a paged cache; elements between its blocks.
    rope : int
        Channels of query_rope and key_rope.
    sparse_mode, pre_tokens, next_tokens : int
        As for the operator.
    mask : float or None
        Share of keys that a mask tensor hides; None: no tensor. Modes 0 and 1.
    mask_per_sequence : bool
        Whether the mask has a batch axis, and not one matrix for all.
    bias : str
        "", "tensor", "slope" or "slope_sqrt".
    bias_per_sequence, bias_per_row : bool
        Whether the tensor has these axes in full.
    starts : tuple of int
        q_start_idx and kv_start_idx, for slopes.
    sink : bool
        Whether heads have a sink.
    prefix, prefix_room : int
        Shared tokens, and more of them that do not count.
    q_padding, kv_padding : int or None
        Rows after the last one, if sequences stand at the end of their room.
    kv_format : str
        "" for the query's dtype; int8, int4, int4x8 (in int32), hifloat8, float8_e4m3fn or float4_e2m1fn.
    modes : tuple of int
        key_antiquant_mode and value_antiquant_mode.
    per_tensor : bool
        Mode 0 with one scale for all.
    offsets : bool
        Whether quantised keys and values have offsets.
    scheme : str
        "" or a scheme of quantised queries: per_tensor, mla, gqa_fp8, mxfp8.
    q_format : str
        Format of a quantised query, key and value.
    p_scale : float or None
        quant_scale1 of the FP8 schemes.
    out_format : str
        "" or int8, float8_e4m3fn, hifloat8.
    out_per_channel, out_offset : bool
        About quant_scale2 and quant_offset2.
    scale : float or None
        scale_value.
    inner_precise : int
        As for the operator.
    gives_lengths : bool
        Whether lengths are passed where all sequences are full.
    seed : int
        Decides all numbers.
    """

    layout: str = "TND"
    q_lengths: tuple[int, ...] = (1,)
    kv_lengths: tuple[int, ...] = (1,)
    heads: int = 1
    kv_heads: int = 1
    dim: int = 16
    dim_v: int = 16
    dtype: str = "float16"
    storage: str = "dense"
    q_room: int = 0
    kv_room: int = 0
    block_size: int = 16
    block_gap: int = 0
    rope: int = 0
    sparse_mode: int = 0
    pre_tokens: int = UNBOUNDED
    next_tokens: int = UNBOUNDED
    mask: float | None = None
    mask_per_sequence: bool = True
    bias: str = ""
    bias_per_sequence: bool = True
    bias_per_row: bool = True
    starts: tuple[int, int] = (0, 0)
    sink: bool = False
    prefix: int = 0
    prefix_room: int = 0
    q_padding: int | None = None
    kv_padding: int | None = None
    kv_format: str = ""
    modes: tuple[int, int] = (0, 0)
    per_tensor: bool = False
    offsets: bool = False
    scheme: str = ""
    q_format: str = ""
    p_scale: float | None = None
    out_format: str = ""
    out_per_channel: bool = False
    out_offset: bool = False
    scale: float | None = None
    inner_precise: int = 0
    gives_lengths: bool = True
    seed: int = 0

    def __repr__(self) -> str:
        special = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"Call({', '.join(special)})"

    @property
    def is_packed(self) -> bool:
        """Whether sequences share one token axis."""
        return "T" in self.layout

    @property
    def is_paged(self) -> bool:
        """Whether key and value lie in blocks."""
        return self.storage not in ("dense", "list")

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return len(self.q_lengths)

    @property
    def q_axis(self) -> int:
        """Extent of the query's axis S."""
        return max(self.q_lengths) + self.q_room + (self.q_padding or 0)

    @property
    def kv_axis(self) -> int:
        """Extent of the key's axis S, if it is dense and batched."""
        return max(self.kv_lengths) + self.kv_room + (self.kv_padding or 0)

    @property
    def columns(self) -> int:
        """Columns that masks, biases and scales per token need."""
        if self.is_paged:
            return (-(-max(self.kv_lengths) // self.block_size) + 1) * self.block_size
        if self.is_packed:
            return max(self.kv_lengths) + self.prefix
        return self.kv_axis + self.prefix

    @property
    def value_is_key(self) -> bool:
        """Whether this is decode MLA."""
        return self.rope > 0 and self.dim == 512

    @property
    def used_dim_v(self) -> int:
        """Head dim of the output."""
        return self.dim if self.value_is_key else self.dim_v
