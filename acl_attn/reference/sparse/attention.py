# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of every query row to the rows that it sees of one or two streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.attend import attend
from acl_attn.reference.formats import as_float64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acl_attn.reference.attend import Float64
    from acl_attn.reference.sparse.lengths import Extents
    from acl_attn.reference.sparse.visible import Indices

Array = NDArray[Any]


@dataclass(frozen=True)
class Stream:
    """Rows that are keys and values.

    Attributes
    ----------
    seen : callable
        From a sequence and a query row's number in it to the positions that the row sees.
    read : callable
        From a sequence and positions to rows of float64, shape (positions, channels).
    """

    seen: Callable[[int, int], Indices]
    read: Callable[[int, Indices], Float64]


def attend_to_streams(
    query: Array, rows: Extents, streams: Sequence[Stream], *, scale: float, sinks: Array
) -> tuple[Float64, Float64]:
    """Attention over all streams together, in float64.

    Parameters
    ----------
    query : ndarray, shape (batch, rows, heads, d) or (tokens, heads, d)
        The query.
    rows : Extents
        Its sequences.
    streams : sequence of Stream
        What they attend to.
    scale : float
        Multiplies the products of query and key; narrowed to float32.
    sinks : ndarray of float32, shape (heads,)
        One more logit per head, in the denominator only; not scaled.

    Returns
    -------
    out : ndarray of float64
        Shape of the query. 0 for rows that see nothing, and for rows that do not count.
    lse : ndarray of float64
        Natural logarithm of the denominator, shape (batch, 1, rows, heads) or (1, tokens, heads). 0 where out is 0 as
        above: not the sink.
    """
    out = np.zeros(query.shape)
    lse = np.zeros(query.shape[:-1])
    heads = query.shape[-2]
    sink = as_float64(sinks)[None]
    for sequence, count in enumerate(rows.counts):
        for row in range(count):
            place: Any = rows.starts[sequence] + row if query.ndim == 3 else (sequence, row)
            kv = np.concatenate([stream.read(sequence, stream.seen(sequence, row)) for stream in streams])
            if not len(kv):
                continue
            # All heads look at the same rows: to `attend`, they are rows of one head with a sink each.
            mixed, total = attend(
                as_float64(query[place])[:, None],
                kv[:, None],
                kv[:, None],
                scale=float(np.float32(scale)),
                visible=np.ones((heads, len(kv)), np.bool_),
                sink=sink,
            )
            out[place] = mixed[:, 0]
            lse[place] = np.where(np.isposinf(total[:, 0]), 0.0, total[:, 0])  # the operators' mark of such rows
    return out, lse[None] if query.ndim == 3 else lse[:, None]
