# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Draws legal calls over the whole space of the operator's parameters.

The functions draw from any `Source`: `ReplayedSource` for a loop over seeds, or one that asks hypothesis. Choices are
listed with the simplest first, which is where hypothesis shrinks to.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from acl_attn.testing.calls import UNBOUNDED, Call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Choice = TypeVar("Choice")
Drawn = TypeVar("Drawn")

BATCHED = ("BSND", "BNSD", "BSH", "BNSD_BSND")
GQA_LAYOUTS = ("TND", *BATCHED, "NTD", "BSH_BNSD", "BSND_BNSD", "NTD_TND")
MLA_LAYOUTS = ("TND", "BSND", "BNSD", "BSH", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND_NTD")
CACHES = ("BnBsH", "BnNBsD", "NZ")


class Source(Protocol):
    """Where choices come from."""

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""

    def choose(self, options: Sequence[Choice]) -> Choice:
        """Draw one of several options."""


class ReplayedSource:
    """Choices from a list, and after its end the simplest ones; keeps the list of what it gave.

    Parameters
    ----------
    choices : sequence of int
        By how much each choice is beyond its simplest.
    seed : int, optional
        Where choices after the end of the list come from instead.

    Attributes
    ----------
    given : list of int
        The choices that have been made.
    """

    def __init__(self, choices: Sequence[int] = (), seed: int | None = None) -> None:
        self._ahead = list(choices)[::-1]
        self._random = None if seed is None else random.Random(seed)  # noqa: S311 - no secrets
        self.given: list[int] = []

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        if self._ahead:
            beyond = min(self._ahead.pop(), high - low)
        else:
            beyond = self._random.randint(0, high - low) if self._random else 0
        self.given.append(beyond)
        return low + beyond

    def choose(self, options: Sequence[Choice]) -> Choice:
        """Draw one of several options."""
        return options[self.integer(0, len(options) - 1)]


def simplify(
    choices: Sequence[int], fails: Callable[[Drawn], bool], draw: Callable[[Source], Drawn] | None = None
) -> Drawn:
    """Make a call that fails simpler while it goes on failing.

    Parameters
    ----------
    choices : sequence of int
        The choices that led to the call.
    fails : callable
        Tells whether a call fails.
    draw : callable, optional
        Draws a call from a source; `draw_call` without it.

    Returns
    -------
    object
        The simplest one found.
    """
    draw_again: Callable[[Source], Any] = draw_call if draw is None else draw
    best = list(choices)
    call: Drawn = draw_again(ReplayedSource(best))
    position, changed = 0, False
    while position < len(best):
        for smaller in (0, best[position] // 2, best[position] - 1):
            if 0 <= smaller < best[position]:
                source = ReplayedSource([*best[:position], smaller, *best[position + 1 :]])
                candidate = draw_again(source)
                if fails(candidate):
                    best, call, changed = source.given, candidate, True
                    break
        else:
            position += 1
        if position >= len(best) and changed:
            position, changed = 0, False
    return call


def draw_call(source: Source) -> Call:
    """Draw a legal call.

    Parameters
    ----------
    source : Source
        Where choices come from.

    Returns
    -------
    Call
        The call.
    """
    draw = source.choose(_KINDS)
    return replace(draw(source), seed=source.integer(0, 2**20))


def _flag(source: Source, one_in: int = 2) -> bool:
    return source.integer(0, one_in - 1) == one_in - 1


def _length(source: Source, longest: int = 300) -> int:
    if _flag(source, 3):
        return min(source.choose((31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)), longest)
    return source.integer(0, min(20, longest))


def _sizes(source: Source, **fixed: Any) -> Call:
    """Lengths, heads and dtype."""
    batch = source.integer(1, 4)
    group, kv_heads = source.choose(((1, 1), (2, 1), (1, 3), (3, 2), (5, 1), (16, 1)))
    made = Call(
        q_lengths=tuple(_length(source, 130) for _ in range(batch)),
        kv_lengths=tuple(_length(source) for _ in range(batch)),
        heads=group * kv_heads,
        kv_heads=kv_heads,
        dtype=source.choose(("float16", "bfloat16")),
    )
    return _not_empty(replace(made, **fixed))


def _not_empty(call: Call) -> Call:
    """Give a call at least one row and one key; calls without have a rule of their own and a test of their own."""
    if not sum(call.q_lengths):
        call = replace(call, q_lengths=(1, *call.q_lengths[1:]))
    if not sum(call.kv_lengths):
        call = replace(call, kv_lengths=(1, *call.kv_lengths[1:]))
    return call


def _window(source: Source, call: Call, modes: Sequence[int] = (0, 3, 1, 2, 4)) -> Call:
    """Sparse mode, mask and window."""
    mode = source.choose(modes)
    has_mask = mode == 1 or (mode == 0 and _flag(source))
    call = replace(
        call,
        sparse_mode=mode,
        mask=source.choose((0.1, 0.5, 0.95)) if has_mask else None,
        mask_per_sequence=not _flag(source, 3),
    )
    if mode in (0, 4) and _flag(source):
        before = source.choose((UNBOUNDED, source.integer(-20, 150)))
        after = source.choose((UNBOUNDED, source.integer(-20, 150)))
        call = replace(call, pre_tokens=before, next_tokens=max(after, -before))
    return call


def _storage(source: Source, call: Call, options: Sequence[str], block_sizes: Sequence[int] = (16, 32, 128)) -> Call:
    """Where key and value lie, and how much room is around them."""
    storage = source.choose(options)
    if storage == "NZ" and (call.dim % 16 or call.dim_v % 16):
        storage = "BnNBsD"
    if storage == "list" and (call.batch == 1 or 0 in call.kv_lengths):
        storage = "dense"
    if storage not in ("dense", "list"):
        call = replace(call, block_size=source.choose(block_sizes))
    return replace(call, storage=storage)


def _rooms(source: Source, call: Call) -> Call:
    if call.is_packed:
        return call
    return replace(
        call,
        q_room=source.choose((0, 1, 5)),
        kv_room=source.choose((0, 1, 7)) if call.storage == "dense" else 0,
    )


def _post_quant(source: Source, call: Call, formats: Sequence[str] = ("int8", "float8_e4m3fn", "hifloat8")) -> Call:
    if not _flag(source, 4):
        return call
    return replace(
        call,
        out_format=source.choose(formats),
        out_per_channel=_flag(source),
        out_offset=_flag(source),
    )


def _padding(source: Source, call: Call, *, query: bool = True, key: bool = True) -> Call:
    """Left padding, where there is room for it."""
    if query and call.q_axis > 1 and _flag(source):
        call = replace(call, q_padding=source.choose((0, 1, 4)))
    if key and _flag(source):
        call = replace(call, kv_padding=source.choose((0, 1, 4)))
    return call


def _bias(source: Source, call: Call) -> Call:
    return replace(
        call,
        bias="tensor",
        bias_per_sequence=_flag(source),
        bias_per_row=_flag(source) and call.q_axis > 1,
    )


def _floats(source: Source) -> Call:
    """Equal head dims, and one of the features that go with these."""
    dim = source.choose((16, 64, 128, 32, 80, 7, 192, 256))
    call = _sizes(source, dim=dim, dim_v=dim, inner_precise=source.integer(0, 3))
    feature = source.choose(("", "bias", "sink", "prefix", "padding", "slope"))
    if feature == "sink":
        dim = source.choose((64, 128))
        call = replace(call, layout=source.choose(GQA_LAYOUTS), sink=True, dim=dim, dim_v=dim, inner_precise=0)
        call = _storage(source, _window(source, call), _stores(call))
        return _rooms(source, call)
    if feature == "slope":
        rows = tuple(max(1, length) for length in call.q_lengths)
        start = source.choose((0, 3, -200))
        call = replace(
            call,
            layout=source.choose(BATCHED),
            q_lengths=rows,
            kv_lengths=rows,
            bias=source.choose(("slope", "slope_sqrt")),
            starts=source.choose(((0, 0), (start, 0), (5, start))),
        )
        return _window(source, call)
    if feature == "":
        call = replace(call, layout=source.choose(GQA_LAYOUTS))
        call = _storage(source, _window(source, call), _stores(call))
        if call.is_paged and call.dim % 8 == 0:
            call = replace(call, block_gap=source.choose((0, 0, 16)))
        return _post_quant(source, _rooms(source, call))
    call = replace(call, layout=source.choose(BATCHED))
    call = _rooms(source, _window(source, call))
    if feature == "bias":
        call = _bias(source, _storage(source, call, _stores(call)))
        if call.storage == "list":
            call = replace(call, kv_room=0)
        elif call.storage == "dense" and _flag(source, 3):
            call = _padding(source, call)
        return _post_quant(source, call)
    if feature == "padding":
        return _post_quant(source, _padding(source, call))
    call = replace(call, prefix=source.integer(1, 40), prefix_room=source.choose((0, 0, 9)))
    if _flag(source, 3):
        call = _bias(source, call)
    return _post_quant(source, call, ("int8",))


def _stores(call: Call) -> tuple[str, ...]:
    if call.is_packed or call.layout in ("BSH_BNSD", "BSND_BNSD"):
        return ("dense", *CACHES)
    return ("dense", *CACHES, "list")


def _unequal_dims(source: Source) -> Call:
    """Head dims of key and value differ: only masks go with that."""
    dim, dim_v = source.choose(((32, 64), (64, 32), (128, 64), (17, 96), (192, 128)))
    call = _sizes(source, dim=dim, dim_v=dim_v, layout=source.choose(("TND", "BSND", "BNSD", "BSH")))
    return _rooms(source, _window(source, call, (0, 3, 2)))


def _prefill_mla(source: Source) -> Call:
    call = _sizes(source, dim=128, dim_v=128, rope=64, layout=source.choose(GQA_LAYOUTS))
    call = _window(source, call)
    call = _storage(source, call, _stores(call), (16, 64, 128))
    if call.storage == "list":
        # The rope part is one tensor, so the members are of one length.
        call = replace(call, kv_lengths=(max(call.kv_lengths),) * call.batch)
    call = _rooms(source, call)
    feature = source.choose(("", "sink", "padding"))
    if feature == "sink":
        return replace(call, sink=True)
    if feature == "padding" and call.storage == "dense" and call.layout in BATCHED:
        call = _padding(source, call)
    return _post_quant(source, call)


def _decode_mla(source: Source) -> Call:
    call = _sizes(source, dim=512, dim_v=512, rope=64, layout=source.choose(MLA_LAYOUTS))
    heads = source.choose((1, 2, 4, 8, 16, 32))
    call = replace(
        call, heads=heads, kv_heads=1, q_lengths=tuple(min(length, 40 // heads + 1) for length in call.q_lengths)
    )
    call = _window(source, _not_empty(call), (0, 3, 4))
    call = _rooms(source, _storage(source, call, ("dense", *CACHES), (16, 64, 128)))
    return call if call.layout == "TND_NTD" else _post_quant(source, call)


def _quantised_cache(source: Source) -> Call:
    """Float queries over quantised keys and values."""
    is_decode = _flag(source)
    kv_format = source.choose(("int8", "float8_e4m3fn", "hifloat8", "float4_e2m1fn", "int4", "int4x8"))
    if kv_format in ("int4", "int4x8"):
        is_decode = True
    four_bits = kv_format.startswith(("int4", "float4"))
    dim = source.choose((64, 128) if four_bits else (64, 128, 32))
    call = _sizes(source, dim=dim, dim_v=dim, kv_format=kv_format)
    int8_prefill = kv_format == "int8" and not is_decode
    if is_decode:
        call = replace(call, q_lengths=(1,) * call.batch, q_room=0)
    elif int8_prefill:
        rows = tuple(min(length, 16) for length in call.q_lengths)
        call = replace(call, q_lengths=(max(2, rows[0]), *rows[1:]), dtype="bfloat16")
    else:
        call = replace(call, q_lengths=(max(2, call.q_lengths[0]), *call.q_lengths[1:]))
    layouts = ["BSND", "BNSD", "BSH"]
    if not is_decode:
        layouts.append("BNSD_BSND")
    if kv_format != "int8":
        layouts.append("TND")
    call = replace(call, layout=source.choose(layouts))
    storages = ["dense"] if int8_prefill else ["dense", "BnBsH", "NZ", "list"]
    if not int8_prefill and call.layout in ("BNSD", "BNSD_BSND", "TND"):
        storages.append("BnNBsD")
    if call.is_packed:
        storages.remove("list")
    call = _storage(source, call, storages, (64, 128) if four_bits else (32, 64, 128))
    call = replace(call, modes=source.choose(_modes(call, is_decode, int8_prefill)))
    if call.modes == (0, 1) and kv_format == "int8":
        call = replace(call, dtype="float16")
    if call.modes == (0, 0) and kv_format == "int8":
        call = replace(call, per_tensor=_flag(source))
    if kv_format in ("int8", "int4", "int4x8"):
        call = replace(call, offsets=_flag(source))
    call = _window(source, call, (0,) if is_decode else (0, 3, 1, 2, 4))
    if is_decode:
        call = replace(call, pre_tokens=UNBOUNDED, next_tokens=UNBOUNDED)
    if not call.is_packed and call.storage == "dense":
        call = replace(call, kv_room=source.choose((0, 1, 7)))
    if call.layout in BATCHED:
        call = _quantised_cache_features(source, call, is_decode, int8_prefill)
    if kv_format in ("int8", "float8_e4m3fn", "hifloat8") and not (
        kv_format == "float8_e4m3fn" and call.modes in ((1, 1), (4, 4))
    ):
        if not (call.prefix and kv_format != "int8"):
            call = _post_quant(source, call, (kv_format,))
        if call.out_format == "int8" and call.sparse_mode == 4:
            # Windows that leave out the diagonal are not for this combination.
            call = replace(call, pre_tokens=max(call.pre_tokens, 0), next_tokens=max(call.next_tokens, 0))
    return call


def _modes(call: Call, is_decode: bool, int8_prefill: bool) -> list[tuple[int, int]]:
    if call.kv_format == "float4_e2m1fn":
        return [(6, 6)]
    if call.kv_format == "hifloat8":
        return [(0, 0)]
    if call.kv_format == "float8_e4m3fn":
        return [(0, 0), (1, 1), (4, 4)] if call.is_paged else [(0, 0), (1, 1)]
    if int8_prefill:
        return [(0, 0), (1, 1)]
    made = [(0, 0), (1, 1), (3, 3)]
    if is_decode:
        made.append((0, 1))
    if call.kv_format == "int8":
        made.append((2, 2))
        if call.is_paged:
            made += [(4, 4), (5, 5)]
    return made


def _quantised_cache_features(source: Source, call: Call, is_decode: bool, int8_prefill: bool) -> Call:
    feature = source.choose(("", "bias", "padding", "prefix"))
    if feature == "bias":
        call = _bias(source, call)
        if is_decode:
            call = replace(call, bias_per_row=False)
    elif feature == "padding" and call.storage == "dense" and call.kv_format not in ("int4", "int4x8"):
        if not int8_prefill:
            call = _padding(source, call, query=not is_decode)
    elif feature == "prefix" and call.storage == "dense":
        integers = call.kv_format in ("int8", "int4", "int4x8")
        if (is_decode and integers) or int8_prefill:
            call = replace(call, prefix=source.integer(1, 40), prefix_room=0)
    return call


def _per_tensor(source: Source) -> Call:
    dim = source.choose((32, 64, 128))
    call = _sizes(source, dim=dim, dim_v=dim, scheme="per_tensor", q_format="int8", layout=source.choose(BATCHED))
    call = replace(call, q_lengths=(max(2, call.q_lengths[0]), *call.q_lengths[1:]))
    call = _rooms(source, _window(source, call))
    feature = source.choose(("", "bias", "padding"))
    if feature == "bias":
        return _bias(source, call)
    return _padding(source, call) if feature == "padding" else call


def _quantised_mla(source: Source) -> Call:
    q_format = source.choose(("int8", "float8_e4m3fn", "hifloat8"))
    layouts = MLA_LAYOUTS if q_format != "int8" else ("TND", "BSND", "BSH", "BSH_NBSD", "BSND_NBSD", "TND_NTD")
    call = _sizes(
        source,
        dim=512,
        dim_v=512,
        rope=64,
        scheme="mla",
        q_format=q_format,
        dtype="bfloat16",
        layout=source.choose(layouts),
        kv_heads=1,
        block_size=128,
    )
    call = replace(call, heads=source.choose((1, 2, 4, 8, 16)), q_lengths=tuple(min(n, 8) for n in call.q_lengths))
    call = _not_empty(call)
    if q_format == "int8":
        call = replace(call, storage="NZ")
    else:
        caches = ("BnBsH", "NZ") if call.layout.startswith(("BSH", "BSND")) else CACHES
        call = replace(call, storage=source.choose(caches))
    mode = source.choose((0, 3))
    if not call.is_packed:
        # Lengths of the query go with packed layouts only here: all sequences are full.
        rows = max(call.q_lengths)
        call = replace(call, q_lengths=(rows,) * call.batch, gives_lengths=False)
        if q_format == "int8":
            mode = 0 if rows == 1 else 3
    return replace(call, sparse_mode=mode)


def _gqa_fp8(source: Source) -> Call:
    return _sizes(
        source,
        dim=128,
        dim_v=128,
        scheme="gqa_fp8",
        q_format="float8_e4m3fn",
        layout="NTD_TND",
        storage="BnNBsD",
        block_size=128,
        sparse_mode=source.choose((0, 3)),
        p_scale=source.choose((1.0, 448.0, 20.0)),
        block_gap=source.choose((0, 512)),
        inner_precise=source.integer(0, 1),
    )


def _mxfp8(source: Source) -> Call:
    dim, rope = source.choose(((64, 0), (128, 0), (64, 64), (128, 64)))
    call = _sizes(
        source,
        dim=dim,
        dim_v=dim,
        rope=rope,
        scheme="mxfp8",
        q_format="float8_e4m3fn",
        layout="TND",
        storage=source.choose(("dense", "BnNBsD", "NZ")),
        block_size=source.choose((64, 128, 256)),
        sparse_mode=source.choose((0, 3)),
        p_scale=source.choose((None, 1.0, 256.0)),
        inner_precise=source.integer(0, 1),
    )
    return replace(call, dtype="bfloat16") if rope else call


# As often as they are listed.
_KINDS = (
    *(_floats, _floats, _floats, _unequal_dims),
    *(_prefill_mla, _decode_mla),
    *(_quantised_cache, _quantised_cache, _quantised_cache),
    *(_per_tensor, _quantised_mla, _gqa_fp8, _mxfp8),
)
