# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls whose form was prepared before: they must do what they would have done the first time."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Device, plan
from acl_attn._lib import lib


def arrays(seed: int = 0, sq: int = 3, skv: int = 20) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = ((2, sq, 4, 32), (2, skv, 2, 32), (2, skv, 2, 32))
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def executors() -> int:
    return int(lib.aclAttnGetLiveObjects(lib.ACL_ATTN_OBJECT_EXECUTOR))


def once(*operands: np.ndarray, **options: object) -> np.ndarray:
    """Compute as if nothing had been called before."""
    acl_attn.shutdown()
    result: np.ndarray = acl_attn.attention(*operands, **options)
    return result


def test_one_executor_serves_all_calls_of_a_form() -> None:
    inputs = [arrays(seed) for seed in range(6)]
    expected = [once(*operands, mask="causal") for operands in inputs]
    acl_attn.shutdown()
    for times, (operands, result) in enumerate(zip(inputs, expected, strict=True)):
        assert executors() == (1 if times > 1 else 0)
        np.testing.assert_array_equal(acl_attn.attention(*operands, mask="causal"), result)
    acl_attn.attention(*inputs[0])
    acl_attn.attention(*inputs[0])
    assert executors() == 2
    assert acl_attn.live_objects()["executor"] == 0
    assert executors() == 0


