# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packed rows in pools: only the slots that are named are touched."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn.errors import ArgumentTypeError, InvalidArgumentError
from acl_attn.kvcache import pack, read_packed, slot_mapping, unpack, write_packed

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)


def filled(*shape: int) -> np.ndarray:
    return np.full(shape, 0xA5, np.uint8).view(E4M3)


def rows_of(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 512)).astype(np.float32)


def strided(blocks: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    memory = filled(blocks, size * 640 + 100)
    strides = (memory.strides[0], 640, 640, 1)
    return memory, np.lib.stride_tricks.as_strided(memory, (blocks, size, 1, 640), strides)


def test_only_named_slots_are_written() -> None:
    memory, pool = strided(6, 16)
    slots = np.random.default_rng(0).permutation(96)[:40]
    slots[7] = -1
    values = rows_of(40)
    write_packed(pool, values, slots, scale_kind="e8m0")
    want = np.full(memory.shape, 0xA5, np.uint8)
    for row, slot in zip(pack(values, scale_kind="e8m0").view(np.uint8), slots, strict=True):
        if slot >= 0:
            start = slot % 16 * 640
            want[slot // 16, start : start + 640] = row
    np.testing.assert_array_equal(memory.view(np.uint8), want)
    back = read_packed(pool, slots, scale_kind="e8m0")
    assert not back[7].any()
    kept = slots >= 0
    np.testing.assert_array_equal(back[kept], unpack(pack(values, scale_kind="e8m0"), scale_kind="e8m0")[kept])


def test_slots_of_new_tokens() -> None:
    table = [[7, 2, -1], [0, 5, 3], [-1, -1, -1]]
    got = slot_mapping(table, [6, 9, 0], 4, first=[3, 8, 0])
    assert got.tolist() == [31, 8, 9, 12]
    assert slot_mapping(table, [6, 9, 0], 4).tolist() == [28, 29, 30, 31, 8, 9, 0, 1, 2, 3, 20, 21, 22, 23, 12]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[7, -1]], [5], 4), r"block_table\[0, 1\]: expected a block"),
        (([[7, 2**62]], [5], 4), r"block_table\[0, 1\]: expected a block"),
        (([[7, 1]], [9], 4), r"lengths\[0\]: expected 0 to 8"),
        (([[7, 1]], [-1], 4), r"lengths\[0\]: expected 0 to 8"),
        (([[7, 1]], [3, 3], 4), "lengths: expected shape"),
        (([[7, 1]], [3], 0), "block_size: expected 1 or more, got 0"),
    ],
)
def test_slot_mapping_refuses(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        slot_mapping(*arguments)
    with pytest.raises(InvalidArgumentError, match=r"first\[0\]: expected 0 to the length"):
        slot_mapping([[7]], [3], 4, first=4)
    with pytest.raises(ArgumentTypeError, match="block_size: expected an int, got bool"):
        slot_mapping([[7, 1]], [3], True)
    with pytest.raises(ArgumentTypeError, match="lengths: expected integers"):
        slot_mapping([[7]], [3.0], 4)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([0, 1, 96], r"slots\[2\]: expected -1 to 95, got 96"),
        ([0, -2, 1], r"slots\[1\]: expected -1 to 95, got -2"),
        ([2**63 - 1, 0, 1], r"slots\[0\]: expected -1 to 95"),
        ([4, 9, 4], r"slots\[2\]: expected slots that occur once, got 4, which slots\[0\] is too"),
        ([0, 1], "slots: expected one for each row"),
    ],
)
def test_bad_slots_write_nothing(slots: list[int], message: str) -> None:
    memory, pool = strided(6, 16)
    with pytest.raises(InvalidArgumentError, match=message):
        write_packed(pool, rows_of(3), slots, scale_kind="e8m0")
    assert (memory.view(np.uint8) == 0xA5).all()


def test_a_row_that_is_not_finite_is_not_written() -> None:
    pool, values = filled(2, 4, 640), rows_of(3)
    values[1, 500] = np.inf
    with pytest.raises(InvalidArgumentError, match=r"values\[1\]\[500\]: expected finite"):
        write_packed(pool, values, [0, 5, 7], scale_kind="e8m0")
    assert (pool.view(np.uint8)[1, 1] == 0xA5).all()
    write_packed(pool, values, [0, -1, 7], scale_kind="e8m0")  # what no slot is for is not looked at


def test_pools_that_are_refused() -> None:
    values = rows_of(1)
    overlapping = np.lib.stride_tricks.as_strided(filled(640 * 8), (3, 4, 640), (640, 640, 1))
    with pytest.raises(InvalidArgumentError, match="blockStride: expected at least 2560 bytes"):
        write_packed(overlapping, values, [0], scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match="pool: expected blocks whose rows are dense"):
        write_packed(filled(3, 4, 1280)[:, :, :640], values, [0], scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match="pool: expected shape"):
        write_packed(filled(4, 640), values, [0], scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match="from_foreign_rows converts rows of 656 bytes"):
        write_packed(filled(3, 4, 656), values, [0], scale_kind="e8m0")
    with pytest.raises(ArgumentTypeError, match="slots: expected integers"):
        write_packed(filled(3, 4, 640), values, [0.0], scale_kind="e8m0")
    read_only = filled(3, 4, 640)
    read_only.flags.writeable = False
    with pytest.raises(InvalidArgumentError, match="pool: expected an array that may be written"):
        write_packed(read_only, values, [0], scale_kind="e8m0")
    memory = np.zeros(640 * 8, np.uint8)
    own = memory[:2048].view(np.float32).reshape(1, 512)
    with pytest.raises(InvalidArgumentError, match="values: expected memory apart from the pool's"):
        write_packed(memory.view(E4M3).reshape(2, 4, 640), own, [7], scale_kind="e8m0")
