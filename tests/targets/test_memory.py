# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Devices with memory of their own: no address of the program's reaches them, and nothing else changes.

The stand-in answers a status to an address of the program's memory, and its device addresses fault when the program
uses them; its memory begins as 0xA5 throughout.
"""

from __future__ import annotations

import pytest

from .standin import CALLS, StandIn

TREES = ["split", "aggregate"]


def test_the_stand_in_notices_addresses_of_the_program(standin: StandIn) -> None:
    """Without this the other tests would show nothing."""
    program = """
acl_attn.use("cann")
acl_attn.Device.current().synchronize()
from acl_attn._lib import ffi, lib
from acl_attn.errors import recent_message
from acl_attn import _process
_process.use_device()
array = np.zeros(64, np.float16)
pointer = ffi.from_buffer(array)
assert not lib.aclCreateTensor([64], 1, 1, ffi.NULL, 0, 2, [64], 1, pointer)
print(recent_message())
tensor = lib.aclCreateTensor([64], 1, 1, ffi.NULL, 0, 2, [64], 1, ffi.NULL)
assert lib.aclSetRawTensorAddr(tensor, pointer) == 161002
lib.aclDestroyTensor(tensor)
assert lib.aclrtMemcpy(pointer, 128, pointer, 128, 1) == 107000
assert lib.aclnnFusedInferAttentionScoreV5(pointer, 64, ffi.NULL, ffi.NULL) == 161002
buffer = acl_attn.Buffer(64)
assert buffer.address >> 62 == 1
bytes_of_it = np.empty(64, np.uint8)
buffer.copy_to(bytes_of_it)
assert (bytes_of_it == 0xA5).all()
"""
    assert standin.run(program, "split").startswith(
        "aclCreateTensor: tensorData: expected device memory, got the program"
    )


def test_reading_device_memory_from_the_program_faults(standin: StandIn) -> None:
    program = """
acl_attn.use("cann")
child = os.fork()
if child == 0:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stderr.flush()
    os.close(2)
    ctypes.string_at(address, 1)
    os._exit(0)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))
""".replace("child = os.fork()", "address = acl_attn.Buffer(64).address\nchild = os.fork()")
    assert standin.run(program, "split") in {"11", "7"}


@pytest.mark.parametrize("tree", TREES)
def test_results_are_those_of_the_host(standin: StandIn, tree: str) -> None:
    program = (
        CALLS
        + """
host, cann = acl_attn.Device(0, "host"), acl_attn.Device(0, "cann")
host.profile = cann.profile = "host"
for name, call in calls.items():
    expected = acl_attn.attention(**call, device=host)
    found = acl_attn.attention(**call, device=cann)
    with cann.create_stream() as stream:
        queued = acl_attn.attention(**call, stream=stream)
        stream.synchronize()
    with acl_attn.Plan(call["query"], call["key"], call["value"], device=cann,
                       **{k: v for k, v in call.items() if k not in ("query", "key", "value")}) as plan:
        planned = plan.run()
        again = plan.run()
        with cann.create_stream() as stream:
            streamed = plan.run(stream=stream)
            stream.synchronize()
    results = [expected, found, queued, planned, again, streamed]
    if call.get("return_lse"):
        results = [[out, lse.array] for out, lse in results]
    else:
        results = [[out] for out in results]
    for other in results[1:]:
        for one, two in zip(results[0], other):
            same(two, one)
    print(name)
assert acl_attn.Device.current().target == "host"
assert set(device_objects()) == {0}
"""
    )
    said = standin.run(program, tree).splitlines()
    assert len(said) == 12


def test_sparse_operators_too(standin: StandIn) -> None:
    program = """
host, cann = acl_attn.Device(0, "host"), acl_attn.Device(0, "cann")
host.profile = cann.profile = "host"
rng = np.random.default_rng(2)
q = rng.standard_normal((1, 8, 4, 512)).astype(np.float16)
kv = rng.standard_normal((1, 40, 1, 512)).astype(np.float16)
arguments = dict(window=(15, 0), sinks=np.zeros(4, np.float32), kv_lengths=40, return_lse=True)
results = []
for device in (host, cann):
    with acl_attn.SparsePlan(q, kv, device=device, **arguments) as plan:
        results.append((*plan.run(), *plan.run()))
        plan.update(kv_lengths=33)
        results[-1] += plan.run()
for one, two in zip(*results):
    same(two, one)
