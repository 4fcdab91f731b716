# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of the element types that NumPy lacks: they stay what they are, and are never taken for integers."""

from __future__ import annotations

import io
import pickle

import ml_dtypes
import numpy as np
import pytest

from acl_attn.dtypes import (
    acl_dtype,
    as_dtype,
    dtype_name,
    elements_per_item,
    float4_e2m1fn_x2,
    hifloat8,
    int4_x2,
)
from acl_attn.errors import ArgumentTypeError

CARRIERS = {"hifloat8": hifloat8, "int4_x2": int4_x2, "float4_e2m1fn_x2": float4_e2m1fn_x2}


@pytest.fixture(params=CARRIERS)
def array(request: pytest.FixtureRequest) -> np.ndarray:
    return np.arange(24, dtype=np.uint8).reshape(2, 3, 4).view(CARRIERS[request.param])


def test_operations_keep_the_dtype(array: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array)
    buffer.seek(0)
    for other in (
        *(array[1:], array[..., ::2], array.reshape(6, 4), array.transpose(2, 0, 1), array.copy(), array[0, 0, :1]),
        *(
            np.ascontiguousarray(array.T),
            np.concatenate([array, array]),
            np.stack([array, array]),
            array.swapaxes(0, 1),
        ),
        *(np.take(array, [1], 0), np.empty_like(array), np.load(buffer), pickle.loads(pickle.dumps(array))),
    ):
        assert other.dtype == array.dtype
    assert array.transpose(2, 0, 1).view(np.uint8)[3, 1, 2] == 23


def test_codes_are_no_numbers(array: np.ndarray) -> None:
    for wrong in (
        lambda: array + 1,
        lambda: array * array,
        lambda: array.astype(np.float32),
        lambda: float(array[0, 0, 0]),
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()


@pytest.mark.parametrize(
    ("name", "acl", "elements"), [("hifloat8", 34, 1), ("int4_x2", 29, 2), ("float4_e2m1fn_x2", 40, 2)]
)
def test_names_and_numbers(name: str, acl: int, elements: int) -> None:
    assert as_dtype(name) == CARRIERS[name]
    assert as_dtype(CARRIERS[name]) is CARRIERS[name]
    assert dtype_name(CARRIERS[name]) == name
    assert acl_dtype(CARRIERS[name], "key") == acl
    assert elements_per_item(CARRIERS[name]) == elements
    assert len({*CARRIERS.values(), np.dtype(np.uint8), np.dtype("V1")}) == 5


@pytest.mark.parametrize(("dtype", "function"), [("int4", "pack_int4"), ("float4_e2m1fn", "pack_float4")])
def test_unpacked_elements_are_refused(dtype: str, function: str) -> None:
    with pytest.raises(ArgumentTypeError, match=rf"key: expected two 4-bit elements a byte, .*{function}"):
        acl_dtype(np.dtype(getattr(ml_dtypes, dtype)), "key")


def test_other_records_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="dtype: expected a numeric dtype"):
        as_dtype(np.dtype([("hifloat", "V1")]))
