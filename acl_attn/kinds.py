# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""What kinds of calls a product takes, found by asking its rules about one call of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .checking import check
from .dtypes import as_dtype, elements_per_item
from .errors import invalid
from .layouts import LAYOUT_NAMES, find_layout
from .ops.features import KvQuant, Rope
from .spec import Spec
from .values import integer

__all__ = ["Kind", "allowed_block_sizes", "allowed_head_dims", "allowed_layouts", "supports"]

_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)
_CACHES = ("BnBsH", "BnNBsD", "NZ")
_LARGEST_HEAD_DIM = 512  # of any profile; the engine's own limit
_LARGEST_BLOCK = 1024  # of any product; profile host has no limit


@dataclass(frozen=True)
class Kind:
    """A kind of calls of `attention`: what decides whether a product takes it. Each field has a default.

    Parameters
    ----------
    dtype : dtype or its name
        Of query, key, value and output.
    layout : str
        Order of axes.
    head_dim : int
        Channels of query and key.
    value_head_dim : int, optional
        Channels of value; `head_dim` without it.
    num_heads, num_kv_heads : int
        Heads of query, and of key and value.
    batch, q_length, kv_length : int
        Sequences, and tokens of each.
    cache : {"BnBsH", "BnNBsD", "NZ"}, optional
        Layout of a paged cache; dense key and value without it.
    block_size : int
        Tokens of a block of the cache.
    rope : int
        Channels of rope that are kept apart; 0 for none.
    mask : {"causal", "causal_top_left"}, optional
        Which keys a row sees.
    kv_dtype : dtype or its name, optional
        Of quantised keys and values.
    kv_mode : int
        How these are quantised: an `AntiquantMode` of one scale for each channel (0), or for each token (1).

    See Also
    --------
    supports : Takes its fields as keywords.

    Examples
    --------
    >>> from acl_attn.kinds import Kind
    >>> Kind(head_dim=64).arguments()["query"].shape
    (1, 1, 8, 64)
    """

    dtype: npt.DTypeLike = "float16"
    layout: str = "BSND"
    head_dim: int = 128
    value_head_dim: int | None = None
    num_heads: int = 8
    num_kv_heads: int = 1
    batch: int = 1
    q_length: int = 1
    kv_length: int = 1024
    cache: str | None = None
    block_size: int = 128
    rope: int = 0
    mask: str | None = None
    kv_dtype: npt.DTypeLike | None = None
    kv_mode: int = 0

    def arguments(self) -> dict[str, Any]:
        """Give the arguments of one call of the kind, with a `Spec` for each array.

        Returns
        -------
        dict
            Keyword arguments of `check`.
        """
        layout = find_layout(self.layout, "layout")
        dim_v = self.head_dim if self.value_head_dim is None else self.value_head_dim
        found: dict[str, Any] = {
            "query": self._dense(layout.order, self.q_length, self.num_heads, self.head_dim, self.dtype),
            "key": self._key_side(layout.order, self.head_dim, self.kv_dtype or self.dtype),
            "value": self._key_side(layout.order, dim_v, self.kv_dtype or self.dtype),
            "layout": self.layout,
            "num_heads": self.num_heads,
            "num_kv_heads": self.num_kv_heads,
            "q_lengths": [self.q_length] * self.batch,
            "kv_lengths": [self.kv_length] * self.batch,
            "mask": self.mask,
        }
        if self.cache is not None:
            found["block_table"] = Spec((self.batch, self._blocks()), _INT32)
        if self.rope:
            query = self._dense(layout.order, self.q_length, self.num_heads, self.rope, self.dtype)
            found["rope"] = Rope(query, self._key_side(layout.order, self.rope, self.dtype))
            found["scale"] = 1.0
        if self.kv_dtype is not None:
            found["kv_quant"] = self._scales(dim_v)
        return found

    def _blocks(self) -> int:
        return -(-self.kv_length // self.block_size)

    def _dense(self, order: str, tokens: int, heads: int, dim: int, dtype: Any) -> Spec:
        sizes = {"B": self.batch, "S": tokens, "T": self.batch * tokens, "N": heads, "D": dim, "H": heads * dim}
        return Spec(tuple(sizes[axis] for axis in order), dtype)

    def _key_side(self, order: str, dim: int, dtype: Any) -> Spec:
        heads, size, blocks = self.num_kv_heads, self.block_size, self.batch * self._blocks()
        dim //= elements_per_item(as_dtype(dtype))
        if self.cache is None:
            return self._dense(order, self.kv_length, heads, dim, dtype)
        if self.cache == "BnBsH":
            return Spec((blocks, size, heads * dim), dtype)
        if self.cache == "BnNBsD":
            return Spec((blocks, heads, size, dim), dtype)
        return Spec((blocks, heads, dim // 16, size, 16), dtype)

    def _scales(self, dim_v: int) -> KvQuant:
        if self.kv_mode == 1:
            tokens = self._blocks() * self.block_size if self.cache is not None else self.kv_length
            scale = Spec((self.batch, tokens), _FLOAT32)
            return KvQuant(1, scale, scale)
        dtype = as_dtype(self.dtype)
        return KvQuant(0, *(Spec((self.num_kv_heads, dim), dtype) for dim in (self.head_dim, dim_v)))


def supports(*, profile: str | None = None, rules: str | None = None, **kind: Any) -> bool:
    """Tell whether a product takes a kind of calls of `attention`.

    Parameters
    ----------
    profile, rules : str, optional
        Whose rules, as for `check`.
    **kind : Any
        What is special about the calls: fields of `acl_attn.kinds.Kind`, such as `head_dim`, `num_heads`, `layout`,
        `cache` and `block_size`.

    Returns
    -------
    bool
        The answer of the product's rules for one call of the kind; `check` says why.

    See Also
    --------
    check : Judges a call, and says what is wrong.
    allowed_head_dims : All head dims that are taken.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.supports(head_dim=128, cache="BnBsH", block_size=128)
    True
    >>> acl_attn.supports(head_dim=128, cache="BnBsH", block_size=100)
    False
    """
    return bool(check("attention", profile=profile, rules=rules, **_kind(kind).arguments()))


def allowed_head_dims(*, profile: str | None = None, rules: str | None = None, **kind: Any) -> list[int]:
    """List the head dims, up to 512, that a product takes for a kind of calls.

    Parameters
    ----------
    profile, rules : str, optional
        Whose rules, as for `check`.
    **kind : Any
        What else is special about the calls, as for `supports`.

    Returns
    -------
    list of int
        Ascending.

    See Also
    --------
    supports : Asks about one of them.

    Examples
    --------
    >>> import acl_attn
    >>> 64 in acl_attn.allowed_head_dims(layout="TND")
    True
    """
    base = _kind(kind)
    return _taken(lambda dim: replace(base, head_dim=dim), range(1, _LARGEST_HEAD_DIM + 1), profile, rules)


def allowed_block_sizes(*, profile: str | None = None, rules: str | None = None, **kind: Any) -> list[int]:
    """List the block sizes, up to 1024, that a product takes for a kind of calls with a paged cache.

    Parameters
    ----------
    profile, rules : str, optional
        Whose rules, as for `check`.
    **kind : Any
        What else is special about the calls, as for `supports`; `cache` is ``"BnBsH"`` without it.

    Returns
    -------
    list of int
        Ascending.

    See Also
    --------
    supports : Asks about one of them.

    Examples
    --------
    >>> import acl_attn
    >>> acl_attn.allowed_block_sizes(head_dim=128)[:3]
    [16, 32, 48]
    """
    base = _kind({"cache": "BnBsH", **kind})
    if base.cache is None:
        raise invalid("cache", f"one of {', '.join(_CACHES)}", None)
    return _taken(lambda size: replace(base, block_size=size), range(1, _LARGEST_BLOCK + 1), profile, rules)


def allowed_layouts(*, profile: str | None = None, rules: str | None = None, **kind: Any) -> list[str]:
    """List the layouts that a product takes for a kind of calls.

    Parameters
    ----------
    profile, rules : str, optional
        Whose rules, as for `check`.
    **kind : Any
        What else is special about the calls, as for `supports`.

    Returns
    -------
    list of str
        Names for `attention`'s `layout`.

    See Also
    --------
    supports : Asks about one of them.

    Examples
    --------
    >>> import acl_attn
    >>> "BSND" in acl_attn.allowed_layouts(head_dim=96)
    True
    """
    base = _kind(kind)
    return _taken(lambda layout: replace(base, layout=layout), LAYOUT_NAMES, profile, rules)


def _taken(variant: Callable[[Any], Kind], values: Any, profile: str | None, rules: str | None) -> list[Any]:
    def is_taken(kind: Kind) -> bool:
        return bool(check("attention", profile=profile, rules=rules, **kind.arguments()))

    return [value for value in values if is_taken(variant(value))]


def _kind(given: dict[str, Any]) -> Kind:
    known = Kind.__dataclass_fields__
    for name in given:
        if name not in known:
            raise invalid(name, f"one of {', '.join(known)}", "an unknown name")
    kind = Kind(**given)
    for name in ("head_dim", "num_heads", "num_kv_heads", "batch", "q_length", "kv_length", "block_size"):
        if integer(getattr(kind, name), name) < 1:
            raise invalid(name, "at least 1", getattr(kind, name))
    if kind.kv_mode not in (0, 1):
        raise invalid("kv_mode", "0 or 1", kind.kv_mode)
    if kind.cache is not None and kind.cache not in _CACHES:
        raise invalid("cache", f"one of {', '.join(_CACHES)}", repr(kind.cache))
    return kind
