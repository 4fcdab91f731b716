# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of the element types that NumPy lacks, on their way to the library."""

from __future__ import annotations

import numpy as np
import pytest

from acl_attn import ArgumentTypeError, Buffer, InvalidArgumentError, Spec, Tensor
from acl_attn._targets import HOST
from acl_attn.addresses import as_tensor_or_placeholder, pointer_as_planned
from acl_attn.dtypes import encode, float4_e2m1fn_x2, hifloat8, int4_x2
from acl_attn.handle_set import HandleSet


def array_of(dtype: np.dtype) -> np.ndarray:
    return np.arange(24, dtype=np.uint8).reshape(2, 3, 4).view(dtype)


@pytest.mark.parametrize(("dtype", "elements"), [(hifloat8, 1), (int4_x2, 2), (float4_e2m1fn_x2, 2)])
def test_shapes_count_elements(dtype: np.dtype, elements: int) -> None:
    array = array_of(dtype)
    tensor = Tensor.from_array(array)
    assert tensor.shape == (2, 3, 4 * elements)
    assert tensor.strides is None
    assert tensor.nbytes == 24
    again = tensor.as_array()
    assert again.dtype == dtype
    assert again.tobytes() == array.tobytes()
    strided = Tensor.from_array(array.transpose(1, 0, 2)[::2])
    assert strided.shape == (2, 2, 4 * elements)
    assert strided.strides == (8 * elements, 12 * elements, 1)
    np.testing.assert_array_equal(strided.as_array(), array.transpose(1, 0, 2)[::2])
    backwards = Tensor.from_array(array[::-1])
    assert backwards.strides == (-12 * elements, 4 * elements, 1)
    np.testing.assert_array_equal(backwards.as_array(), array[::-1])
    handles = HandleSet()
    try:
        for each in (tensor, strided):
            handles.tensor(each, "key")
    finally:
        handles.destroy()


def test_memory_from_elsewhere() -> None:
    array = array_of(int4_x2)
    tensor = Tensor.from_ptr(array.ctypes.data, array.shape, "int4_x2", owner=array)
    assert tensor.shape == (2, 3, 8)
    buffer = Buffer(24)
    assert Tensor.from_buffer(buffer, (2, 12), "float4_e2m1fn_x2").shape == (2, 24)
    buffer.close()


def test_specs_are_of_arrays() -> None:
    spec = Spec((2, 3, 4), "int4_x2")
    assert spec.dtype == int4_x2
    assert as_tensor_or_placeholder(spec, "key").shape == Tensor.from_array(array_of(int4_x2)).shape


def test_packed_elements_lie_side_by_side() -> None:
    for wrong in (array_of(int4_x2)[..., ::2], array_of(int4_x2).transpose(2, 0, 1)):
        with pytest.raises(
            InvalidArgumentError, match=r"array: expected packed elements side by side, got a last stride"
        ):
            Tensor.from_array(wrong)
    with pytest.raises(
        InvalidArgumentError, match="array: expected an axis along which elements are packed, got a scalar"
    ):
        Tensor.from_array(encode([1, 2], "int4_x2")[0:1].reshape(()))


def test_a_plan_counts_as_arrays_do() -> None:
    planned = Tensor.from_array(array_of(int4_x2))
    assert pointer_as_planned(array_of(int4_x2), "key", planned, HOST)
    for wrong in (encode(np.zeros((2, 3, 16)), "int4_x2"), encode(np.zeros((2, 3, 4)), "int4_x2")):
        with pytest.raises(InvalidArgumentError, match=r"key: expected .* as planned"):
            pointer_as_planned(wrong, "key", planned, HOST)
    with pytest.raises(ArgumentTypeError, match="key: expected dtype int4_x2 as planned, got dtype hifloat8"):
        pointer_as_planned(array_of(hifloat8), "key", planned, HOST)
