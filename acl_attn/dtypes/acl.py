# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Element types: NumPy's and ml_dtypes' on one side, ``aclDataType`` on the other."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from .._lib import lib
from ..errors import wrong_type
from .carriers import CARRIERS, float4_e2m1fn_x2, hifloat8, int4_x2

__all__ = ["DType", "acl_dtype", "as_dtype", "dtype_name", "elements_per_item"]

DType: TypeAlias = np.dtype[Any]

# Keyed by the dtype object and never by its type string: bfloat16 is "<V2" there, and three 8-bit types are all "<V1".
_ACL: dict[DType, int] = {
    np.dtype(numpy): acl
    for numpy, acl in (
        (np.float16, lib.ACL_FLOAT16),
        (ml_dtypes.bfloat16, lib.ACL_BF16),
        (np.float32, lib.ACL_FLOAT),
        (np.float64, lib.ACL_DOUBLE),
        (np.bool_, lib.ACL_BOOL),
        (np.int8, lib.ACL_INT8),
        (np.int16, lib.ACL_INT16),
        (np.int32, lib.ACL_INT32),
        (np.int64, lib.ACL_INT64),
        (np.uint8, lib.ACL_UINT8),
        (np.uint16, lib.ACL_UINT16),
        (np.uint32, lib.ACL_UINT32),
        (np.uint64, lib.ACL_UINT64),
        (np.complex64, lib.ACL_COMPLEX64),
        (np.complex128, lib.ACL_COMPLEX128),
        (ml_dtypes.float8_e4m3fn, lib.ACL_FLOAT8_E4M3FN),
        (ml_dtypes.float8_e5m2, lib.ACL_FLOAT8_E5M2),
        (ml_dtypes.float8_e8m0fnu, lib.ACL_FLOAT8_E8M0),
        (hifloat8, lib.ACL_HIFLOAT8),
        (int4_x2, lib.ACL_INT4),
        (float4_e2m1fn_x2, lib.ACL_FLOAT4_E2M1),
    )
}

_TO_PACK = {np.dtype(ml_dtypes.int4): "pack_int4", np.dtype(ml_dtypes.float4_e2m1fn): "pack_float4"}


def acl_dtype(dtype: DType, parameter: str) -> int:
    """Give the ``aclDataType`` of a NumPy dtype, or refuse it in the parameter's name."""
    found = _ACL.get(dtype)
    if found is None:
        raise _refuse(dtype, parameter)
    return found


def _refuse(dtype: DType, parameter: str) -> Exception:
    if not dtype.isnative:
        return wrong_type(
            parameter, "native byte order", f"dtype {dtype.str}", "use array.astype(array.dtype.newbyteorder('='))"
        )
    if dtype in _TO_PACK:
        return wrong_type(
            parameter,
            "two 4-bit elements a byte",
            f"dtype {dtype}, which has one a byte",
            f"pack it with acl_attn.dtypes.{_TO_PACK[dtype]}(...)",
        )
    return wrong_type(parameter, "a numeric dtype such as float16 or bfloat16", f"dtype {dtype}")


def elements_per_item(dtype: DType) -> int:
    """Count the elements that operators see in one item of an array: 2 for packed 4-bit types, else 1."""
    return 2 if dtype in (int4_x2, float4_e2m1fn_x2) else 1


def dtype_name(dtype: DType) -> str:
    """Name a dtype as `as_dtype` takes it; the carriers' own text is that of a record."""
    return dtype.names[0] if dtype.names else str(dtype)


def as_dtype(value: object, parameter: str = "dtype") -> DType:
    """Turn a dtype, scalar type or name (``"bfloat16"``, ``"hifloat8"``) into a dtype that operators know."""
    refusal = wrong_type(parameter, "a dtype or its name, such as 'float16' or 'bfloat16'", repr(value))
    if value is None:  # float64 to NumPy
        raise refusal
    try:
        named = CARRIERS.get(value) if isinstance(value, str) else None
        dtype: DType = named or np.dtype(value)  # type: ignore[call-overload]
    except TypeError:
        raise refusal from None
    acl_dtype(dtype, parameter)
    return dtype
