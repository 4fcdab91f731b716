# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The CPU kernels of vLLM, from its library alone: `import vllm` would start a server's worth of things."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from ..cases import Case
from .base import Array, need
from .torch_cpu import TorchPeer, to_torch

BLOCK = 128
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def kernels() -> Any:
    """Load the library; its operators."""
    found = importlib.util.find_spec("vllm")
    if found is None or found.origin is None:
        raise ImportError("vllm is not installed")
    torch.ops.load_library(Path(found.origin).parent / "_C.abi3.so")
    return torch.ops._C


class Paged(TorchPeer):
    """Attention over its paged cache."""

    note = "cpu_attention_with_kv_cache, blocks of 128 filled before, scheduler metadata made once"
    is_paged = True
    cache_format = "auto"
    _arguments: tuple[Any, ...]

    def check(self, case: Case) -> None:
        """Its kernels want head dims of at least 32."""
        super().check(case)
        need(case.dim % 32 == 0, "head dims are multiples of 32")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Fill the cache in a random order of blocks."""
        ops, kind = kernels(), TYPES[case.peers_dtype or case.dtype]
        has_tiles = "amx_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
        isa = "amx" if has_tiles and kind == torch.bfloat16 else "vec"
        if isa == "amx":  # the kernel grants the tiles to processes that ask
            torch.cpu._init_amx()
        columns = -(-case.kv_len // BLOCK)
        stored = kind if self.cache_format == "auto" else torch.uint8
        cache = torch.zeros(case.batch * columns, case.kv_heads, 2 * BLOCK, case.dim, dtype=stored)
        keys, values = cache.chunk(2, dim=2)
        order = torch.randperm(case.batch * columns, generator=torch.Generator().manual_seed(0))
        table = order.to(torch.int32).view(case.batch, columns)
        token = torch.arange(case.kv_len)
        for sequence in range(case.batch):
            slots = table[sequence].long()[token // BLOCK] * BLOCK + token % BLOCK
            k, v = (to_torch(array)[sequence].transpose(0, 1).contiguous() for array in (key, value))
            ops.cpu_attn_reshape_and_cache(k, v, keys, values, slots, isa, 1.0, 1.0, self.cache_format)
        q = to_torch(query).transpose(1, 2).reshape(case.batch * case.q_len, case.heads, case.dim).contiguous()
        self._out_tokens = torch.empty_like(q)
        starts = torch.arange(0, case.batch * case.q_len + 1, case.q_len, dtype=torch.int32)
        lengths = torch.full((case.batch,), case.kv_len, dtype=torch.int32)
        metadata = ops.get_scheduler_metadata(
            case.batch, case.heads, case.kv_heads, case.dim, lengths, kind, starts, case.causal, -1, isa, True, None,
            self.cache_format,
        )  # fmt: skip
        self._case, self._cache, self._run = case, cache, ops.cpu_attention_with_kv_cache
        self._arguments = (
            q, keys, values, self._out_tokens, starts, lengths, case.dim**-0.5, case.causal, None, -1, table, 0.0,
            metadata, None, None, 1.0, 1.0, self.cache_format,
        )  # fmt: skip

    def call(self) -> None:
        """Compute once."""
        self._run(*self._arguments)

    def output(self) -> Array:
        """Give the last output."""
        case = self._case
        tokens = self._out_tokens.float().view(case.batch, case.q_len, case.heads, case.dim)
        out: Array = tokens.transpose(1, 2).numpy()
        return out


class PagedFp8(Paged):
    """With a cache of FP8."""

    note = "cpu_attention_with_kv_cache with an fp8_e4m3 cache"
    cache_bits, cache_format = 8, "fp8_e4m3"
    dtypes = ("bf16", "fp16")

    def check(self, case: Case) -> None:
        """Only the one 8-bit format that it has."""
        super().check(case)
        need(case.q_len == 1, "for decode")


class SglDecode(Paged):
    """SGLang's decode kernel, which vLLM ships."""

    note = "decode_attention_cpu: token-indexed cache, 8 splits; stores the newest token"
    dtypes = ("bf16", "fp16")
    is_paged = False

    def check(self, case: Case) -> None:
        """Only one query a sequence."""
        super().check(case)
        need(case.q_len == 1, "for decode")

    def prepare(self, case: Case, query: Array, key: Array, value: Array) -> None:
        """Lay the cache out by tokens."""
        ops, tokens = kernels(), case.batch * case.kv_len
        k, v = (to_torch(a).transpose(1, 2).reshape(tokens, case.kv_heads, case.dim).contiguous() for a in (key, value))
        q = to_torch(query).reshape(case.batch, case.heads, case.dim).contiguous()
        self._case, self._out_tokens, self._run = case, torch.empty_like(q), ops.decode_attention_cpu
        slots = torch.arange(tokens, dtype=torch.int32).view(case.batch, case.kv_len)
        newest = (torch.arange(case.batch, dtype=torch.int64) + 1) * case.kv_len - 1
        partial = torch.empty(case.batch, case.heads, 8, case.dim + 1)
        lengths = torch.full((case.batch,), case.kv_len, dtype=torch.int64)
        self._arguments = (
            q, k, v, self._out_tokens, k[newest].contiguous(), v[newest].contiguous(), newest, partial, slots,
            torch.arange(case.batch, dtype=torch.int64), lengths, case.dim**-0.5, 0.0, False, -1, None, None,
        )  # fmt: skip
