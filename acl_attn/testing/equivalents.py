# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Says a call in other words: arguments without a feature that must give the same result as those with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acl_attn.testing.layouts import query_axes

Array = NDArray[Any]
Arguments = dict[str, Any]

_TOKEN_AXIS = {"BSH": 1, "BSND": 1, "BNSD": 2, "TND": 0, "NTD": 1}


def prefix_in_place(arguments: Arguments) -> Arguments:
    """Copy a shared prefix in front of every sequence's own keys and values.

    Parameters
    ----------
    arguments : dict
        Of a call with a prefix, in numbers that NumPy can join.

    Returns
    -------
    dict
        Of a call without.
    """
    made = dict(arguments)
    axis = _TOKEN_AXIS[query_axes(arguments["input_layout"])]
    count = made.pop("actual_shared_prefix_len", [None])[0]
    for name in ("key", "value"):
        prefix = made.pop(f"{name}_shared_prefix")
        prefix = prefix if count is None else np.take(prefix, range(count), axis)
        length = prefix.shape[axis]
        own = made[name]
        repeated = np.repeat(prefix, len(own), axis=0)
        made[name] = np.ascontiguousarray(np.concatenate([repeated, own], axis))
    made["actual_seq_lengths_kv"] = [length + own for own in arguments["actual_seq_lengths_kv"]]
    return made


def moved_to_the_front(arguments: Arguments) -> Arguments:
    """Move sequences that stand at the end of their room to its start.

    Parameters
    ----------
    arguments : dict
        Of a call with left padding, in NumPy's own numbers.

    Returns
    -------
    dict
        Of a call without. Rows of mask and bias move as well. Results move by the shifts of `left_shifts`.
    """
    made = dict(arguments)
    q_shifts, kv_shifts = left_shifts(arguments)
    axis = _TOKEN_AXIS[query_axes(arguments["input_layout"])]
    for names, shifts in ((("query", "query_rope"), q_shifts), (("key", "value", "key_rope"), kv_shifts)):
        for name in names:
            if name in made:
                made[name] = _rolled(made[name], shifts, axis)
    for name in ("atten_mask", "pse_shift"):
        if name not in made or made[name].shape[-2:] == (2048, 2048):
            continue
        whole = np.broadcast_to(made[name], (len(q_shifts), *made[name].shape[1:]))
        rows = whole if whole.shape[2] == 1 else _rolled(whole, q_shifts, 2)
        made[name] = _rolled(rows, kv_shifts, 3)
    for name in ("key_antiquant_scale", "value_antiquant_scale", "key_antiquant_offset", "value_antiquant_offset"):
        mode = made.get(f"{name.split('_')[0]}_antiquant_mode", 0)
        if name in made and mode in (1, 3):
            batched = made[name].reshape(len(kv_shifts), *made[name].shape[-2 if mode == 3 else -1 :])
            made[name] = _rolled(batched, kv_shifts, batched.ndim - 1)
    made.pop("query_padding_size", None)
    made.pop("kv_padding_size", None)
    if made["sparse_mode"] == 0:
        # The window of mode 0 does not count where sequences are padded on the left.
        made.pop("pre_tokens", None)
        made.pop("next_tokens", None)
    return made


def left_shifts(arguments: Arguments) -> tuple[list[int], list[int]]:
    """Tell where each sequence starts on the token axes of query and key.

    Parameters
    ----------
    arguments : dict
        Of a call with left padding.

    Returns
    -------
    tuple of list of int
        For the query and for the key.
    """
    axis = _TOKEN_AXIS[query_axes(arguments["input_layout"])]
    found = []
    for tensor, lengths, padding in (
        ("query", "actual_seq_lengths", "query_padding_size"),
        ("key", "actual_seq_lengths_kv", "kv_padding_size"),
    ):
        room = arguments[tensor].shape[axis]
        after = int(arguments[padding][0]) if padding in arguments else None
        found.append([0 if after is None else room - after - length for length in arguments[lengths]])
    return found[0], found[1]


def rope_joined(arguments: Arguments) -> Arguments:
    """Append the rope parts of query and key to these.

    Parameters
    ----------
    arguments : dict
        Of a call with rope parts.

    Returns
    -------
    dict
        Of a call without.
    """
    made = dict(arguments)
    for name, heads in (("query", made["num_heads"]), ("key", made["num_key_value_heads"])):
        rope = made.pop(f"{name}_rope")
        plain = made[name]
        if made["input_layout"].startswith("BSH"):
            shape = (*plain.shape[:2], heads, -1)
            joined = np.concatenate([plain.reshape(shape), rope.reshape(shape)], axis=3)
            made[name] = joined.reshape(*plain.shape[:2], -1)
        else:
            made[name] = np.concatenate([plain, rope], axis=-1)
    return made


def _rolled(array: Array, shifts: list[int], axis: int) -> Array:
    parts = [np.roll(own, -shift, axis - 1) for own, shift in zip(array, shifts, strict=True)]
    return np.ascontiguousarray(np.stack(parts))
