# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of other operators and libraries, made by hand, to packed rows and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from acl_attn.dtypes import hifloat8
from acl_attn.errors import AclAttnError, ArgumentTypeError, InvalidArgumentError
from acl_attn.kvcache import check_packed, from_foreign_rows, pack, packed_check, to_foreign_rows, unpack

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
CODES = bytes(i % 0x7F | (i & 1) << 7 for i in range(448))
ROPE = np.arange(64, dtype=np.float32).astype(ml_dtypes.bfloat16).tobytes()
EXPONENTS = [0, 1, 100, 127, 130, 200, 254]


def golden() -> bytes:
    return ROPE + CODES + bytes(EXPONENTS) + bytes(57)


def octets(*rows: bytes) -> np.ndarray:
    return np.stack([np.frombuffer(row, np.uint8) for row in rows])


def test_608_by_hand() -> None:
    scales = bytes.fromhex("4000 8000 0032 803f 0041 0064 007f")  # 2^-127 is subnormal
    row = octets(ROPE + CODES + scales + bytes(18))
    assert from_foreign_rows(row, exact=True).tobytes() == golden()
    assert to_foreign_rows(octets(golden()), 608, exact=True).tobytes() == row.tobytes()


def test_584_by_hand() -> None:
    other = bytes(reversed(CODES))
    row, second = CODES + ROPE, other + ROPE
    scales = bytes([*EXPONENTS, 0])
    planar = octets(row + second + scales + bytes([1] * 7 + [0])).reshape(1, 2, 1, 584)
    want = octets(golden(), ROPE + other + bytes([1] * 7) + bytes(57))
    got = from_foreign_rows(planar, block_planar=True)
    assert got.shape == (1, 2, 1, 640)
    np.testing.assert_array_equal(got.view(np.uint8).reshape(2, 640), want)
    np.testing.assert_array_equal(to_foreign_rows(got, 584, block_planar=True), planar)
    assert from_foreign_rows(octets(row + scales), block_planar=False).tobytes() == golden()
    assert to_foreign_rows(want[:1], 584, block_planar=False).tobytes() == row + scales


def test_656_by_hand() -> None:
    scales = np.array([2.0**-3, 1, 4, 2.0**100], np.float32).tobytes()
    row = octets(CODES + bytes(64) + scales + ROPE)
    got = from_foreign_rows(row, exact=True)
    assert got.tobytes() == ROPE + CODES + bytes([124, 124, 127, 127, 129, 129, 227]) + bytes(57)
    assert to_foreign_rows(got, 656, exact=True).tobytes() == row.tobytes()


def test_channels_that_packed_rows_lack() -> None:
    row = np.zeros((2, 656), np.uint8)
    row[:, 448:512] = 0x80  # -0 is a zero
    from_foreign_rows(row)
    row[1, 450] = 1
    with pytest.raises(InvalidArgumentError, match=r"rows\[1\], channel 450: expected zeros in channels 448 to 511"):
        from_foreign_rows(row)


def test_scales_that_are_not_powers_of_two() -> None:
    values = np.random.default_rng(0).standard_normal((5, 512)).astype(np.float32)
    bf16 = np.zeros((5, 608), np.uint8)
    bf16[:, :590] = pack(values, scale_kind="bf16").view(np.uint8)[:, :590]  # the same but for padding
    got = unpack(from_foreign_rows(bf16), scale_kind="e8m0")
    assert np.abs(got - values)[:, :448].max() < np.abs(values).max() / 8
    np.testing.assert_array_equal(got[:, 448:], values[:, 448:].astype(ml_dtypes.bfloat16).astype(np.float32))
    with pytest.raises(InvalidArgumentError, match=r"rows\[0\]: expected scales .*; exact=False"):
        from_foreign_rows(bf16, exact=True)
    packed = pack(values * np.repeat([1, 9, 1, 9, 1, 9, 1, 1], 64).astype(np.float32), scale_kind="e8m0")
    back = unpack(from_foreign_rows(to_foreign_rows(packed, 656)), scale_kind="e8m0")
    want = unpack(packed, scale_kind="e8m0")
    assert np.abs(back - want).max() < np.abs(want).max() / 8
    with pytest.raises(InvalidArgumentError, match=r"rows\[0\]: expected scales"):
        to_foreign_rows(packed, 656, exact=True)


def test_numbers_that_are_not_finite() -> None:
    rows = np.zeros((3, 608), np.uint8)
    rows[:, 576:590] = np.frombuffer(bytes.fromhex("803f") * 7, np.uint8)
    rows[1, 128] = 0x7F
    assert from_foreign_rows(rows).view(np.uint8)[1, 128] == 0x7F  # copied as it is
    rows[1, 576:578] = 0x55, 0x40
    with pytest.raises(InvalidArgumentError, match=r"rows\[1\], channel 0: expected finite numbers"):
        from_foreign_rows(rows)


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="rows: expected rows of 608, 584 or 656 bytes"):
        from_foreign_rows(np.zeros((2, 512), np.uint8))
    with pytest.raises(InvalidArgumentError, match="they are packed rows already"):
        from_foreign_rows(np.zeros((2, 640), np.uint8))
    with pytest.raises(InvalidArgumentError, match="block_planar: expected True or False"):
        from_foreign_rows(np.zeros((2, 584), np.uint8))
    with pytest.raises(InvalidArgumentError, match="block_planar: expected None"):
        from_foreign_rows(np.zeros((2, 608), np.uint8), block_planar=True)
    with pytest.raises(InvalidArgumentError, match="rows: expected blocks"):
        from_foreign_rows(np.zeros((2, 584), np.uint8), block_planar=True)
    with pytest.raises(ArgumentTypeError, match="rows: expected float8_e4m3fn"):
        from_foreign_rows(np.zeros((2, 608), np.float32))
    with pytest.raises(ArgumentTypeError, match="the other rows have no hifloat8"):
        to_foreign_rows(np.zeros((2, 640), np.uint8).view(hifloat8), 608)
    with pytest.raises(InvalidArgumentError, match="row_bytes: expected 608, 584 or 656, got 640"):
        to_foreign_rows(np.zeros((2, 640), E4M3), 640)


def test_a_fault_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).standard_normal((5, 512)).astype(np.float32) + 5
    for where in (0, 127, 128, 575, 576, 582, 583, 639):
        spoiled = pack(values, scale_kind="e8m0")
        spoiled.view(np.uint8)[3, where] ^= 1
        monkeypatch.setattr(packed_check, "pack", lambda *_, rows=spoiled, **__: rows)
        with pytest.raises(AclAttnError, match="of packed row 3 is wrong"):
            check_packed(values, scale_kind="e8m0")
