# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Packed rows: bytes made by hand from the byte map, errors, limits, and what is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn._lib import ffi, lib
from acl_attn.dtypes import hifloat8
from acl_attn.errors import ArgumentTypeError, InvalidArgumentError, recent_message
from acl_attn.kvcache import check_packed, pack, packed_byte_map, unpack
from acl_attn.reference.sparse.packed import unpack_rows

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
DTYPES = [E4M3, hifloat8]
TARGETS = [name for name, is_usable in acl_attn.get_cpu_targets().items() if is_usable]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest):
    acl_attn.set_cpu_target(request.param)
    yield request.param
    acl_attn.set_cpu_target(None)


def golden_values() -> np.ndarray:
    values = np.zeros(512, np.float32)
    values[:4] = 448, 1, -2, 2**-9  # tile 0
    values[64:66] = 449, 1  # tile 1
    values[192] = -0.875  # tile 3; tile 2 and the others are zeros
    values[448:450] = 1, -2.5  # rope
    return values


def golden_row(scales: str) -> bytes:
    """Bytes by the byte map: 0x7e is 448, 0x76 is 224, 0x30 is 0.5, 0x38 is 1, 0xc0 is -2."""
    row = bytearray(640)
    row[0:4] = bytes.fromhex("803f 20c0")
    row[128:132] = bytes.fromhex("7e 38 c0 01")
    row[128 + 192] = 0xFE
    if scales == "e8m0":  # 1, 2, 2^-9, and 2^-22 for zeros
        row[192:194] = bytes.fromhex("76 30")
        row[576:583] = bytes.fromhex("7f 80 69 76 69 69 69")
    else:  # 1, 449 / 448 rounded up to 1 + 2^-7, 2^-9, and 1e-4 / 448 rounded up
        row[192:194] = bytes.fromhex("7e 38")
        row[576:590] = bytes.fromhex("803f 813f 7034 003b 7034 7034 7034")
    return bytes(row)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("scales", ["e8m0", "bf16"])
@pytest.mark.usefixtures("target")
def test_golden_row(scales: str, dtype: type) -> None:
    values = golden_values().astype(dtype)
    if dtype == ml_dtypes.bfloat16:
        values[64] = 450  # bfloat16 has no 449; both give the same codes
        if scales == "bf16":
            return
    assert pack(values, scale_kind=scales).tobytes().hex() == golden_row(scales).hex()


@pytest.mark.usefixtures("target")
def test_golden_hifloat8_row() -> None:
    values = np.zeros(512, np.float32)
    values[:6] = 15, 1, -2, 0.5, 4, 2**-9
    row = bytearray(640)
    row[128:134] = bytes.fromhex("2f 08 90 18 20 72")
    row[576:583] = bytes.fromhex("7f 6e 6e 6e 6e 6e 6e")  # 1, and 2^-17 for zeros
    assert pack(values, hifloat8, scale_kind="e8m0").tobytes().hex() == row.hex()


def test_golden_row_unpacks() -> None:
    row = np.frombuffer(golden_row("e8m0"), E4M3)
    back = unpack(row, scale_kind="e8m0")
    assert back[:4].tolist() == [448, 1, -2, 2**-9]
    assert back[64:66].tolist() == [448, 1]
    assert back[192] == -0.875
    assert back[448:450].tolist() == [1, -2.5]
    assert np.count_nonzero(back) == 9


def random_values(seed: int = 0, rows: int = 37) -> np.ndarray:
    generator = np.random.default_rng(seed)
    sizes = 2.0 ** generator.integers(-10, 30, (rows, 1))  # scales stop at that of 1e-4
    return (generator.standard_normal((rows, 512)) * sizes).astype(np.float32)


@pytest.mark.parametrize("scales", ["e8m0", "bf16"])
@pytest.mark.parametrize("dtype", DTYPES, ids=["e4m3", "hif8"])
@pytest.mark.usefixtures("target")
def test_every_code_is_the_nearest(dtype: np.dtype, scales: str) -> None:
    assert check_packed(random_values(), dtype, scale_kind=scales).max_error < 1 / 16
    wide = random_values(1) * np.logspace(-12, 0, 512, dtype=np.float32)
    check_packed(wide, dtype, scale_kind=scales)
    full = 448.0 if dtype == E4M3 else 32768.0
    check_packed(wide, dtype, scale_kind=scales, full_scale=full)
    check_packed(wide, dtype, scale_kind=scales, full_scale=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=["e4m3", "hif8"])
@pytest.mark.usefixtures("target")
def test_all_bytes_unpack_as_the_reference_says(dtype: np.dtype) -> None:
    octets = np.random.default_rng(2).integers(0, 256, (300, 640), np.uint8)
    octets[:256, 576] = np.arange(256)  # every scale
    octets[:, 128:192] = np.resize(np.arange(256, dtype=np.uint8), (300, 64))
    rows = octets.view(dtype).reshape(300, 640)
    got = unpack(rows, ml_dtypes.bfloat16, scale_kind="e8m0")
    with np.errstate(invalid="ignore"):  # NaN of any kind
        np.testing.assert_array_equal(got.astype(np.float64), unpack_rows(rows))


