# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Makes random calls' metadata for the chip that the environment names, and holds it against the slow model.

Run by test_task_lists, with the number of calls.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import acl_attn
from acl_attn._lib import ffi, lib
from acl_attn.errors import check
from acl_attn.streams import stream_pointer

from .slow_metadata import WORDS, Call, Sequence, task_list


def int32(values: list[int]) -> Any:
    return np.array(values, np.int32)


def totals(values: list[int]) -> Any:
    return int32([0, *np.cumsum(values).tolist()])


def draw(generator: np.random.Generator, is_a5: bool, cores: tuple[int, int]) -> Call:
    """A random call of any mode, for some of a chip's cores."""

    def below(limit: int) -> int:
        return int(generator.integers(limit))

    is_quantised = is_a5 and below(3) == 0
    heads = (64, 128)[below(2)] if is_quantised else 1 + below(128)
    call = Call([], heads, 2 + below(cores[0] - 1), cores[1], is_quantised, is_a5)
    call.has_cmp = below(3) > 0
    call.ratio = 1 + below(8) if call.has_cmp else 1
    call.cmp_topk = 1 + below(600) if call.has_cmp and below(2) else 0
    if not is_quantised:
        call.cuts_rows = below(2) == 0
        call.ori_mask = (4, 4, 3, 0)[below(4)]
        call.cmp_mask = 0 if is_a5 and call.has_cmp and below(4) == 0 else 3
        call.left, call.right = (below(200) - 1, below(3) - 1) if call.ori_mask == 4 else (-1, -1)
        call.ori_topk = 1 + below(40) if call.ori_mask == 0 and below(2) else 0
    for _ in range(1 + below(5)):
        own = Sequence(below(6), below(5) if below(3) == 0 else below(900))
        own.cmp = own.ori // call.ratio if call.has_cmp else 0
        own.residual = own.ori % call.ratio
        if call.ori_topk:
            own.ori_entries = [below(call.ori_topk + 1) for _ in range(own.q)]
        if call.cmp_topk and call.cmp_mask == 0:
            own.cmp_entries = [below(call.cmp_topk + 1) for _ in range(own.q)]
        call.sequences.append(own)
    return call


def arguments(call: Call) -> dict[str, Any]:
    """What the metadata's producer is given."""
    sequences = call.sequences
    given: dict[str, Any] = {
        "num_heads_q": call.heads, "num_heads_kv": 1, "head_dim": 512, "batch_size": len(sequences),
        "max_seqlen_q": max(own.q for own in sequences), "cu_seqlens_q": totals([own.q for own in sequences]),
        "cmp_topk": call.cmp_topk, "cmp_ratio": call.ratio, "layout_q": "TND", "has_cmp_kv": call.has_cmp,
    }  # fmt: skip
    original = int32([own.ori for own in sequences])
    if call.is_quantised:
        return {**given, "kv_quant_mode": 1, "seqused_kv": original}
    given |= {
        "seqused_ori_kv": original, "layout_kv": "PA_BBND", "ori_topk": call.ori_topk, "ori_mask_mode": call.ori_mask,
        "cmp_mask_mode": call.cmp_mask if call.has_cmp else 0, "ori_win_left": call.left, "ori_win_right": call.right,
    }  # fmt: skip
    if call.has_cmp:
        given["seqused_cmp_kv"] = int32([own.cmp for own in sequences])
        given["cmp_residual_kv"] = int32([own.residual for own in sequences])
    for name, entries in (
        ("ori_topk_length", [own.ori_entries for own in sequences]),
        ("cmp_topk_length", [own.cmp_entries for own in sequences]),
    ):
        if any(own is not None for own in entries):
            given[name] = int32([entry for own in entries for entry in own or ()]).reshape(-1, 1)
    return given


def main(calls: int) -> None:
    stream = acl_attn.Device(0).create_stream()
    pointer = stream_pointer(stream)
    kinds = (lib.ACL_RT_DEV_RES_CUBE_CORE, lib.ACL_RT_DEV_RES_VECTOR_CORE)
    cores = ffi.new("uint32_t[2]")
    for position, kind in enumerate(kinds):
        lib.aclrtGetResInCurrentThread(kind, cores + position)
    is_a5 = "950" in acl_attn.Device(0).name
    used: dict[str, set[int]] = {"cube": set(), "reductions": set()}
    for seed in range(calls):
        call = draw(np.random.default_rng([seed, is_a5]), is_a5, (cores[0], cores[1]))
        check(lib.aclrtSetStreamResLimit(pointer, kinds[0], call.cube), "aclrtSetStreamResLimit")
        check(lib.aclrtUseStreamResInCurrentThread(pointer), "aclrtUseStreamResInCurrentThread")
        lib.aclrtSetSysParamOpt(lib.ACL_OPT_DETERMINISTIC, 3 if call.cuts_rows else 0)
        operator = "kv_quant_sparse_attn_sharedkv" if call.is_quantised else "sparse_flash_mla"
        made = getattr(acl_attn, f"{operator}_metadata")(**arguments(call))[:WORDS]
        wanted = task_list(call)
        if not np.array_equal(made, wanted):
            first = int(np.flatnonzero(made != wanted)[0])
            raise SystemExit(f"seed {seed}, {call}: word {first} is {made[first]}, expected {wanted[first]}")
        used["cube"].add(call.cube)
        used["reductions"].add(int((wanted[324::8] == 1).sum()))
    sys.stdout.write(f"{calls} lists, {len(used['cube'])} numbers of cores, {len(used['reductions'])} of reductions\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
