# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The network around the attention: RMSNorm, rotary embedding, SwiGLU, in NumPy float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from .weights import Array, Weights


class Attend(Protocol):
    """Attention of one layer: keeps the new keys and values, and attends to all that the sequences have so far."""

    def __call__(self, layer: int, query: Array, key: Array, value: Array) -> Array:
        """Return ``(tokens, num_heads, head_dim)`` for packed ``(tokens, heads, head_dim)`` operands."""
        ...


class Model:
    """A Llama-style decoder over packed sequences.

    Parameters
    ----------
    weights : Weights
        Parameters in float32.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        config = self.config = weights.config
        frequency = config.rope_base ** (-np.arange(0, config.head_dim, 2, dtype=np.float64) / config.head_dim)
        angle = np.arange(config.context_length, dtype=np.float64)[:, None, None] * frequency
        self._cos, self._sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def forward(self, tokens: Sequence[Sequence[int]], positions: Sequence[int], attend: Attend) -> Array:
        """Run new tokens of one or several sequences through the network.

        Parameters
        ----------
        tokens : sequence of sequences of int
            New token ids of each sequence; the lengths may differ.
        positions : sequence of int
            Position of the first new token of each sequence.
        attend : Attend
            The attention, called once for each layer in order.

        Returns
        -------
        Array
            Logits of each sequence's last token, ``(sequences, vocabulary)``.
        """
        config, weights = self.config, self._weights
        ends = np.cumsum([len(ids) for ids in tokens])
        rows = [slice(end - len(ids), end) for ids, end in zip(tokens, ends, strict=True)]
        where = np.concatenate([start + np.arange(len(ids)) for ids, start in zip(tokens, positions, strict=True)])
        cos, sin = self._cos[where], self._sin[where]
        q_width, kv_width = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim

        x = weights.embedding[np.concatenate([np.asarray(ids) for ids in tokens])]
        for index, layer in enumerate(weights.layers):
            qkv = linear(rms_norm(x, layer.attn_norm, config.rms_eps), layer.qkv, rows)
            query, key, value = (
                part.reshape(len(x), -1, config.head_dim)
                for part in np.split(qkv, (q_width, q_width + kv_width), axis=1)
            )
            mixed = attend(index, rotate(query, cos, sin), rotate(key, cos, sin), value)
            x = x + linear(mixed.reshape(len(x), q_width), layer.attn_output, rows)
            gate, up = np.split(linear(rms_norm(x, layer.ffn_norm, config.rms_eps), layer.gate_up, rows), 2, axis=1)
            x = x + linear(silu(gate) * up, layer.ffn_down, rows)
        last = rms_norm(x[ends - 1], weights.output_norm, config.rms_eps)
        return linear(last, weights.embedding, [slice(i, i + 1) for i in range(len(rows))])


def linear(x: Array, weight: Array, rows: Sequence[slice]) -> Array:
    """Multiply each sequence's rows by ``weight.T`` on their own.

    One product for all rows would be faster, but a BLAS library rounds differently for different row counts, and a
    sequence must get the same bits alone and in a batch.
    """
    out = np.empty((len(x), len(weight)), dtype=np.float32)
    for part in rows:
        np.matmul(x[part], weight.T, out=out[part])
    return out


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """Scale each row to unit root mean square, then by `weight`."""
    root: Array = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(eps))
    return x / root * weight


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Apply the rotary embedding to ``(tokens, heads, head_dim)``.

    A GGUF file of this architecture stores query and key rows so that the two components of a rotation are
    neighbours (0, 1), (2, 3), ..., not half a head apart.
    """
    out = np.empty_like(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out


def silu(x: Array) -> Array:
    """Return ``x * sigmoid(x)``; the exponential may overflow to infinity, which gives the right limit 0."""
    with np.errstate(over="ignore"):
        out: Array = x / (np.float32(1) + np.exp(-x))
    return out
