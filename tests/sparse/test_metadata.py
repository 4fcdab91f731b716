# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Metadata: what it says, and that a call takes no other's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn.testing.compare import assert_same_bits
from acl_attn.testing.sparse.build import arguments, metadata_arguments
from acl_attn.testing.sparse.cases import SparseCase

from ..ops.refusals import refuses
from .runs import functions, metadata_of, run
from .suites import MODES, case_of

FA_CORES, FA_WORDS, FD_CORES, FD_WORDS = 36, 9, 72, 8
each_format = pytest.mark.parametrize("kv_format", ["", "float8_e4m3fn"], ids=["rows", "packed_rows"])


def base(kv_format: str = "", **others: Any) -> SparseCase:
    fields: dict[str, Any] = {"q_lengths": (17, 2, 5), "kv_lengths": (300, 40, 513), "kv_format": kv_format, **others}
    return case_of("csa", "tnd_paged", **fields)


def cores(metadata: Any) -> Any:
    """The 9 words of each cube core that has work."""
    entries = metadata[: FA_CORES * FA_WORDS].reshape(FA_CORES, FA_WORDS)
    return entries[entries[:, 0] == 1]


@pytest.mark.parametrize("mode", MODES)
def test_cores_share_the_work_without_gaps(mode: str) -> None:
    case = case_of(mode, "tnd_paged")
    metadata = metadata_of(arguments(case))
    assert metadata.dtype == np.int32
    assert metadata.shape == (1024,)
    busy = cores(metadata)
    assert len(busy) >= 1
    assert busy[0, 1:4].tolist() == [0, 0, 0]
    assert busy[-1, 4:7].tolist() == [case.batch, 0, 0]
    for before, after in pairwise(busy):
        assert tuple(before[4:7]) in {tuple(after[1:4]), tuple(after[4:7])}  # pairs of cores may share a list


@each_format
def test_the_same_for_the_same_call(kv_format: str, set_threads: Callable[[int], None]) -> None:
    given = arguments(base(kv_format))
    first = metadata_of(given)
    for count in (1, 3):
        set_threads(count)
        assert_same_bits(metadata_of(given), first)
    functions(given)[1](**metadata_arguments(given), out=(into := np.full(1024, -1, np.int32)))
    assert_same_bits(into, first)


def test_where_no_sequence_has_queries() -> None:
    lengths = np.zeros(2, np.int32)
    metadata = acl_attn.sparse_flash_mla_metadata(
        64, 1, 512, seqused_q=lengths, seqused_ori_kv=lengths, max_seqlen_q=1, max_seqlen_ori_kv=4, has_cmp_kv=False,
        ori_mask_mode=4, ori_win_left=127, ori_win_right=0,
    )  # fmt: skip
    assert cores(metadata)[:, :7].tolist() == [[1, 0, 0, 0, 2, 0, 0]]


def test_description() -> None:
    given = arguments(base())
    text = acl_attn.describe_metadata(metadata_of(given))
    assert "8" in text
    assert len(text.splitlines()) > 1 + len(cores(metadata_of(given))) - 1
    for words in (np.zeros(1024, np.int32), np.full(1024, -1, np.int32), np.arange(1024, dtype=np.int32)):
        assert acl_attn.describe_metadata(words)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert acl_attn.describe_metadata(rng.integers(-(2**31), 2**31, 1024).astype(np.int32))


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(1023, np.int32), np.zeros((2, 512), np.int32), np.zeros(2048, np.int32)[::2], np.zeros(1024), None],
)
def test_what_is_no_metadata_is_not_described(wrong: Any) -> None:
    with pytest.raises(acl_attn.AclAttnError, match="metadata: expected"):
        acl_attn.describe_metadata(wrong)


# Single changes of a call: the metadata of the call before is not this call's.
CHANGES: dict[str, dict[str, Any]] = {
    "another kv length": {"kv_lengths": (300, 40, 512)},
    "lengths in another order": {"kv_lengths": (300, 513, 40)},
    "another query length": {"q_lengths": (17, 3, 5)},
    "other heads": {"heads": 16},
    "another batch": {"q_lengths": (17, 2), "kv_lengths": (300, 40)},
    "other lists": {"topk": 32},
    "no lists": {"topk": 0},
    "another ratio": {"cmp_ratio": 128},
    "no compressed rows": {"cmp_ratio": 0, "topk": 0},
}


@each_format
@pytest.mark.parametrize("change", CHANGES)
def test_metadata_of_another_call(change: str, kv_format: str) -> None:
    case = base(kv_format)
    other = replace(case, **CHANGES[change])
    given = arguments(other)
    untouched = np.full_like(given["q"], 7)
    with refuses("metadata", fix="metadata again|Metadata again"):
        run(given, metadata=metadata_of(arguments(case)), attn_out=untouched)
    assert (untouched == 7).all()
    run(given, metadata=metadata_of(given), attn_out=untouched)


@pytest.mark.parametrize(
    "change",
    [{"win_left": 126}, {"win_left": -1}, {"win_right": 1}, {"ori_mask_mode": 3, "win_left": -1, "win_right": -1},
     {"cmp_mask_mode": 0}, {"is_paged": False}, {"missing": 1}],
    ids=str,
)  # fmt: skip
def test_metadata_of_other_masks(change: dict[str, Any]) -> None:
    given = arguments(replace(base(), **change))
    with refuses("metadata", got="of another|another"):
        run(given, metadata=metadata_of(arguments(base())))


def test_both_sets_of_values_are_told() -> None:
    stale = metadata_of(arguments(base()))
    given = arguments(replace(base(), kv_lengths=(300, 41, 513), cmp_ratio=8))
    with refuses("metadata", got=r"8.*41.*4.*40|41.*8.*40.*4"):
        run(given, metadata=stale)


def test_metadata_of_the_other_operator() -> None:
    with refuses("metadata"):
        run(arguments(base()), metadata=metadata_of(arguments(base("float8_e4m3fn"))))
    with refuses("metadata"):
        run(arguments(base("float8_e4m3fn")), metadata=metadata_of(arguments(base())))


@each_format
def test_words_that_nobody_wrote(kv_format: str) -> None:
    given = arguments(base(kv_format))
    rng = np.random.default_rng(1)
    own = metadata_of(given)
    wrong = [np.zeros(1024, np.int32), np.full(1024, -1, np.int32), np.arange(1024, dtype=np.int32)]
    wrong += [rng.integers(-(2**31), 2**31, 1024).astype(np.int32) for _ in range(5)]
    for position in (0, 4, 6, 36 * 9 + 3, 899, 900, 905):
        changed = own.copy()
        changed[position] += 1
        wrong.append(changed)
    for words in wrong:
        with refuses("metadata"):
            run(given, metadata=words)
    run(given, metadata=own)


@each_format
def test_lengths_that_change_behind_the_metadata(kv_format: str) -> None:
    given = arguments(base(kv_format))
    metadata = metadata_of(given)
    run(given, metadata=metadata)
    name = "seqused_kv" if kv_format else "seqused_ori_kv"
    given[name][1] -= 1
    with refuses("metadata", got="39.*40"):
        run(given, metadata=metadata)


def test_a_call_without_metadata() -> None:
    with refuses("metadata"):
        run(arguments(base()), metadata=None)
