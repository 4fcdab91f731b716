# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers and descriptions of memory: nothing is copied, nothing dangles."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Buffer, Device, Spec, Stream, Tensor
from acl_attn._inflight import Keeping
from acl_attn._target_numbers import HOST
from acl_attn.handle_set import HandleSet
from acl_attn.memory import WorkspaceCache
from acl_attn.tensor import as_tensor


def test_a_buffer_outlives_its_close_while_an_array_uses_it() -> None:
    buffer = Buffer(1024)
    array = buffer.as_array("float16", (4, 8))
    array[...] = 2
    buffer.close()
    buffer.close()
    assert buffer.is_closed
    with pytest.raises(acl_attn.ClosedError):
        _ = buffer.address
    assert acl_attn.live_objects()["device_memory"] == 1
    assert array.sum() == 64
    del array
    assert acl_attn.live_objects()["device_memory"] == 0


def test_memory_can_be_let_go_in_any_thread() -> None:
    buffers = [Buffer(1 << 20)]
    thread = threading.Thread(target=buffers.clear)
    thread.start()
    thread.join()
    assert acl_attn.live_objects()["device_memory"] == 0


@pytest.mark.parametrize(("size", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_sizes_that_are_none(size: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="nbytes"):
        Buffer(size)  # type: ignore[arg-type]


def test_too_much_memory() -> None:
    with pytest.raises(acl_attn.OutOfMemoryError):
        Buffer(2**62)


def test_shapes_must_fit_into_the_buffer() -> None:
    with Buffer(64) as buffer:
        for shape in ((33,), (-1,), (4, 9)):
            with pytest.raises(acl_attn.InvalidArgumentError, match="shape"):
                buffer.as_array("float16", shape)
            with pytest.raises(acl_attn.InvalidArgumentError, match="shape"):
                Tensor.from_buffer(buffer, shape, "float16")
        assert buffer.as_array("bfloat16", (2, 16)).dtype == ml_dtypes.bfloat16
        part = Tensor.from_buffer(buffer, (4,), "float16", offset=8)
        assert part.address == buffer.address + 8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int32", "bool"])
def test_pointers_keep_their_owner_and_come_back_as_arrays(dtype: str) -> None:
    class Owner(np.ndarray):
        pass

    owner = np.zeros((3, 5), np.dtype(dtype)).view(Owner)
    alive = weakref.ref(owner)
    tensor = Tensor.from_ptr(owner.ctypes.data, owner.shape, dtype, owner=owner)
    array = tensor.as_array()
    assert (array.dtype, array.shape) == (owner.dtype, owner.shape)
    array[1, 2] = 1
    assert owner[1, 2] == 1
    del owner, tensor
    gc.collect()
    assert alive() is not None
    del array
    gc.collect()
    assert alive() is None


def test_read_only_memory_stays_read_only() -> None:
    array = np.zeros(4, np.float16)
    assert not Tensor.from_ptr(array.ctypes.data, (4,), "float16", writable=False).as_array().flags.writeable
    array.flags.writeable = False
    assert not Tensor.from_array(array).is_writable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, (4,), "float16"), "ptr: expected an address"),
        ((-1, (4,), "float16"), "ptr"),
        (("x", (4,), "float16"), "ptr: expected an int"),
        ((64, (-4,), "float16"), "shape: expected extents of at least 0"),
        ((64, 4, "float16"), "shape: expected a sequence of int"),
        ((64, (4,), "float17"), "dtype: expected a dtype"),
        ((64, (4,), "datetime64"), "dtype"),
    ],
)
def test_wrong_descriptions(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(acl_attn.AclAttnError, match=message):
        Tensor.from_ptr(*arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="from_array"):
        Tensor()


def test_arrays_are_described_without_a_copy() -> None:
    array = np.zeros((4, 6, 8), ml_dtypes.bfloat16)
    dense = as_tensor(array, "query")
    assert (dense.address, dense.shape, dense.strides) == (array.ctypes.data, (4, 6, 8), None)
    view = array[::2, :, 1:5]
    strided = as_tensor(view, "query")
    assert (strided.address, strided.strides) == (view.ctypes.data, (96, 8, 1))
    backwards = as_tensor(array[::-1], "query")
    assert backwards.strides == (-48, 8, 1)
    assert np.shares_memory(strided.as_array(), array)


def test_what_numpy_can_import_is_an_operand() -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)

    class Interface:
        __array_interface__ = array.__array_interface__

    class DLPack:
        def __dlpack__(self, **options: object) -> object:
            return array.__dlpack__(**options)  # type: ignore[arg-type]

        def __dlpack_device__(self) -> tuple[int, int]:
            return array.__dlpack_device__()

    for value in (Interface(), DLPack()):
        assert as_tensor(value, "query").address == array.ctypes.data


