# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The library's functions for packed rows, on arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .._lib import ffi, lib
from ..dtypes import DType, acl_dtype, dtype_name
from ..errors import check, invalid, load_target, wrong_type
from ..values import as_array
from .packed_layout import RowLayout

__all__ = ["as_numbers", "call_pack", "call_unpack", "number_dtype"]

Array = npt.NDArray[Any]
Slots = npt.NDArray[np.int64]

_NUMBERS = tuple(np.dtype(kind) for kind in (np.float32, np.float16, ml_dtypes.bfloat16))


def number_dtype(dtype: DType, parameter: str) -> DType:
    """Check the dtype of numbers."""
    if dtype not in _NUMBERS:
        raise wrong_type(
            parameter, "float32, float16 or bfloat16", dtype_name(dtype), "convert with array.astype(np.float32)"
        )
    return dtype


def as_numbers(values: Any, layout: RowLayout) -> Array:
    """Give numbers as rows that the library can read: dense, aligned, one behind the other. Copies only if needed."""
    array = as_array(values, "values")
    number_dtype(array.dtype, "values")
    if array.ndim < 1 or array.shape[-1] != layout.channels:
        raise invalid(
            "values", f"a last axis of {layout.channels} channels, {layout.scaled} of nope, then 64 of rope",
            f"shape {array.shape}",
        )  # fmt: skip
    rows = array.reshape(-1, layout.channels)
    size = array.itemsize
    is_dense = rows.strides[1] == size and rows.strides[0] >= layout.channels * size and rows.strides[0] % size == 0
    return rows if is_dense and rows.flags.aligned else np.array(rows, order="C")


def call_pack(
    values: Array, pool: Array, layout: RowLayout, codes: DType, slots: Slots | None, full_scale: float | None
) -> None:
    """Pack rows of numbers into ``pool``, octets of shape (blocks, block_size, row_bytes)."""
    if full_scale is not None and (isinstance(full_scale, bool) or not isinstance(full_scale, (int, float))):
        raise wrong_type("full_scale", "a number or None", type(full_scale).__name__)
    if full_scale == 0:  # to the library it means None
        raise invalid("full_scale", "a number from 1 to the format's largest", full_scale)
    described = _pool(pool, layout, codes)
    load_target()
    status = lib.aclAttnPackRows(
        *_numbers(values), len(values), _pointer("int64_t *", slots), float(full_scale or 0), described
    )
    check(status, "aclAttnPackRows", {"fullScale": "full_scale"})


def call_unpack(pool: Array, values: Array, layout: RowLayout, codes: DType, slots: Slots | None) -> None:
    """Unpack rows of ``pool`` into rows of numbers."""
    described = _pool(pool, layout, codes)
    address, dtype, stride = _numbers(values)
    load_target()
    status = lib.aclAttnUnpackRows(
        described, _pointer("int64_t *", slots), len(values), address, dtype, stride
    )  # fmt: skip
    check(status, "aclAttnUnpackRows")


def _pool(pool: Array, layout: RowLayout, codes: DType) -> ffi.CData:
    return ffi.new(
        "aclAttnRowPool *",
        {
            "kind": layout.kind,
            "codes": acl_dtype(codes, "dtype"),
            "address": _pointer("void *", pool),
            "blockCount": pool.shape[0],
            "blockSize": pool.shape[1],
            "blockStride": pool.strides[0],
        },
    )


def _numbers(values: Array) -> tuple[ffi.CData, int, int]:
    stride = values.strides[0] // values.itemsize if len(values) > 1 else values.shape[1]
    return _pointer("void *", values), acl_dtype(values.dtype, "values"), stride


def _pointer(kind: str, array: Array | None) -> ffi.CData:
    return ffi.NULL if array is None else ffi.cast(kind, array.ctypes.data)
