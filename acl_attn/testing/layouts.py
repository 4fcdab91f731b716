# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Puts the sequences of a `Batch` into the tensors of any ``input_layout``, and takes them out of results again.

Arguments are those of `acl_attn.fused_infer_attention_score`, as dicts that can be merged. Memory that belongs to no
sequence is poisoned.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.reference.layouts import LAYOUTS as KNOWN_LAYOUTS
from acl_attn.testing.poison import poisoned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl_attn.testing.cases import Batch

Array = NDArray[Any]

LAYOUTS = tuple(KNOWN_LAYOUTS)
LIST_LAYOUTS = ("BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD")


def query_axes(input_layout: str) -> str:
    """Order of axes of the query."""
    return input_layout.partition("_")[0]


def out_axes(input_layout: str) -> str:
    """Order of axes of the output."""
    return input_layout.rpartition("_")[2]


def is_packed(input_layout: str) -> bool:
    """Whether sequences share one token axis."""
    return "T" in input_layout


def to_tensor(sequences: Sequence[Array], axes: str, *, room: int | None = None, padding: int | None = None) -> Array:
    """Join the sequences of a batch in one tensor.

    Parameters
    ----------
    sequences : sequence of ndarray
        Each of shape (tokens, heads, channels).
    axes : str
        Order of axes wanted.
    room : int, optional
        Extent of axis S; default: the longest sequence. What sequences do not fill is poisoned.
    padding : int, optional
        Rows after each sequence, which then stand at the end of their room; default: they stand at its start.

    Returns
    -------
    ndarray
        C-contiguous.
    """
    if "T" in axes:
        return _order(np.concatenate(sequences), "TND", axes)
    longest = max(map(len, sequences)) if room is None else room
    tensor = poisoned((len(sequences), longest, *sequences[0].shape[1:]), sequences[0].dtype)
    for row, tokens in zip(tensor, sequences, strict=True):
        start = 0 if padding is None else longest - padding - len(tokens)
        row[start : start + len(tokens)] = tokens
    return _order(tensor, "BSND", axes)


