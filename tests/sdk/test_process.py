# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The library in a process: beside other users of AscendCL, over a fork, and at the end.

Each test runs a program of its own, because it is about what happens once in a process.
"""

from __future__ import annotations

import pytest

from ..python_program import run_python

PREAMBLE = """
import gc, os, sys, threading
import numpy as np
import acl_attn

def operands(tokens=64, heads=2):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, tokens, heads, 32)).astype(np.float16) for _ in range(3)]

def native():
    import ctypes
    return ctypes.CDLL(str(acl_attn.get_library()))
"""


def run(program: str, **environment: str) -> str:
    return run_python(PREAMBLE + program, **environment)


def test_importing_loads_no_target_and_starts_nothing() -> None:
    program = """
from pathlib import Path
maps = Path("/proc/self/maps")
assert "libacl_attn.so" not in maps.read_text() and "_native.abi3.so" in maps.read_text()
assert threading.active_count() == 1
acl_attn.Lengths.from_lengths([1]); acl_attn.Mask.causal().materialize(2, 2); acl_attn.get_library()
assert "libacl_attn.so" not in maps.read_text()
acl_attn.attention(*operands())
assert "libacl_attn.so" in maps.read_text()
"""
    run(program)


@pytest.mark.parametrize(
    "holder", ["keep = things", "import builtins; builtins.keep = things", "things.append(things)"]
)
def test_exit_with_everything_alive(holder: str) -> None:
    program = f"""
device = acl_attn.Device(0)
q, k, v = operands(512, 8)
stream = device.create_stream()
plan = acl_attn.Plan(q, k, v)
things = [stream, stream.record(), acl_attn.Buffer(1 << 20), plan, acl_attn.Buffer(64).as_array()]
for _ in range(50):
    things.append(plan.run(stream=stream))
    things.append(acl_attn.attention(q, k, v, stream=stream))
{holder}
del q, k, v
"""
    run(program)


def test_exit_while_a_daemon_thread_is_in_a_call() -> None:
    program = """
q, k, v = operands(2048, 8)
started = threading.Event()
def work():
    while True:
        acl_attn.attention(q, k, v)
        started.set()
threading.Thread(target=work, daemon=True).start()
started.wait()
"""
    run(program)


def test_exit_with_an_unreported_failure_only_warns() -> None:
    program = """
import warnings
warnings.simplefilter("ignore", acl_attn.AclAttnWarning)
cache = np.ones((4, 16, 64), np.float16)
stream = acl_attn.Device(0).create_stream()
acl_attn.attention(np.ones((1, 1, 2, 32), np.float16), cache, cache, block_table=np.array([[99]], np.int32),
                   kv_lengths=[3], stream=stream)
"""
    run(program)


def test_someone_elses_initialisation_is_used_and_left_alone() -> None:
    program = """
import ctypes
acl = native()
assert acl.aclInit(None) == 0
acl_attn.attention(*operands())
acl_attn.shutdown()
import atexit
count = ctypes.c_uint64()
def last():  # registered after the package's own: it runs before; so ask the interpreter for one that runs later
    pass
gc.collect()
from acl_attn import _process
_process._shut_down(False)  # what the end of the process does when the initialisation was not ours
assert acl.aclrtSetDevice(0) == 0
assert acl.aclFinalizeReference(ctypes.byref(count)) == 0
"""
    run(program)


def test_our_initialisation_leaves_a_later_one_alone() -> None:
    program = """
import ctypes
acl_attn.attention(*operands())
acl = native()
assert acl.aclInit(None) == 100002
from acl_attn import _process
_process._shut_down(True)
count = ctypes.c_uint64(99)
assert acl.aclFinalizeReference(ctypes.byref(count)) == 0 and count.value == 0
"""
    run(program)


def test_a_context_that_a_thread_has_is_kept() -> None:
    program = """
import ctypes
acl = native()
context, now = ctypes.c_void_p(), ctypes.c_void_p()
assert acl.aclrtCreateContext(ctypes.byref(context), 0) == 0
q, k, v = operands()
expected = acl_attn.attention(q, k, v)
assert acl.aclrtGetCurrentContext(ctypes.byref(now)) == 0 and now.value == context.value
stream = acl_attn.Device(0).create_stream()
out = acl_attn.attention(q, k, v, stream=stream)
stream.close()
assert (out == expected).all()
assert acl.aclrtGetCurrentContext(ctypes.byref(now)) == 0 and now.value == context.value
assert acl.aclrtDestroyContext(context) == 0
assert (acl_attn.attention(q, k, v) == expected).all(), "the thread gets another context"
plan = acl_attn.Plan(q, k, v)
device = acl_attn.Device(0)
for use in (plan.run, lambda: acl_attn.attention(q, k, v), lambda: acl_attn.Buffer(9), device.create_stream):
    assert acl.aclrtSetCurrentContext(None) == 0
    use()