@pytest.mark.parametrize(
    "options",
    [
        {"kv_lengths": [20, 19]},
        {"kv_lengths": [20, 18]},
        {"q_lengths": [3, 2]},
        {"mask": "causal"},
        {"mask": "causal_top_left"},
        {"window": (3, 0)},
        {"window": (4, 0)},
        {"scale": 0.25},
        {"scale": 0.5},
        {"return_lse": True},
        {"sink": np.ones(4, np.float16)},
        {"bias": np.ones((1, 4, 3, 20), np.float16)},
        {"bias": np.ones((1, 4, 1, 20), np.float16)},
    ],
)
def test_every_option_is_part_of_the_form(options: dict[str, object]) -> None:
    operands = arrays()
    expected = once(*operands, **options)
    for others in 2 * ({}, {"kv_lengths": [20, 20]}, {"mask": "causal"}, {"sink": np.zeros(4, np.float16)}):
        acl_attn.attention(*operands, **others)
    for _ in range(3):
        found = acl_attn.attention(*operands, **options)
    for got, wanted in zip(
        *((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(getattr(got, "array", got)), getattr(wanted, "array", wanted))


def test_settings_are_part_of_the_form(set_profile: Callable[[str], None], set_threads: Callable[[int], None]) -> None:
    cache = np.random.default_rng(0).standard_normal((4, 20, 64)).astype(np.float16)  # no product takes such blocks
    operands = np.ones((1, 1, 2, 32), np.float16), cache, cache
    options = {"block_table": np.array([[2, 0]], np.int32), "kv_lengths": [30]}
    expected = once(*operands, **options)
    set_profile("ascend950")
    for _ in range(2):
        with pytest.raises(acl_attn.InvalidArgumentError, match="block"):
            acl_attn.attention(*operands, **options)
    set_profile("host")
    before = executors()
    for threads in (1, 3):
        set_threads(threads)
        for _ in range(3):
            np.testing.assert_array_equal(acl_attn.attention(*operands, **options), expected)
    assert executors() == before + 2


# Run apart: a chip has cores to limit, which a host may not have, and nothing has to be put back.
SETTINGS = """
import acl_attn
from acl_attn._lib import lib
device = acl_attn.Device.current()
stream = device.create_stream()
def limit_cores():
    assert lib.aclrtSetStreamResLimit(stream._live(), lib.ACL_RT_DEV_RES_CUBE_CORE, 3) == 0
    assert lib.aclrtUseStreamResInCurrentThread(stream._live()) == 0
changes = [
    lambda: setattr(device, "profile", "ascend910b"),
    lambda: lib.aclAttnSetRules(lib.ACL_ATTN_RULES_NEWEST),
    lambda: acl_attn.set_cpu_target("portable"),
    lambda: acl_attn.set_num_threads(7),
    limit_cores,
    lambda: lib.aclrtSetSysParamOpt(lib.ACL_OPT_DETERMINISTIC, 3),
]
seen = [lib.aclAttnGetSettings()]
for change in changes:
    change()
    seen.append(lib.aclAttnGetSettings())
print(0 not in seen and len(set(seen)) == len(seen))
"""


def test_the_number_of_the_settings_changes_with_each() -> None:
    environment = {"PATH": "/usr/bin:/bin", "ACL_ATTN_SOC_NAME": "Ascend950PR_9599"}
    command = [sys.executable, "-c", SETTINGS]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_each_run_looks_at_what_tensors_hold() -> None:
    cache = np.random.default_rng(0).standard_normal((4, 16, 64)).astype(np.float16)
    query, table = np.ones((1, 1, 2, 32), np.float16), np.array([[2, 0]], np.int32)
    options = {"block_table": table, "kv_lengths": [20]}
    for _ in range(3):
        first = acl_attn.attention(query, cache, cache, **options)
    table[:] = [[1, 3]]
    assert (acl_attn.attention(query, cache, cache, **options) != first).any()
    table[:] = [[1, 4]]
    with pytest.raises(acl_attn.InvalidArgumentError, match=r"block_table\[0\]\[1\]: expected a block id in 0\.\.3"):
        acl_attn.attention(query, cache, cache, **options)
    table[:] = [[2, 0]]
    np.testing.assert_array_equal(acl_attn.attention(query, cache, cache, **options), first)


def test_each_run_looks_at_the_addresses() -> None:
    query, key, value = arrays(skv=3)
    out = np.empty_like(query)
    expected = once(query, key, value)
    for _ in range(3):
        acl_attn.attention(query, key, value, out=out)
    with pytest.raises(acl_attn.InvalidArgumentError, match="out: expected memory of its own") as caught:
        acl_attn.attention(query, key, value, out=query)
    assert caught.value.rule == "HOST-C-03"
    np.testing.assert_array_equal(acl_attn.attention(query, key, value, out=out), expected)


def test_tensors_without_elements() -> None:
    query, key, value = arrays(skv=0)
    for _ in range(3):
        assert (acl_attn.attention(query, key, value) == 0).all()
        assert acl_attn.attention(query[:, :0], key, value).shape == (2, 0, 4, 32)


def test_lists_have_an_address_for_each_member() -> None:
    rng = np.random.default_rng(5)
    query = rng.standard_normal((2, 1, 4, 32)).astype(np.float16)
    for _ in range(3):
        key, value = ([rng.standard_normal((1, n, 2, 32)).astype(np.float16) for n in (7, 4)] for _ in range(2))
        expected = [acl_attn.attention(query[[i]], key[i], value[i]) for i in range(2)]
        np.testing.assert_array_equal(acl_attn.attention(query, key, value), np.concatenate(expected))


def test_the_order_in_which_features_come_does_not_matter() -> None:
    query, key, value = (array.reshape(2, array.shape[1], -1) for array in arrays())
    bias, sink = np.ones((1, 4, 3, 20), np.float16), np.arange(4, dtype=np.float16)
    mask = np.zeros((2, 1, 3, 20), bool)
    mask[:, :, :, 5:] = True
    options = {"num_heads": 4, "num_key_value_heads": 2, "sparse_mode": 1}
    features = {"learnable_sink": sink, "pse_shift": bias, "atten_mask": mask}
    expected, _ = acl_attn.fused_infer_attention_score(query, key, value, **options, **features)
    turned = dict(reversed(features.items()))
    for _ in range(3):
        found, _ = acl_attn.fused_infer_attention_score(query, key, value, **turned, **options)
    np.testing.assert_array_equal(found, expected)


def test_at_most_sixteen_are_kept() -> None:
    acl_attn.shutdown()
    query, key, value = arrays()
    for length in range(1, 21):
        for _ in range(2):
            acl_attn.attention(query, key, value, kv_lengths=length)
    assert executors() == 16


def test_threads_that_make_the_same_call() -> None:
    inputs = [arrays(seed) for seed in range(8)]
    expected = [once(*operands) for operands in inputs]

    def work(number: int) -> None:
        which = number % 8
        if number % 5 == 0:
            acl_attn.shutdown()
        if number % 3:
            np.testing.assert_array_equal(acl_attn.attention(*inputs[which]), expected[which])
            return
        with Device(0).create_stream() as stream:
            out = acl_attn.attention(*inputs[which], stream=stream)
            stream.synchronize()
        np.testing.assert_array_equal(out, expected[which])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(300)))


