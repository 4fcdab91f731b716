# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Read a Llama-architecture GGUF file into float32 arrays."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Config:
    """Sizes of the network, named as in the attention interface."""

    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    context_length: int
    rms_eps: float
    rope_base: float


@dataclass(frozen=True)
class Layer:
    """One transformer block; matrices are ``(out_features, in_features)`` as the file stores them."""

    attn_norm: Array
    qkv: Array  # query, key and value projections stacked: one product instead of three
    attn_output: Array
    ffn_norm: Array
    gate_up: Array  # likewise the two SwiGLU branches
    ffn_down: Array


@dataclass(frozen=True)
class Weights:
    """All parameters; the embedding serves as the output projection too."""

    config: Config
    embedding: Array
    layers: list[Layer]
    output_norm: Array


def metadata(reader: GGUFReader, key: str) -> Any:
    """Return one metadata value; a file without it is not a model this example can run."""
    field = reader.get_field(key)
    if field is None:
        raise ValueError(f"the GGUF file has no {key!r}; expected a Llama-architecture model")
    return field.contents()


def load_weights(reader: GGUFReader, progress: Callable[[int, int], None]) -> Weights:
    """Dequantise a model.

    Parameters
    ----------
    reader : GGUFReader
        The opened file.
    progress : Callable
        Called as ``progress(layers_done, layers_total)``.

    Returns
    -------
    Weights
        Arrays that own their memory: the file may go away afterwards.

    Raises
    ------
    ValueError
        If the architecture is not Llama with a tied embedding.
    """
    config = _read_config(reader)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if "output.weight" in tensors:
        raise ValueError("the GGUF file has an output projection of its own; expected a tied embedding")

    def load(*names: str) -> Array:
        parts = [dequantize(tensors[name].data, tensors[name].tensor_type) for name in names]
        return np.concatenate(parts, dtype=np.float32)

    def load_layer(index: int) -> Layer:
        block = f"blk.{index}."
        return Layer(
            attn_norm=load(block + "attn_norm.weight"),
            qkv=load(*(f"{block}attn_{part}.weight" for part in "qkv")),
            attn_output=load(block + "attn_output.weight"),
            ffn_norm=load(block + "ffn_norm.weight"),
            gate_up=load(block + "ffn_gate.weight", block + "ffn_up.weight"),
            ffn_down=load(block + "ffn_down.weight"),
        )

    layers: list[Layer] = []
    with ThreadPoolExecutor(max_workers=2) as pool:  # NumPy lets go of the interpreter lock inside its loops
        for layer in pool.map(load_layer, range(config.num_layers)):
            layers.append(layer)
            progress(len(layers), config.num_layers)
    return Weights(config, load("token_embd.weight"), layers, load("output_norm.weight"))


def _read_config(reader: GGUFReader) -> Config:
    if (architecture := metadata(reader, "general.architecture")) != "llama":
        raise ValueError(f"general.architecture: expected 'llama', got {architecture!r}")
    hidden_size = int(metadata(reader, "llama.embedding_length"))
    num_heads = int(metadata(reader, "llama.attention.head_count"))
    return Config(
        num_layers=int(metadata(reader, "llama.block_count")),
        hidden_size=hidden_size,
        num_heads=num_heads,
        num_kv_heads=int(metadata(reader, "llama.attention.head_count_kv")),
        head_dim=hidden_size // num_heads,
        context_length=int(metadata(reader, "llama.context_length")),
        rms_eps=float(metadata(reader, "llama.attention.layer_norm_rms_epsilon")),
        rope_base=float(metadata(reader, "llama.rope.freq_base")),
    )
