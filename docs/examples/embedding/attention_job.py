# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The Python side of the embedding example: attention on memory and a stream that the C++ program owns."""

from __future__ import annotations

import acl_attn


def attend(stream: int, addresses: tuple[int, int, int, int], sizes: tuple[int, int, int, int]) -> None:
    """Put causal attention on a stream and return without waiting.

    Parameters
    ----------
    stream : int
        An ``aclrtStream``, borrowed.
    addresses : tuple of int
        Device addresses of query, key, value and output, float16 ``(tokens, heads, head_dim)``. Borrowed until the
        stream has passed the work.
    sizes : tuple of int
        Tokens, query heads, key/value heads, head dim.
    """
    tokens, num_heads, num_kv_heads, head_dim = sizes
    query, key, value, out = (
        acl_attn.Tensor.from_ptr(address, (1, tokens, heads, head_dim), "float16")
        for address, heads in zip(addresses, (num_heads, num_kv_heads, num_kv_heads, num_heads), strict=True)
    )
    acl_attn.attention(
        query,
        key,
        value,
        layout="BSND",
        mask="causal",
        out=out,
        stream=acl_attn.Stream.from_handle(stream),
    )