def test_queued_calls_have_addresses_of_their_own() -> None:
    inputs = [arrays(seed) for seed in range(5)]
    expected = [once(*operands) for operands in inputs]
    with Device(0).create_stream() as stream:
        outs = [acl_attn.attention(*operands, stream=stream) for operands in inputs]
        stream.synchronize()
    for out, result in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, result)


def test_after_fork() -> None:
    operands = arrays()
    for _ in range(3):
        expected = acl_attn.attention(*operands)
    child = os.fork()
    if child == 0:
        os._exit(0 if (acl_attn.attention(*operands) == expected).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_executor_made_while_settings_change_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    operands, threads = arrays(), acl_attn.get_num_threads()
    expected = once(*operands)

    class Interrupted(plan.Prepared):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            acl_attn.set_num_threads(threads + 1)

    monkeypatch.setattr(plan, "Prepared", Interrupted)
    try:
        np.testing.assert_array_equal(acl_attn.attention(*operands), expected)
    finally:
        acl_attn.set_num_threads(threads)
    assert executors() == 0


def test_a_call_made_again_goes_straight_to_its_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    operands, others = arrays(), arrays(1)
    expected = once(*others, mask="causal", kv_lengths=[20, 7], return_lse=True)
    for _ in range(2):
        acl_attn.attention(*operands, mask="causal", kv_lengths=[20, 7], return_lse=True)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("read its arguments in full")

    monkeypatch.setattr("acl_attn.ops.attention.prepare", refuse)
    for lengths in ([20, 7], (20, 7), acl_attn.Lengths((20, 7))):
        if not isinstance(lengths, acl_attn.Lengths):
            found = acl_attn.attention(*others, mask="causal", kv_lengths=lengths, return_lse=True)
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_array_equal(got, wanted)
    out = np.empty_like(others[0])
    assert acl_attn.attention(*others, mask="causal", kv_lengths=[20, 7], return_lse=True, out=out)[0] is out
    np.testing.assert_array_equal(out, expected[0])


@pytest.mark.parametrize(
    "options",
    [
        {"num_kv_heads": 2.0},
        {"num_heads": True},
        {"kv_lengths": [20.0, 20]},
        {"kv_lengths": [True, 20]},
        {"window": (3.0, 0)},
        {"window": [True, 0]},
        {"scale": True},
        {"scale": "1"},
        {"return_lse": 1},
        {"inner_precise": False},
        {"mask": ["causal"]},
        {"layout": b"BSND"},
        {"out": np.empty((2, 3, 4, 32), np.float32)},
        {"out": np.empty((2, 3, 4, 31), np.float16)},
        {"out": np.empty((3, 2, 4, 32), np.float16).swapaxes(0, 1)},
    ],
    ids=str,
)
def test_what_equals_an_earlier_argument_but_is_none_is_refused(options: dict[str, Any]) -> None:
    equal: dict[str, Any] = {
        "num_kv_heads": 2, "num_heads": 1, "kv_lengths": [20, 20], "window": (3, 0), "scale": 1.0, "return_lse": True,
        "inner_precise": 0, "mask": "causal", "layout": "BSND",
    }  # fmt: skip
    operands = [array[:, :, :1] for array in arrays()] if options.get("num_heads") else arrays()
    operands = [np.ascontiguousarray(array) for array in operands]
    for name in options:
        for _ in range(3):
            acl_attn.attention(*operands, **({name: equal[name]} if name in equal else {}))
            if name == "kv_lengths":
                acl_attn.attention(*operands, kv_lengths=[1, 20])
            if name == "window":
                acl_attn.attention(*operands, window=(1, 0))
    with pytest.raises((TypeError, ValueError)):
        acl_attn.attention(*operands, **options)


def test_a_call_made_again_treats_strided_and_read_only_arrays_as_before() -> None:
    operands = arrays()
    expected = once(*operands)
    for _ in range(3):
        acl_attn.attention(*operands)
    strided = [np.repeat(array, 2, axis=1)[:, ::2] for array in operands]
    with pytest.raises(ValueError, match="query: expected a contiguous tensor"):
        acl_attn.attention(*strided)
    for array in operands:
        array.flags.writeable = False
    np.testing.assert_array_equal(acl_attn.attention(*operands), expected)
    with pytest.raises(ValueError, match="out: expected a writable array"):
        acl_attn.attention(*operands, out=operands[0])


def test_a_paged_call_made_again_reads_its_block_table_again() -> None:
    query = arrays()[0]
    key, value = (np.random.default_rng(seed).standard_normal((6, 2, 16, 32)).astype(np.float16) for seed in (1, 2))
    tables = [np.array(table, np.int32) for table in ([[0, 1], [2, 3]], [[5, 4], [1, 0]])]
    options = {"kv_lengths": [20, 17], "mask": "causal"}
    expected = [once(query, key, value, block_table=table, **options) for table in tables]
    for table, wanted in 3 * list(zip(tables, expected, strict=True)):
        np.testing.assert_array_equal(acl_attn.attention(query, key, value, block_table=table, **options), wanted)
    with pytest.raises(ValueError, match="block_table"):
        acl_attn.attention(query, key, value, block_table=tables[0] + 9, **options)
    with pytest.raises(ValueError, match="block_table"):
        acl_attn.attention(query, key, value, block_table=tables[0].astype(np.int64), **options)


def test_arguments_that_may_change_are_read_each_time() -> None:
    class Scale:
        value = 0.125

        def __float__(self) -> float:
            return self.value

    operands = arrays()
    scale = Scale()
    for _ in range(4):
        acl_attn.attention(*operands, scale=scale)
    scale.value = 1.5
    np.testing.assert_array_equal(acl_attn.attention(*operands, scale=scale), once(*operands, scale=1.5))


def test_a_list_that_changes_during_a_call_is_not_remembered() -> None:
    operands = arrays()
    lengths = [20, 7]

    class Output:
        """Changes the list when it is read, after the lengths."""

        def __init__(self) -> None:
            self.array = np.empty((2, 3, 4, 32), np.float16)

        @property
        def __array_interface__(self) -> Any:
            lengths[1] = 3
            return self.array.__array_interface__

    expected = once(*operands, kv_lengths=[20, 7])
    for _ in range(3):
        lengths[1] = 7
        acl_attn.attention(*operands, kv_lengths=lengths, out=Output())
    np.testing.assert_array_equal(acl_attn.attention(*operands, kv_lengths=[20, 7]), expected)
    np.testing.assert_array_equal(
        acl_attn.attention(*operands, kv_lengths=[20, 3]), once(*operands, kv_lengths=[20, 3])
    )


def test_masks_and_operands_of_refused_calls_are_let_go() -> None:
    query = arrays()[0]
    mask = acl_attn.Mask.dense(np.zeros((3, 20), bool), true_means="masked")
    kept_mask = weakref.ref(mask)
    for _ in range(3):
        acl_attn.attention(*arrays(), mask=mask)
    cache = np.zeros((6, 2, 16, 32), np.float16)
    kept_cache = weakref.ref(cache)
    gc.disable()
    try:
        for entry in (0, 0, 0, 9):
            table = np.full((2, 2), entry, np.int32)
            try:
                acl_attn.attention(query, cache, cache, block_table=table, kv_lengths=[20, 17])
            except acl_attn.InvalidArgumentError:
                assert entry == 9
        made = acl_attn.Plan(query, cache, cache, block_table=table, kv_lengths=[20, 17])
        with pytest.raises(acl_attn.InvalidArgumentError):
            made.run(query, cache, cache)
        made.close()
        del mask, cache, made
        assert kept_mask() is None
        assert kept_cache() is None
    finally:
        gc.enable()
