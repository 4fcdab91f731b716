# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Target npu against the stand-in: everything but the launch syntax of CANN's compiler runs as it would on a device.

The library is the one that is shipped; its kernels are run by the simulator, as tasks of the stand-in's stream, on
device memory that the program cannot touch.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .standin import CALLS, StandIn

TREES = ["split", "aggregate"]
CHIPS = ["Ascend910B3", "Ascend950PR_9599"]

CLOSE = """
def close(found, expected, limit=2e-3):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    error = np.abs(found.astype(np.float32) - expected.astype(np.float32)).max()
    assert error <= limit, error
"""


def run(standin: StandIn, program: str, tree: str = "split", **environment: str) -> str:
    library = standin.tree("npu") / "lib" / "libacl_attn_npu.so"
    environment = {"ACL_ATTN_NPU_LIBRARY": str(library), "ACL_ATTN_SIM_CHECKS": "1", **environment}
    return standin.run(CLOSE + program, tree, **environment)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("tree", TREES)
def test_calls_run_on_streams_of_cann(standin: StandIn, tree: str, chip: str) -> None:
    program = """
q, k, v = operands()
expected = acl_attn.attention(q, k, v, mask="causal")
device = acl_attn.use("npu")
assert device.profile == os.environ["PROFILE"]
close(acl_attn.attention(q, k, v, mask="causal"), expected)
other = [array[::-1].copy() for array in (q, k, v)]
with device.create_stream() as stream, acl_attn.Plan(q, k, v, mask="causal") as plan:
    first = plan.run()
    close(first, expected)
    queued = [plan.run(stream=stream) for _ in range(3)]
    queued.append(plan.run(*other, stream=stream))
    stream.synchronize()
    for out in queued[:3]:
        same(out, first)
    close(queued[3], acl_attn.attention(*other, mask="causal", device=acl_attn.Device(0, "host")))
    assert "kernel: acl_attn_fa_" in plan.describe()
print(*acl_attn.environment().libraries)
"""
    profile = "ascend910b" if chip == CHIPS[0] else "ascend950"
    said = run(standin, program, tree, STANDIN_SOC=chip, PROFILE=profile)
    assert "libacl_attn_npu.so" in said
    assert "libopapi" not in said


def test_every_kind_of_call(standin: StandIn) -> None:
    program = """
host, npu = acl_attn.Device(0, "host"), acl_attn.Device(0, "npu")
host.profile = npu.profile = "host"
for name, call in calls.items():
    found, expected = (acl_attn.attention(**call, device=device) for device in (npu, host))
    if call.get("return_lse"):
        close(found[1].array, expected[1].array)
        found, expected = found[0], expected[0]
    close(found, expected, 2e-2 if name == "bfloat16" else 4e-3)
    print(name)
"""
    assert len(run(standin, CALLS + program).splitlines()) == 12


def test_what_it_cannot_do_is_refused_in_words(standin: StandIn) -> None:
    program = """
npu = acl_attn.use("npu")
npu.profile = "host"
q, k, v = operands()
print(refused(lambda: acl_attn.fused_infer_attention_score(
    q.reshape(1, 48, 128), k.reshape(1, 48, 128), v.reshape(1, 48, 128), num_heads=2, input_layout="BSH",
    actual_seq_lengths=[48], actual_seq_lengths_kv=[40], kv_padding_size=np.array([2], np.int64)),
    acl_attn.UnsupportedError))
print(refused(lambda: acl_attn.sparse_flash_mla_metadata(
    64, 1, 512, batch_size=1, max_seqlen_q=4, max_seqlen_ori_kv=4, has_cmp_kv=False,
    ori_mask_mode=4, ori_win_left=127, ori_win_right=0), acl_attn.UnsupportedError))
print(refused(lambda: acl_attn.attention(q, k[:, :, :, :32], v)))
"""
    padding, sparse, shapes = run(standin, program).splitlines()
    assert "sizes of padding; not supported yet" in padding
    assert "aclnnSparseFlashMlaMetadata; not supported yet" in sparse
    assert shapes.startswith("key")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("aclrtMallocHost=207001", "aclrtMallocHost failed with status 207001"),
        ("aclrtRecordEvent=207002", "aclrtRecordEvent"),
        ("aclrtMalloc=207001", "aclrtMalloc was told to fail"),
    ],
)
def test_failures_of_the_runtime_have_their_words(standin: StandIn, fault: str, words: str) -> None:
    program = "acl_attn.use('npu'); print(refused(lambda: acl_attn.attention(*operands())))"
    assert words in run(standin, program, STANDIN_FAULTS=fault)


def test_memory_of_plans_is_used_again(standin: StandIn) -> None:
    program = """
q, k, v = operands()
device = acl_attn.use("npu")
with device.create_stream() as stream:
    for _ in range(20):
        acl_attn.attention(q, k, v, stream=stream)
        stream.synchronize()
tensors = device_objects()
library = ctypes.CDLL(os.environ["STANDIN_HOST"])
EVENT, DEVICE, PINNED = 10, 11, 12
assert tensors[DEVICE] == 0, tensors
print(tensors[EVENT], tensors[PINNED])
"""
    events, pinned = map(int, run(standin, program).split())
    assert events == pinned == 1, "one piece for all runs"


def test_where_the_library_and_its_kernels_are_looked_for(standin: StandIn, tmp_path: Path) -> None:
    program = "print(acl_attn.targets()['npu'].problem)"
    said = run(standin, program, ACL_ATTN_NPU_LIBRARY="/nowhere/libacl_attn_npu.so")
    assert said == "/nowhere/libacl_attn_npu.so is not there: this package was built without it"
    bundled = standin.run(program, "split")
    assert "no kernels for Ascend910B3 (libacl_attn_npu_2201.so) in " in bundled
    assert bundled.endswith("CANN's compiler has to build them")

    # Prebuilt ones have a folder for each chip.
    tree = standin.tree("npu") / "lib"
    library = tmp_path / "libacl_attn_npu.so"
    shutil.copy(tree / library.name, library)
    (tmp_path / "npu" / "Ascend910B3").mkdir(parents=True)
    shutil.copy(tree / "libacl_attn_npu_2201.so", tmp_path / "npu" / "Ascend910B3")
    program = """
expected = acl_attn.attention(*operands())
acl_attn.use("npu")
close(acl_attn.attention(*operands()), expected)
"""
    run(standin, program, ACL_ATTN_NPU_LIBRARY=str(library))

    # Those of the other generation do not count.
    shutil.copy(tree / "libacl_attn_npu_2201.so", tmp_path)
    program = "print(acl_attn.targets()['npu'].problem)"
    chip = {"ACL_ATTN_NPU_LIBRARY": str(library), "STANDIN_SOC": "Ascend950PR_9599"}
    assert "no kernels for Ascend950PR_9599 (libacl_attn_npu_3510.so) in " in run(standin, program, **chip)
    (tmp_path / "libacl_attn_npu_3510.so").touch()
    program = "acl_attn.use('npu'); print(refused(lambda: acl_attn.attention(*operands())))"
    said = run(standin, program, **chip)
    assert "libacl_attn_npu_3510.so: cannot open shared object file" in said
    assert "libacl_attn_npu_3510.so: file too short" in said