class Elsewhere:
    def __dlpack__(self, **_: object) -> object:
        raise BufferError("the memory is on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 12, 0


@pytest.mark.parametrize(
    "value", [[1.0], 1.0, None, "abc", object(), Elsewhere(), np.zeros(2, object), np.zeros(2, "S3")]
)
def test_what_is_no_array(value: object) -> None:
    with pytest.raises(acl_attn.ArgumentTypeError, match=r"^query: expected"):
        as_tensor(value, "query")


def test_a_resize_cannot_pull_the_memory_away() -> None:
    array = np.zeros(8, np.float16)
    tensor = as_tensor(array, "query")
    with pytest.raises(ValueError, match="resize"):
        array.resize(1 << 20)
    assert tensor.shape == (8,)


def test_a_spec_is_no_operand() -> None:
    spec = Spec((1, 4, 2, 16), "float16")
    with pytest.raises(acl_attn.ArgumentTypeError, match="query"):
        acl_attn.attention(spec, spec, spec)
    with pytest.raises(acl_attn.ArgumentTypeError, match="dtype"):
        Spec((1,), "what")  # type: ignore[arg-type]


def test_handles_are_destroyed_together() -> None:
    before = acl_attn.live_objects()
    handles = HandleSet()
    tensor = as_tensor(np.zeros((2, 3), np.float16), "query")
    handles.tensor(tensor, "query")
    handles.tensor_list([tensor, tensor], "key")
    handles.int_array([1, 2, 3])
    alive = acl_attn.live_objects()
    assert alive["tensor"] - before["tensor"] in (1, 3)  # whether or not a list's members count
    assert alive["tensor_list"] - before["tensor_list"] == 1
    assert alive["int_array"] - before["int_array"] == 1
    handles.destroy()
    handles.destroy()
    assert acl_attn.live_objects() == before


def test_a_list_that_cannot_be_made_leaves_nothing() -> None:
    handles = HandleSet()
    good = as_tensor(np.zeros((2, 3), np.float16), "key")
    bad = as_tensor(np.zeros((1,) * 9, np.float16), "key")
    with pytest.raises(acl_attn.InvalidArgumentError, match="key: expected an array that the target can describe"):
        handles.tensor_list([good, bad], "key")
    handles.destroy()


def test_the_workspace_cache_is_bounded() -> None:
    cache = WorkspaceCache()
    assert cache.borrow(0) is None
    borrowed = [cache.borrow(100) for _ in range(5)]
    assert len({buffer.address for buffer in borrowed if buffer}) == 5
    for buffer in borrowed:
        cache.give_back(buffer)
    assert len(cache.idle([HOST])) == 2
    small = cache.borrow(10)
    assert small is not None
    assert len(cache.idle([HOST])) == 1
    large = cache.borrow(1 << 20)
    assert large is not None
    assert large.nbytes >= 1 << 20
    cache.give_back(large)
    assert sum(cache.idle([HOST])) == large.nbytes
    cache.clear()
    assert cache.idle([HOST]) == []


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda _: acl_attn.Spec((2.7,), "float16"), r"shape\[0\]: expected an int, got float"),
        (lambda _: acl_attn.Spec("33", "float16"), "shape: expected a sequence of int, got str"),
        (lambda _: acl_attn.Spec((True,), "float16"), r"shape\[0\]: expected an int, got bool"),
        (lambda _: acl_attn.Spec((2**70,), "float16"), r"shape\[0\]: expected an integer of 64 bits"),
        (lambda _: acl_attn.Spec((2,), None), "dtype: expected a dtype or its name"),
        (lambda b: Tensor.from_ptr(b.address, (2, 2), "float16", strides=(1.5, 1)), r"strides\[0\]: expected an int"),
        (lambda b: Tensor.from_ptr(b.address, (2, 2), "float16", strides=5), "strides: expected a sequence of int"),
        (lambda b: Tensor.from_ptr(b.address, (2,), "float16", writable="no"), "writable: expected a bool"),
        (lambda _: Tensor.from_buffer(b"x", (2,), "float16"), "buffer: expected a Buffer, got bytes"),
        (lambda b: Tensor.from_buffer(b, (2,), "float16", offset=1.5), "offset: expected an int, got float"),
        (lambda b: b.as_array("float16", 5), "shape: expected a sequence of int, got int"),
        (lambda b: b.as_array("float16", (2.5,)), r"shape\[0\]: expected an int, got float"),
    ],
)
def test_shapes_are_read_as_integers_and_never_rounded(use: Any, message: str) -> None:
    with Buffer(64) as buffer, pytest.raises(acl_attn.AclAttnError, match=message):
        use(buffer)


def queue_and_be_interrupted(stream: Stream, operand: object) -> None:
    heavy = [np.ones((1, 2000, 8, 128), np.float16) for _ in range(3)]
    with Keeping(stream._live(), operand):
        acl_attn.attention(*heavy, stream=stream)
        raise KeyboardInterrupt  # behind phase two


def test_what_an_interrupted_call_has_queued_keeps_what_it_needs() -> None:
    class Operand:
        """Something that can be watched."""

    operand = Operand()
    watched = weakref.ref(operand)
    with Device(0).create_stream() as stream:
        with pytest.raises(KeyboardInterrupt):
            queue_and_be_interrupted(stream, operand)
        del operand
        gc.collect()
        assert watched() is not None or stream.is_idle
        stream.synchronize()
        assert watched() is None


def test_waiting_for_everything_ends_where_an_event_was_never_recorded() -> None:
    with Device(0).create_stream() as stream:
        keeping = Keeping(stream._live(), object())
        keeping.__enter__()  # and an interrupt came before the event's record
        acl_attn.shutdown()