assert (plan.run() == expected).all()
"""
    run(program)


def test_a_library_that_the_process_has_is_taken() -> None:
    program = """
import ctypes, shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    other = shutil.copy(acl_attn.get_library(), folder)
    ctypes.CDLL(other)
    acl_attn.attention(*operands())
    found = acl_attn.environment()
    assert found.libraries == [other], found
    assert found.searched == [("libacl_attn.so", "already in the process")]
"""
    run(program)


def test_fork_after_use() -> None:
    program = """
q, k, v = operands(1024, 8)
plan = acl_attn.Plan(q, k, v)
expected = plan.run()
stream = acl_attn.Device(0).create_stream()
in_flight = [plan.run(stream=stream) for _ in range(20)]
stop = threading.Event()
def busy():
    while not stop.is_set():
        plan.run()
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
import warnings
for _ in range(10):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            assert (plan.run() == expected).all()
            assert (acl_attn.attention(q, k, v) == expected).all()
            with acl_attn.Device(0).create_stream() as own:
                out = acl_attn.attention(q, k, v, stream=own)
            assert (out == expected).all()
            sys.stdout.flush()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
stream.synchronize()
assert all((out == expected).all() for out in in_flight)
"""
    run(program)


def test_multiprocessing_with_fork_ends_cleanly() -> None:
    program = """
import multiprocessing
acl_attn.attention(*operands())
def work(number):
    return float(np.abs(acl_attn.attention(*operands())).sum())
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert len(set(pool.map(work, range(8)))) == 1
"""
    run(program)


def test_a_library_that_is_not_there_is_explained() -> None:
    program = """
try:
    acl_attn.attention(*operands())
except acl_attn.BackendMissingError as error:
    print(error)
found = acl_attn.environment()
assert found.problem and not found.libraries
"""
    message = run(program, ACL_ATTN_LIBRARY="/nowhere/libacl_attn.so")
    assert "/nowhere/libacl_attn.so: " in message
    assert "No such file" in message


def test_a_library_without_a_function_is_explained(tmp_path: object) -> None:
    program = """
import subprocess
from pathlib import Path
source = Path(FOLDER) / "part.c"
source.write_text("int aclInit(const char *path) { (void)path; return 0; }")
library = Path(FOLDER) / "libpart.so"
subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
os.environ["ACL_ATTN_LIBRARY"] = str(library)
try:
    acl_attn.attention(*operands())
except acl_attn.BackendMissingError as error:
    assert error.args[0].startswith("aclrtSetDevice: target 'host' does not export this function"), error
    assert str(library) in str(error)
else:
    raise AssertionError
assert "aclrtSetDevice" in acl_attn.environment().missing
""".replace("FOLDER", repr(str(tmp_path)))
    run(program)


def test_a_target_that_is_not_there_is_explained() -> None:
    program = """
try:
    {}
except acl_attn.BackendMissingError as error:
    print(error)
"""
    said = run(program.format("acl_attn.get_num_threads()"), ACL_ATTN_TARGET="gpu")
    assert said.startswith("ACL_ATTN_TARGET: expected one of host, sim, npu, cann, got 'gpu'")
    said = run(program.format("acl_attn.attention(*operands())"), ACL_ATTN_TARGET="npu")
    assert said.startswith("target 'npu' can't be used: no CANN installation was found")
    assert run(program.format("acl_attn.get_num_threads()"), ACL_ATTN_TARGET="npu") == ""


@pytest.mark.parametrize("how", ["acl_attn.attention(q, k, v)", "plan.run()", "enqueued()"])
def test_ctrl_c_during_a_long_call_comes_when_it_ends_and_harms_nothing(how: str) -> None:
    program = f"""
import os, signal, time
q, k, v = operands(2500, 4)
small = operands()
expected = acl_attn.attention(*small)
plan = acl_attn.Plan(q, k, v)
stream = acl_attn.Device(0).create_stream()
def enqueued():
    acl_attn.attention(q, k, v, stream=stream)
    stream.synchronize()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may have been told to ignore it
started = threading.Event()
def interrupt():
    started.wait()
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    started.set()
    while True:
        {how}
except KeyboardInterrupt:
    print("interrupted")
stream.synchronize()
for _ in range(3):
    assert (acl_attn.attention(*small) == expected).all()
    assert (plan.run() == acl_attn.attention(q, k, v)).all()
plan.close()
stream.close()
acl_attn.shutdown()
assert acl_attn.live_objects()["executor"] == 0, acl_attn.live_objects()
"""
    assert run(program) == "interrupted"


def test_threads_compute_while_others_run() -> None:
    program = """
import time
q, k, v = operands(4000, 4)
counted, done = 0, threading.Event()
def work():
    acl_attn.attention(q, k, v)
    done.set()
acl_attn.set_num_threads(1)
thread = threading.Thread(target=work)
thread.start()
while not done.is_set():
    counted += 1
    time.sleep(0.001)
thread.join()
print(counted > 3)
"""
    assert run(program) == "True"