assert set(device_objects()) == {0}
"""
    standin.run(program, "split")


def test_what_is_on_the_device_stays_there(standin: StandIn) -> None:
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v, mask="causal")
device = acl_attn.use("cann")
buffers = []
def put(array):
    buffer = acl_attn.Buffer(array.nbytes)
    buffer.copy_from(array)
    buffers.append(buffer)
    return acl_attn.Tensor.from_buffer(buffer, array.shape, array.dtype)
tensors = [put(array) for array in (q, k, v)]
target = put(np.zeros_like(expected))
got = np.empty_like(expected)
def check(run, stream=None):
    buffers[3].copy_from(np.zeros_like(expected))
    result = run()
    assert result is target
    if stream is not None:
        stream.synchronize()
    buffers[3].copy_to(got)
    same(got, expected)
check(lambda: acl_attn.attention(*tensors, mask="causal", out=target))
plan = acl_attn.Plan(*tensors, mask="causal")
check(lambda: plan.run(out=target))
check(lambda: plan.run(q, tensors[1], v, out=target))
with device.create_stream() as stream:
    check(lambda: plan.run(out=target, stream=stream), stream)
    check(lambda: acl_attn.attention(*tensors, mask="causal", out=target, stream=stream), stream)
by_address = acl_attn.Tensor.from_ptr(buffers[0].address, q.shape, q.dtype)
same(acl_attn.attention(by_address, k, v, mask="causal"), expected)
scratch = acl_attn.Buffer(max(plan.workspace_bytes, 1))
same(plan.run(workspace=scratch), expected)
if plan.workspace_bytes:
    print(refused(lambda: plan.run(workspace=np.empty(plan.workspace_bytes, np.uint8))))
spec = acl_attn.Plan(acl_attn.Spec(q.shape, q.dtype), acl_attn.Spec(k.shape, k.dtype), v, mask="causal")
same(spec.run(q, tensors[1]), expected)
print(refused(lambda: buffers[0].as_array()))
print(refused(lambda: tensors[0].as_array()))
print(refused(lambda: by_address.as_array()))
plan.close(); spec.close(); scratch.close()
del plan, spec, tensors, target, buffers[:], scratch
assert set(device_objects()) == {0}
"""
    said = standin.run(program, "split").splitlines()
    for line in said[-3:]:
        assert (
            "expected memory that the program can read, got that of target 'cann'; copy it with Buffer.copy_to" in line
        )


def test_memory_of_another_target_is_refused(standin: StandIn) -> None:
    program = """
q, k, v = operands()
cann, host = acl_attn.Device(0, "cann"), acl_attn.Device(0, "host")
def put(device, array):
    device.make_current()
    buffer = acl_attn.Buffer(array.nbytes)
    buffer.copy_from(array)
    return acl_attn.Tensor.from_buffer(buffer, array.shape, array.dtype)
there, here = put(cann, q), put(host, q)
for device, wrong in ((host, there), (cann, here)):
    plan = acl_attn.Plan(q, k, v, device=device)
    for call in (lambda: acl_attn.attention(wrong, k, v, device=device), lambda: plan.run(wrong),
                 lambda: plan.run(out=wrong), lambda: acl_attn.attention(q, k, v, out=wrong, device=device)):
        message = refused(call, acl_attn.InvalidArgumentError)
        assert "expected memory of target" in message, message
    plan.close()
cann.make_current()
stream = cann.create_stream()
plan = acl_attn.Plan(q, k, v, device=host)
print(refused(lambda: plan.run(stream=stream), acl_attn.InvalidArgumentError))
print(refused(lambda: acl_attn.attention(q, k, v, stream=stream, device=host), acl_attn.InvalidArgumentError))
event = host.create_event()
print(refused(lambda: stream.record(event), acl_attn.InvalidArgumentError))
print(refused(lambda: stream.wait(event), acl_attn.InvalidArgumentError))
"""
    said = standin.run(program, "split").splitlines()
    assert said[0].startswith("stream: expected a stream of target 'host', as the plan's, got one of 'cann'")
    assert said[2] == said[3]
    assert said[2].startswith("event: expected an event of target 'cann', got one of target 'host'")


def test_buffers_copy_in_parts(standin: StandIn) -> None:
    program = """
for target in ("host", "cann"):
    acl_attn.use(target)
    buffer = acl_attn.Buffer(64)
    buffer.copy_from(np.arange(16, dtype=np.int32))
    part = np.empty(4, np.int32)
    buffer.copy_to(part, offset=8)
    assert part.tolist() == [2, 3, 4, 5]
    buffer.copy_from(np.array([7], np.int32), offset=60)
    buffer.copy_to(part, 48)
    assert part.tolist() == [12, 13, 14, 7]
    buffer.copy_from(np.empty(0, np.int32), 64)
    assert "array: expected to fit into 64 bytes" in refused(lambda: buffer.copy_to(part, 52), ValueError)
    assert "array: expected a C-contiguous array" in refused(lambda: buffer.copy_to(part[::2]), ValueError)
    part.setflags(write=False)
    assert "array: expected a writable array" in refused(lambda: buffer.copy_to(part), ValueError)
    assert "array: expected a numpy.ndarray, got list" in refused(lambda: buffer.copy_from([1]), TypeError)
    buffer.close()
    refused(lambda: buffer.copy_to(np.empty(4, np.int32)), acl_attn.ClosedError)
"""
    standin.run(program, "split")