@pytest.mark.parametrize("dtype", DTYPES, ids=["e4m3", "hif8"])
@pytest.mark.parametrize("full_scale", [None, 1, 448])
@pytest.mark.usefixtures("target")
def test_huge_numbers_saturate(dtype: np.dtype, full_scale: float | None) -> None:
    most = np.finfo(np.float32).max
    for scales in ("e8m0", "bf16"):
        values = np.linspace(-1, 1, 512, dtype=np.float32)[None] * most
        back = unpack(pack(values, dtype, scale_kind=scales, full_scale=full_scale), scale_kind=scales)
        rounded = back.astype(ml_dtypes.bfloat16).astype(np.float32)
        assert np.isfinite(rounded).all()
        assert (np.abs(back - values) <= np.abs(values) * 0.6).all()  # 1 bit of mantissa, after saturation


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("channel", [0, 447, 448, 511])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_numbers_that_are_not_finite_are_named(bad: float, channel: int, dtype: type) -> None:
    values = np.ones((700, 512), dtype)
    values[[600, 650], channel] = bad
    with pytest.raises(InvalidArgumentError, match=rf"values\[600\]\[{channel}\]: expected finite numbers"):
        pack(values, scale_kind="e8m0")


def test_views_and_shapes() -> None:
    values = random_values(3, 24)
    want = pack(values, scale_kind="e8m0").view(np.uint8)
    wide = np.full((48, 600), np.nan, np.float32)
    wide[::2, :512] = values
    np.testing.assert_array_equal(pack(wide[::2, :512], scale_kind="e8m0").view(np.uint8), want)
    np.testing.assert_array_equal(pack(values[::-1], scale_kind="e8m0").view(np.uint8), want[::-1])
    np.testing.assert_array_equal(pack(values.T.copy().T, scale_kind="e8m0").view(np.uint8), want)
    shaped = pack(values.reshape(2, 3, 4, 512), scale_kind="e8m0")
    assert shaped.shape == (2, 3, 4, 640)
    assert unpack(shaped, scale_kind="e8m0").shape == (2, 3, 4, 512)
    assert unpack(pack(values[:0], scale_kind="e8m0"), scale_kind="e8m0").shape == (0, 512)


def test_threads_do_not_change_bytes() -> None:
    values = random_values(4, 2000)
    acl_attn.set_num_threads(1)
    one = pack(values, hifloat8, scale_kind="e8m0")
    acl_attn.set_num_threads(5)
    many = pack(values, hifloat8, scale_kind="e8m0")
    acl_attn.set_num_threads(0)
    assert one.tobytes() == many.tobytes()


@pytest.mark.parametrize("size", [584, 608, 656])
def test_rows_of_other_sizes_name_the_converter(size: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"from_foreign_rows converts rows of {size} bytes"):
        unpack(np.zeros((3, size), E4M3), scale_kind="e8m0")


def test_what_is_refused() -> None:
    rows, values = np.zeros((3, 640), E4M3), np.zeros((3, 512), np.float32)
    with pytest.raises(InvalidArgumentError, match=r"kvcache\.pack"):
        unpack(np.zeros((3, 512), E4M3), scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match=r"scale_kind: expected 'e8m0' or 'bf16'"):
        pack(values, scale_kind="fp32")
    with pytest.raises(InvalidArgumentError, match="codes: expected float8_e4m3fn or hifloat8"):
        unpack(rows.view(np.uint8), scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match="codes: expected None"):
        unpack(rows, scale_kind="e8m0", codes="hifloat8")
    with pytest.raises(ArgumentTypeError, match="dtype: expected float8_e4m3fn or hifloat8"):
        pack(values, np.int8, scale_kind="e8m0")
    with pytest.raises(ArgumentTypeError, match=r"values: expected float32, .*float64; convert"):
        pack(values.astype(np.float64), scale_kind="e8m0")
    with pytest.raises(InvalidArgumentError, match="values: expected a last axis of 512"):
        pack(values[:, :448], scale_kind="e8m0")
    with pytest.raises(ArgumentTypeError, match="rows: expected an ndarray"):
        unpack([1], scale_kind="e8m0")  # type: ignore[arg-type]
    for wrong in (0, 0.5, 449, -1, np.nan, np.inf):
        with pytest.raises(InvalidArgumentError, match="full_scale: expected"):
            pack(values, scale_kind="e8m0", full_scale=wrong)
    with pytest.raises(InvalidArgumentError, match="row_bytes: expected 640, 608, 584 or 656, got 512"):
        packed_byte_map(512)


def test_byte_maps_cover_every_byte() -> None:
    for size in (640, 608, 584, 656):
        spans = [line.split("  ")[-1] and line.strip().split()[:3] for line in packed_byte_map(size).splitlines()[1:]]
        assert [int(span[0]) for span in spans] == [0, *(int(span[2]) + 1 for span in spans[:-1])]
        assert int(spans[-1][2]) == size - 1


@pytest.mark.parametrize("exponent", range(49, 63))
def test_strides_beyond_any_memory_are_refused(exponent: int) -> None:
    values, rows = np.ones((2, 512), np.float16), np.zeros((2, 640), np.uint8)
    pool = ffi.new("aclAttnRowPool *")
    pool.kind, pool.codes, pool.address = lib.ACL_ATTN_ROW_640_E8M0, lib.ACL_FLOAT8_E4M3FN, ffi.from_buffer(rows)
    pool.blockCount, pool.blockSize, pool.blockStride = 1, 2, 1280
    numbers = ffi.from_buffer(values), lib.ACL_FLOAT16
    assert lib.aclAttnPackRows(*numbers, 512, 2, ffi.NULL, 0.0, pool) == 0
    assert lib.aclAttnPackRows(*numbers, 2**exponent, 2, ffi.NULL, 0.0, pool) == 161002
    assert "count: expected numbers that fit into memory" in recent_message()
    assert lib.aclAttnUnpackRows(pool, ffi.NULL, 2, *numbers, 2**exponent) == 161002
    pool.blockCount, pool.blockSize, pool.blockStride = 2, 1, 2**exponent
    assert lib.aclAttnPackRows(*numbers, 512, 2, ffi.NULL, 0.0, pool) == 161002
    assert "pool->blockCount: expected a pool that fits into memory" in recent_message()
