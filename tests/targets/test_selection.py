# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Which target a call runs on: the process's, a thread's, a device's; several in one process."""

from __future__ import annotations

import pytest

import acl_attn

from .standin import StandIn


def test_names_are_checked() -> None:
    for call in (lambda: acl_attn.use("gpu"), lambda: acl_attn.Device(0, "gpu")):
        with pytest.raises(
            acl_attn.InvalidArgumentError, match="target: expected one of host, sim, npu, cann, got 'gpu'"
        ):
            call()
    with pytest.raises(acl_attn.ArgumentTypeError, match="target: expected a str, got int"):
        acl_attn.use(3)  # type: ignore[arg-type]
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"device_id: expected a device in 0\.\.0, got 7"):
        acl_attn.use("host", 7)
    acl_attn.Device(0, "sim")
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"device_id: expected a device in 0\.\.0, got 65536"):
        acl_attn.Device(1 << 16, "host")  # the key of the simulator's first


def test_the_variable_and_use_choose_for_the_process(standin: StandIn) -> None:
    program = """
current = acl_attn.Device.current
assert current().target == "cann", "ACL_ATTN_TARGET"
assert acl_attn.use("host") is acl_attn.Device(0)
assert current() is acl_attn.Device(0, "host") and repr(current()) == "Device(0)"
seen = []
def look():
    seen.append(current().target)
    ready.wait(); go.wait()
    seen.append(current().target)
ready, go = threading.Barrier(2), threading.Event()
thread = threading.Thread(target=look)
thread.start(); ready.wait()
chosen = acl_attn.use("cann")
go.set(); thread.join()
assert seen == ["host", "cann"], seen
assert repr(chosen) == "Device(0, 'cann')" and chosen.id == 0 and chosen.name == "Ascend910B3"
acl_attn.Device(0, "host").make_current()
assert current().target == "host"
thread = threading.Thread(target=look)
ready = threading.Barrier(1)
thread.start(); thread.join()
assert seen[-2:] == ["cann", "cann"]
assert acl_attn.environment().target == "host"
"""
    standin.run(program, "split", ACL_ATTN_TARGET="cann")


def test_a_target_that_cannot_be_used_changes_nothing(standin: StandIn) -> None:
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
for name in ("sim", "npu", "cann"):
    message = refused(lambda: acl_attn.use(name), acl_attn.BackendMissingError)
    assert f"target {name!r}" in message, message
    same(acl_attn.attention(q, k, v), expected)
    assert acl_attn.Device.current().target == "host"
"""
    standin.run(program, ACL_ATTN_SIM_LIBRARY="/nowhere/libacl_attn_sim.so")


def test_targets_live_side_by_side(standin: StandIn) -> None:
    """Objects know their target, whatever the thread uses that ends them."""
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
devices = [acl_attn.Device(0, name) for name in ("host", "sim", "cann")]
assert len({id(device) for device in devices}) == 3
streams = [device.create_stream() for device in devices]
plans = [acl_attn.Plan(q, k, v, device=device) for device in devices]
def work(order):
    for _ in range(8):
        for index in order:
            same(acl_attn.attention(q, k, v, device=devices[index]), expected)
            same(plans[index].run(), expected)
            assert acl_attn.Device.current() is devices[0]
threads = [threading.Thread(target=work, args=(order,)) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0))]
for thread in threads: thread.start()
for thread in threads: thread.join()
outs = [(index, plans[index].run(stream=streams[index]), acl_attn.attention(q, k, v, stream=streams[index]))
        for index in (2, 0, 1, 1, 0, 2)]
marks = [stream.record() for stream in streams]
for mark in marks:
    mark.synchronize()
    assert mark.is_complete
for _, *found in outs:
    for out in found:
        same(out, expected)
for stream in streams:
    stream.synchronize()
    assert stream.is_idle
    first = stream.record()
    last = stream.record()
    last.synchronize()
    assert last.elapsed_ms(first) >= 0
buffers = []
for device in devices:
    device.make_current()
    buffers.append(acl_attn.Buffer(64))
def end():
    while plans:
        plans.pop().close()
        streams.pop().close()
        buffers.pop()
ending = threading.Thread(target=end)
ending.start(); ending.join()
del stream, first, last, mark, marks, threads, ending
devices[0].make_current()
gc.collect()
left = {kind: count for kind, count in acl_attn.live_objects().items() if count}
assert not left, left
assert set(device_objects()) == {0}
"""
    standin.run(program, "split", ACL_ATTN_SIM_LIBRARY=str(standin.host_library.with_name("libacl_attn_sim.so")))


def test_a_forked_child_keeps_away_from_the_device(standin: StandIn) -> None:
    program = """
import warnings
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
device = acl_attn.use("cann")
stream, plan, buffer = device.create_stream(), acl_attn.Plan(q, k, v), acl_attn.Buffer(64)
same(plan.run(stream=stream), expected) if False else stream.synchronize()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
if child == 0:
    status = 1
    try:
        message = refused(lambda: acl_attn.attention(q, k, v), acl_attn.BackendMissingError)
        assert "expected a process that was not forked after its first use" in message, message
        same(acl_attn.attention(q, k, v, device=acl_attn.Device(0, "host")), expected)
        plan.close()
        del buffer, stream
        gc.collect()
        status = 0
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
same(plan.run(), expected)
"""
    standin.run(program, "split")
