# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Devices, streams and events: created, used, borrowed, closed."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Device, Event, Stream


def operands(tokens: int = 64) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, tokens, 2, 32)).astype(np.float16) for _ in range(3)]


def test_a_device_is_one_object() -> None:
    assert Device(0) is Device() is Device.current()
    assert Device(0).id == 0
    assert Device.count() >= 1
    assert Device(0).name
    free, total = Device(0).memory_info()
    assert 0 < free <= total


@pytest.mark.parametrize("number", [-1, 10**6])
def test_a_device_that_is_not_there(number: int) -> None:
    with pytest.raises(acl_attn.InvalidArgumentError, match="device_id: expected a device in 0"):
        Device(number)


@pytest.mark.parametrize("number", ["0", 0.0, True, None])
def test_a_device_is_a_number(number: object) -> None:
    with pytest.raises(acl_attn.ArgumentTypeError, match="device_id: expected an int"):
        Device(number)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "factory"), [(Stream, "create_stream"), (Event, "create_event")])
def test_the_constructor_names_the_factory(kind: type, factory: str) -> None:
    with pytest.raises(TypeError, match=factory):
        kind()


def test_close_is_idempotent_and_final() -> None:
    stream = Device(0).create_stream()
    event = stream.record()
    assert acl_attn.live_objects()["stream"] == 1
    for handle in (event, stream):
        handle.close()
        handle.close()
        assert handle.is_closed
        with pytest.raises(acl_attn.ClosedError, match="closed"):
            _ = handle.handle
    with pytest.raises(acl_attn.ClosedError):
        stream.synchronize()
    with pytest.raises(acl_attn.ClosedError):
        acl_attn.attention(*operands(), stream=stream)
    assert "closed" in repr(stream)
    assert acl_attn.live_objects()["stream"] == 0


def test_collected_without_close() -> None:
    stream = Device(0).create_stream()
    cycle = [stream]
    cycle.append(cycle)  # type: ignore[arg-type]
    del stream, cycle
    gc.collect()
    assert acl_attn.live_objects()["stream"] == 0


def test_events_mark_and_time() -> None:
    with Device(0).create_stream() as stream:
        start = stream.record()
        acl_attn.attention(*operands(512), stream=stream)
        end = stream.record()
        end.synchronize(timeout=30)
        assert end.is_complete
        assert end.elapsed_ms(start) > 0
        stream.record(start)
        with Device(0).create_stream() as other:
            other.wait(start)
            other.synchronize()
    assert not Device(0).create_event().is_complete


def test_a_timeout_is_an_error_with_its_code() -> None:
    with Device(0).create_stream() as stream:
        q, k, v = (np.ones((1, 4096, 8, 128), np.float16) for _ in range(3))
        out = acl_attn.attention(q, k, v, stream=stream)
        with pytest.raises(acl_attn.DeviceFaultError) as caught:
            stream.synchronize(timeout=0)
        assert caught.value.code == 507046
        assert not stream.is_idle
        stream.synchronize()
        assert stream.is_idle
    assert np.isfinite(out).all()
    with pytest.raises(acl_attn.InvalidArgumentError, match="timeout"):
        Device(0).create_event().synchronize(timeout=-1)


class Foreign:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def __acl_stream__(self) -> tuple[int, int]:
        return 0, self.stream.handle


def test_streams_of_others() -> None:
    q, k, v = operands()
    expected = acl_attn.attention(q, k, v)
    with Device(0).create_stream() as stream:
        owner = [stream]
        borrowed = Stream.from_handle(stream.handle, owner=owner)
        for given in (borrowed, stream.handle, Foreign(stream)):
            out = acl_attn.attention(q, k, v, stream=given)
            borrowed.synchronize()
            np.testing.assert_array_equal(out, expected)
        borrowed.close()
        assert not borrowed.is_closed
        assert stream.is_idle
        del borrowed
        gc.collect()
        stream.synchronize()


@pytest.mark.parametrize(
    ("stream", "kind"),
    [(0, ValueError), (-5, ValueError), (12345, acl_attn.AclError), ("s", TypeError), (True, TypeError)],
)
def test_what_is_no_stream(stream: object, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        acl_attn.attention(*operands(), stream=stream)  # type: ignore[arg-type]
    assert isinstance(caught.value, acl_attn.AclAttnError)


def test_a_dead_stream_of_others_is_an_error() -> None:
    stream = Device(0).create_stream()
    number = stream.handle
    stream.close()
    with pytest.raises(acl_attn.AclError):
        acl_attn.attention(*operands(), stream=number)
    with pytest.raises(acl_attn.AclError):
        Stream.from_handle(number).synchronize()


def test_any_thread_has_a_device() -> None:
    q, k, v = operands()
    expected = acl_attn.attention(q, k, v)

    def work(_: int) -> None:
        np.testing.assert_array_equal(acl_attn.attention(q, k, v), expected)
        with Device(0).create_stream() as stream:
            out = acl_attn.attention(q, k, v, stream=stream)
            stream.synchronize()
            np.testing.assert_array_equal(out, expected)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    thread = threading.Thread(target=work, args=(0,))
    thread.start()
    thread.join()


def test_a_task_that_fails_is_reported_by_the_stream() -> None:
    cache = np.ones((4, 16, 2 * 32), np.float16)
    q = np.ones((1, 1, 2, 32), np.float16)
    table = np.array([[99]], np.int32)
    with pytest.raises(acl_attn.AclError, match=r"block_?[tT]able"):
        acl_attn.attention(q, cache, cache, block_table=table, kv_lengths=[3])
    stream = Device(0).create_stream()
    acl_attn.attention(q, cache, cache, block_table=table, kv_lengths=[3], stream=stream)
    with pytest.raises(acl_attn.AclError, match=r"block_?[tT]able"):
        stream.synchronize()
    stream.synchronize()
    acl_attn.attention(q, cache, cache, block_table=table, kv_lengths=[3], stream=stream)
    with pytest.raises(acl_attn.AclError, match=r"block_?[tT]able"):
        stream.close()
    assert stream.is_closed


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda stream, _: stream.record(5), "event: expected an Event, got int"),
        (lambda stream, _: stream.wait(None), "event: expected an Event, got NoneType"),
        (lambda stream, event: event.elapsed_ms(stream), "since: expected an Event, got acl_attn.streams.Stream"),
        (lambda stream, _: stream.synchronize("x"), "timeout: expected a number, got str"),
        (lambda _, event: event.synchronize(1j), "timeout: expected a number, got complex"),
        (lambda _, event: event.synchronize(float("nan")), "timeout: expected seconds"),
    ],
)
def test_arguments_of_the_wrong_type(use: Any, message: str) -> None:
    with Device(0).create_stream() as stream:
        event = stream.record()
        with pytest.raises(acl_attn.AclAttnError, match=message):
            use(stream, event)
        stream.synchronize(float("inf"))
