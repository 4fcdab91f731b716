# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Random calls: what nobody thought of listing. The same ones each time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl_attn.testing.cases import Case
from acl_attn.testing.layouts import LAYOUTS, LIST_LAYOUTS, dense_arguments, list_arguments
from acl_attn.testing.pages import CACHES, Paging, paged_arguments

from .runs import assert_same_sequences, by_sequence, check, plain

lengths = st.one_of(st.integers(0, 20), st.sampled_from([31, 32, 33, 64, 65, 95, 96, 97, 128, 129, 255, 256, 257]))
tokens = st.one_of(st.just(2147483647), st.integers(-40, 300))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    batch = draw(st.integers(1, 4))
    kv_lengths = tuple(draw(lengths) for _ in range(batch))
    group, kv_heads = draw(st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 1), (5, 2), (16, 1)]))
    dim = draw(st.sampled_from([1, 2, 7, 16, 24, 48, 64, 72, 128, 144]))
    mode = draw(st.integers(0, 4))
    mask = draw(st.sampled_from([0.1, 0.5, 0.95])) if mode == 1 or (mode == 0 and draw(st.booleans())) else None
    if not any(kv_lengths):
        mode, mask = 0, None  # a mask without columns: test_lengths
    pre = draw(tokens)
    return Case(
        "random",
        tuple(draw(lengths) for _ in range(batch)),
        kv_lengths,
        heads=group * kv_heads,
        kv_heads=kv_heads,
        dim=dim,
        dim_v=draw(st.sampled_from([dim, 1, 17, 64])),
        dtype=draw(st.sampled_from(["fp16", "bf16"])),
        sparse_mode=mode,
        mask=mask,
        pre_tokens=pre,
        next_tokens=max(draw(tokens), -pre),
    )


@st.composite
def calls(draw: st.DrawFn) -> tuple[Case, dict[str, Any]]:
    case = draw(cases())
    batch = case.build()
    storage = draw(st.sampled_from(["dense", "paged", "list"]))
    if storage == "paged":
        caches = CACHES if case.dim % 16 == 0 and case.dim_v % 16 == 0 else CACHES[:2]
        cache = draw(st.sampled_from(caches))
        paging = Paging(cache, draw(st.sampled_from([1, 3, 16, 64, 128])), seed=draw(st.integers(0, 9)))
        return case, paged_arguments(batch, draw(st.sampled_from(LAYOUTS)), paging)
    if storage == "list" and len(batch.query) > 1:
        return case, list_arguments(batch, draw(st.sampled_from(LIST_LAYOUTS)))
    return case, dense_arguments(batch, draw(st.sampled_from(LAYOUTS)))


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(calls())
def test_random_calls(call: tuple[Case, dict[str, Any]]) -> None:
    case, arguments = call
    check(arguments, case)
    assert_same_sequences(by_sequence(arguments, case), plain(case))