def to_sequences(tensor: Array, axes: str, lengths: Sequence[int], heads: int) -> list[Array]:
    """Take the sequences of a batch out of a tensor.

    Parameters
    ----------
    tensor : ndarray
        Usually an output.
    axes : str
        Its order of axes.
    lengths : sequence of int
        Tokens of each sequence.
    heads : int
        Its number of heads.

    Returns
    -------
    list of ndarray
        Each of shape (tokens, heads, channels).
    """
    if axes == "BSH":
        tensor, axes = tensor.reshape(*tensor.shape[:2], heads, -1 if tensor.size else tensor.shape[2] // heads), "BSND"
    if "T" in axes:
        tokens = _order(tensor, axes, "TND")
        return [tokens[end - length : end] for end, length in zip(accumulate(lengths), lengths, strict=True)]
    rows = _order(tensor, axes, "BSND")
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def lse_to_sequences(lse: Array, input_layout: str, lengths: Sequence[int]) -> list[Array]:
    """Take the sequences of a batch out of a softmax_lse.

    Parameters
    ----------
    lse : ndarray
        Shape (batch, heads, rows, 1), or (tokens, heads, 1).
    input_layout : str
        The call's.
    lengths : sequence of int
        Rows of each sequence.

    Returns
    -------
    list of ndarray
        Each of shape (rows, heads).
    """
    if is_packed(input_layout):
        return [lse[end - length : end, :, 0] for end, length in zip(accumulate(lengths), lengths, strict=True)]
    return [row[:, :length, 0].T for row, length in zip(lse, lengths, strict=True)]


def query_arguments(batch: Batch, input_layout: str, *, room: int | None = None) -> dict[str, Any]:
    """Arguments for the query side.

    Parameters
    ----------
    batch : Batch
        The inputs.
    input_layout : str
        The call's layout.
    room : int, optional
        Extent of the query's axis S.

    Returns
    -------
    dict
        query, actual_seq_lengths, input_layout, num_heads, num_key_value_heads.
    """
    lengths = batch.q_lengths
    return {
        "query": to_tensor(batch.query, query_axes(input_layout), room=room),
        "actual_seq_lengths": list(accumulate(lengths)) if is_packed(input_layout) else lengths,
        "input_layout": input_layout,
        "num_heads": batch.heads,
        "num_key_value_heads": batch.kv_heads,
    }


def dense_arguments(
    batch: Batch, input_layout: str, *, q_room: int | None = None, kv_room: int | None = None
) -> dict[str, Any]:
    """Arguments for a call with key and value each in one tensor.

    Parameters
    ----------
    batch : Batch
        The inputs.
    input_layout : str
        The call's layout.
    q_room, kv_room : int, optional
        Extents of axis S; default: the longest sequence.

    Returns
    -------
    dict
        What `query_arguments` gives; key, value, actual_seq_lengths_kv; atten_mask if there is one.
    """
    axes = query_axes(input_layout)
    lengths = batch.kv_lengths
    return {
        **query_arguments(batch, input_layout, room=q_room),
        "key": to_tensor(batch.key, axes, room=kv_room),
        "value": to_tensor(batch.value, axes, room=kv_room),
        "actual_seq_lengths_kv": list(accumulate(lengths)) if is_packed(input_layout) else lengths,
        **mask_arguments(batch, rows=q_room, columns=kv_room),
    }


def list_arguments(
    batch: Batch, input_layout: str, *, rooms: Sequence[int] | None = None, give_lengths: bool = False
) -> dict[str, Any]:
    """Arguments for a call with a tensor of key and value for each sequence.

    Parameters
    ----------
    batch : Batch
        The inputs.
    input_layout : str
        The call's layout; one of `LIST_LAYOUTS`.
    rooms : sequence of int, optional
        Extents of axis S; default: the sequences' lengths.
    give_lengths : bool
        Whether to pass lengths though the tensors say them.

    Returns
    -------
    dict
        As from `dense_arguments`; key and value are lists.
    """
    axes = query_axes(input_layout)
    rooms = batch.kv_lengths if rooms is None else rooms
    return {
        **query_arguments(batch, input_layout),
        "key": [to_tensor([k], axes, room=room) for k, room in zip(batch.key, rooms, strict=True)],
        "value": [to_tensor([v], axes, room=room) for v, room in zip(batch.value, rooms, strict=True)],
        **({"actual_seq_lengths_kv": batch.kv_lengths} if give_lengths or rooms != batch.kv_lengths else {}),
        **mask_arguments(batch),
    }


def mask_arguments(
    batch: Batch, *, rows: int | None = None, columns: int | None = None, axes: int = 4, dtype: str = "bool"
) -> dict[str, Any]:
    """Arguments for the mask tensor of modes 0 and 1.

    Parameters
    ----------
    batch : Batch
        The inputs.
    rows, columns : int, optional
        Extents of its last two axes; default: the longest sequences. What is beyond a sequence is True.
    axes : int
        3 or 4.
    dtype : str
        bool, int8 or uint8.

    Returns
    -------
    dict
        atten_mask; nothing if the batch has none.
    """
    if batch.hidden is None:
        return {}
    rows = max(batch.q_lengths) if rows is None else rows
    columns = max(batch.kv_lengths) if columns is None else columns
    mask = np.ones((len(batch.hidden), rows, columns), dtype=dtype)
    for matrix, hidden in zip(mask, batch.hidden, strict=True):
        matrix[: hidden.shape[0], : hidden.shape[1]] = hidden
    return {"atten_mask": mask[:, None] if axes == 4 else mask}


def _order(array: Array, given: str, wanted: str) -> Array:
    if wanted == "BSH":
        batch, tokens, heads, channels = array.shape
        return np.ascontiguousarray(_order(array, given, "BSND")).reshape(batch, tokens, heads * channels)
    return np.ascontiguousarray(array.transpose([given.index(axis) for axis in wanted]))
