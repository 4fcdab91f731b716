# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The order of axes that a layout name stands for, as far as Python needs it: to size outputs and to find defaults."""

from __future__ import annotations

from typing import NamedTuple

from .errors import invalid

__all__ = ["LAYOUT_NAMES", "Geometry", "Layout", "cache_geometry", "check_heads", "find_layout"]


class Geometry(NamedTuple):
    """What the axes of an operand say. For packed layouts ``batch`` is 1 and ``tokens`` counts all of them."""

    batch: int
    tokens: int
    heads: int
    dim: int


class Layout:
    """An ``inputLayout``: the order of query (and of key and value, unless paged), and that of the output.

    Parameters
    ----------
    name : str
        What the C interface calls it.

    Attributes
    ----------
    order, out_order : str
        The axes, a letter each.
    is_packed : bool
        Whether all sequences share one token axis.
    """

    __slots__ = ("_batch", "_heads", "_out", "_rank", "_tokens", "is_packed", "name", "order", "out_order")

    def __init__(self, name: str) -> None:
        self.name = name
        self.order, self.out_order = (name.split("_") * 2)[:2]
        self.is_packed = "T" in self.order
        # Looked up once: reading a shape is on the path of every call.
        self._rank = len(self.order)
        self._batch = self.order.find("B")
        self._tokens = self.order.find("T" if self.is_packed else "S")
        self._heads = self.order.find("N")
        self._out = tuple("BSNDH".index(axis) for axis in self.out_order.replace("T", "S"))

    def geometry(self, shape: tuple[int, ...], heads: int | None, parameter: str) -> Geometry:
        """Read an operand's shape; `heads` splits the last axis of BSH."""
        if len(shape) != self._rank:
            order = self.order
            fix = "choose the layout that fits" if parameter == "query" else ""
            rule = "COM-S-14" if parameter == "query" else "COM-S-15"
            expected = f"rank {len(order)} for layout {self.name} ({_axes(order)})"
            raise invalid(parameter, expected, f"shape {shape}", fix, rule)
        if self._heads < 0:  # BSH
            if heads is None or heads <= 0:
                expected = f"the number of heads of {parameter} (layout BSH does not tell)"
                raise invalid("num_heads", expected, heads, rule="COM-S-01")
            if shape[2] % heads:
                rule = "COM-C-04" if parameter == "query" else "COM-C-05"
                raise invalid(parameter, f"a last axis that {heads} heads divide", f"shape {shape}", rule=rule)
            return Geometry(shape[0], shape[1], heads, shape[2] // heads)
        return Geometry(
            1 if self._batch < 0 else shape[self._batch], shape[self._tokens], shape[self._heads], shape[-1]
        )

    def output_shape(self, query: Geometry, dim: int) -> tuple[int, ...]:
        """Shape of the attention output with a head dim of `dim`."""
        batch, tokens, heads, _ = query
        sizes = (batch, tokens, heads, dim, heads * dim)
        return tuple([sizes[axis] for axis in self._out])

    def lse_shape(self, query: Geometry) -> tuple[int, ...]:
        """Shape of the LSE: heads before tokens for batched layouts, after them for packed ones, always."""
        if self.is_packed:
            return (query.tokens, query.heads, 1)
        return (query.batch, query.heads, query.tokens, 1)


_LAYOUTS = {
    name: Layout(name)
    for name in (
        *("BSH", "BSND", "BNSD", "TND", "NTD", "BSH_BNSD", "BSND_BNSD", "BNSD_BSND", "NTD_TND"),
        *("BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND_NTD"),
    )
}
LAYOUT_NAMES = tuple(_LAYOUTS)


def find_layout(name: object, parameter: str) -> Layout:
    """Look a layout up by its name."""
    layout = _LAYOUTS.get(name) if isinstance(name, str) else None
    if layout is None:
        raise invalid(parameter, f"one of {', '.join(_LAYOUTS)}", repr(name), rule="COM-S-03")
    return layout


def check_heads(heads: int, query: Geometry, shape: tuple[int, ...]) -> None:
    """Refuse a number of heads that query's shape contradicts. The operator would blame the output made for it."""
    if 0 < heads != query.heads:
        raise invalid("query", f"{heads} heads (num_heads)", f"{query.heads} in shape {shape}", rule="COM-C-03")


def cache_geometry(
    shape: tuple[int, ...], kv_heads: int | None, dim: int | None, parameter: str
) -> tuple[int, int, int]:
    """Read the shape of a paged cache, whose rank names its layout.

    Returns
    -------
    kv_heads, block_size, dim : int
        For rank 3, which fuses heads and dim, one of them must be given.
    """
    if len(shape) == 4:
        return shape[1], shape[2], shape[3]
    if len(shape) == 5:
        return shape[1], shape[3], shape[2] * shape[4]
    if len(shape) == 3:
        known = kv_heads or dim
        if not known or shape[2] % known:
            what = f"a last axis that {known} divides" if known else "num_kv_heads to be given"
            expected = f"{what} (blocks, block_size, num_kv_heads * head_dim)"
            raise invalid(parameter, expected, f"shape {shape}", rule="PA-C-01")
        return (kv_heads, shape[1], shape[2] // kv_heads) if kv_heads else (shape[2] // known, shape[1], known)
    ranks = "3 (blocks, block_size, N*D), 4 (blocks, N, block_size, D) or 5 (blocks, N, D/16, block_size, 16)"
    raise invalid(parameter, f"a paged cache of rank {ranks}", f"shape {shape}", rule="COM-X-05")


def _axes(order: str) -> str:
    names = {"H": "N*D"}
    return "(" + ", ".join(names.get(axis, axis) for axis in order) + ")"
