# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: prepared once, run often, and their lifetimes."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl_attn
from acl_attn import Device, Plan, Spec


def arrays(seed: int = 0, sq: int = 4, skv: int = 48, batch: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = ((batch, sq, 4, 32), (batch, skv, 2, 32), (batch, skv, 2, 32))
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def specs() -> list[Spec]:
    return [Spec(array.shape, array.dtype) for array in arrays()]


def test_runs_equal_single_calls_for_any_addresses() -> None:
    with Plan(*specs(), mask="causal") as plan:
        for seed in range(5):
            operands = arrays(seed)
            np.testing.assert_array_equal(plan.run(*operands), acl_attn.attention(*operands, mask="causal"))


def test_planned_arrays_are_used_where_run_is_given_none() -> None:
    q, k, v = arrays()
    out = np.full_like(q, np.nan)
    with Plan(q, k, v, out=out, return_lse=True) as plan:
        result, lse = plan.run()
        assert result is out
        np.testing.assert_array_equal(out, acl_attn.attention(q, k, v))
        q[...] = 0
        again, _ = plan.run(lse_out=np.empty((2, 4, 4, 1), np.float32))
        np.testing.assert_array_equal(again, acl_attn.attention(q, k, v))
        other = np.empty_like(q)
        assert plan.run(out=other)[0] is other
        np.testing.assert_array_equal(other, out)
        assert lse.array.shape == plan.lse_spec.shape == (2, 4, 4, 1)  # type: ignore[union-attr]
        assert plan.out_spec == Spec(q.shape, q.dtype)


def test_paged_with_a_table_that_changes_in_place() -> None:
    rng = np.random.default_rng(3)
    cache = rng.standard_normal((2, 6, 16, 2 * 32)).astype(ml_dtypes.bfloat16)
    q = rng.standard_normal((1, 1, 4, 32)).astype(ml_dtypes.bfloat16)
    table = np.array([[0, 1, -1]], np.int32)
    with Plan(q, *cache, block_table=table, kv_lengths=[20]) as plan:
        first = plan.run()
        table[0, :2] = 4, 2
        second = plan.run()
    expected = acl_attn.attention(q, *(c[[4, 2]].reshape(1, 32, 2, 32)[:, :20] for c in cache))
    np.testing.assert_array_equal(second, expected)
    assert (first != second).any()


def test_update_changes_the_lengths_and_nothing_else() -> None:
    q, k, v = arrays()
    lengths = [48, 7]
    with Plan(q, k, v, kv_lengths=lengths, mask="causal") as plan:
        lengths[0] = 1  # the plan has its own copy
        np.testing.assert_array_equal(plan.run(), acl_attn.attention(q, k, v, kv_lengths=[48, 7], mask="causal"))
        assert plan.visible_keys(1, 0).tolist() == [0, 1, 2, 3]
        for new in ([5, 40], [48, 48], [0, 1]):
            plan.update(kv_lengths=new)
            np.testing.assert_array_equal(plan.run(), acl_attn.attention(q, k, v, kv_lengths=new, mask="causal"))
        for wrong in ([49, 1], [1], [-1, 3]):
            with pytest.raises(acl_attn.InvalidArgumentError, match="kv_lengths"):
                plan.update(kv_lengths=wrong)
        np.testing.assert_array_equal(plan.run(), acl_attn.attention(q, k, v, kv_lengths=[0, 1], mask="causal"))
        plan.update(q_lengths=[2, 1])
        assert (plan.run()[0, 2:] == 0).all()


def test_describe_and_repr() -> None:
    with Plan(*specs(), kv_lengths=[48, 7]) as plan:
        assert "\n" in plan.describe()
        assert "(2, 4, 4, 32)" in repr(plan)
    assert "closed" in repr(plan)


def test_a_closed_plan_says_so() -> None:
    plan = Plan(*specs())
    plan.close()
    plan.close()
    for use in (
        plan.run,
        plan.describe,
        lambda: plan.run(*arrays()),
        lambda: plan.run(np.zeros(3)),
        lambda: plan.update(kv_lengths=3),
        lambda: plan.workspace_bytes,
        plan.__enter__,
    ):
        with pytest.raises(acl_attn.ClosedError):
            use()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, r"query: expected an array \(the plan was made from a Spec\)"),
        ({"query": np.zeros((2, 3, 4, 32), np.float16)}, r"query: expected shape \(2, 4, 4, 32\) \(dense\) as planned"),
        ({"query": np.zeros((4, 2, 4, 32), np.float16).swapaxes(0, 1)}, "query: expected a contiguous tensor"),
        (
            dict.fromkeys(("key", "value"), [np.zeros((1, 48, 2, 32), np.float16)] * 2),
            "key: expected a list of 1 arrays as planned, got 2; make a new plan",
        ),
        ({"value": 3}, "value: expected a numpy.ndarray"),
        ({"out": np.zeros((2, 4, 4, 31), np.float16)}, r"out: expected shape \(2, 4, 4, 32\)"),
        ({"out": np.zeros((2, 4, 4, 32), np.float32)}, "out: expected dtype float16"),
        ({"out": np.zeros((4, 2, 4, 32), np.float16).swapaxes(0, 1)}, "out: expected a C-contiguous array"),
        ({"out": np.broadcast_to(np.float16(0), (2, 4, 4, 32))}, "out: expected"),
        ({"lse_out": np.zeros((2, 4, 4, 1), np.float32)}, "lse_out: expected None, as planned"),
        ({"workspace": 3}, "workspace: expected"),
    ],
)
def test_operands_that_are_not_as_planned(change: dict[str, Any], message: str) -> None:
    q, k, v = arrays()
    with Plan(*specs()) as plan:
        with pytest.raises(acl_attn.AclAttnError, match=message):
            plan.run(**{"query": q, "key": k, "value": v, **change})
        np.testing.assert_array_equal(plan.run(q, k, v), acl_attn.attention(q, k, v))


def as_types(*dtypes: Any) -> list[np.ndarray]:
    return [array.astype(dtype) for array, dtype in zip(arrays(), dtypes, strict=True)]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(as_types("f4", "f4", "f4"), id="float32"),
        pytest.param(as_types("f2", "i4", "f2"), id="a key of integers"),
        pytest.param(as_types("f2", ml_dtypes.bfloat16, ml_dtypes.bfloat16), id="two types"),
        pytest.param([arrays()[0], *arrays(batch=3)[1:]], id="two batches"),
        pytest.param([arrays()[0][0], *arrays()[1:]], id="two ranks"),
        pytest.param([arrays()[0].tolist(), *arrays()[1:]], id="no array"),
    ],
)
def test_what_no_plan_takes_is_refused_as_when_planning(given: list[Any]) -> None:
    with pytest.raises(acl_attn.AclAttnError) as of_plan:
        Plan(*given)
    with Plan(*specs()) as plan, pytest.raises(type(of_plan.value)) as of_run:
        plan.run(*given)
    assert str(of_run.value) == str(of_plan.value)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(as_types(*[ml_dtypes.bfloat16] * 3), id="another type"),
        pytest.param(arrays(skv=50), id="more keys"),
        pytest.param(arrays(batch=3), id="another batch, with other lengths"),
    ],
)
def test_what_another_plan_takes_asks_for_it(given: list[Any]) -> None:
    Plan(*given).close()
    with (
        Plan(*specs(), kv_lengths=[7, 9]) as plan,
        pytest.raises(acl_attn.AclAttnError, match=r"as planned, got .*; make a new plan"),
    ):
        plan.run(*given)


def test_an_output_that_is_read_only() -> None:
    q, k, v = arrays()
    out = np.zeros_like(q)
    out.flags.writeable = False
    with pytest.raises(acl_attn.InvalidArgumentError, match="out: expected a writable array"):
        acl_attn.attention(q, k, v, out=out)


def split_plan() -> tuple[list[np.ndarray], Plan]:
    """Make a plan whose few rows and many keys are split, so that it needs a workspace."""
    operands = arrays(sq=1, skv=20000, batch=1)
    return operands, Plan(*operands)


def test_the_workspace_may_be_the_callers() -> None:
    _, plan = split_plan()
    with plan:
        expected = plan.run()
        assert plan.workspace_bytes > 0
        own = np.zeros(plan.workspace_bytes, np.uint8)
        np.testing.assert_array_equal(plan.run(workspace=own), expected)
        with acl_attn.Buffer(plan.workspace_bytes) as buffer:
            np.testing.assert_array_equal(plan.run(workspace=buffer), expected)
        with pytest.raises(acl_attn.InvalidArgumentError, match=rf"at least {plan.workspace_bytes} bytes, got 3"):
            plan.run(workspace=own[:3])
        with pytest.raises(acl_attn.InvalidArgumentError, match="contiguous"):
            plan.run(workspace=np.zeros((plan.workspace_bytes, 2), np.uint8)[:, 0])
        own.flags.writeable = False
        with pytest.raises(acl_attn.InvalidArgumentError, match="writable"):
            plan.run(workspace=own)


def test_nothing_is_left_after_a_plan_or_a_refused_one() -> None:
    acl_attn.shutdown()
    before = acl_attn.live_objects()
    plan = Plan(*arrays())
    plan.run()
    assert acl_attn.live_objects()["executor"] == before["executor"] + 1
    plan.close()
    assert acl_attn.live_objects() == before
    for _ in range(50):
        with pytest.raises(acl_attn.InvalidArgumentError):
            Plan(*arrays(), inner_precise=9)
        with pytest.raises(acl_attn.InvalidArgumentError):
            acl_attn.attention(*arrays(), inner_precise=9)
    assert acl_attn.live_objects() == before
    collected = Plan(*arrays())
    cycle: list[Any] = [collected]
    cycle.append(cycle)
    del collected, cycle
    gc.collect()
    assert acl_attn.live_objects() == before


def test_work_in_flight_keeps_what_it_needs_and_not_longer() -> None:
    acl_attn.shutdown()
    before = acl_attn.live_objects()
    operands, plan = split_plan()
    expected = [np.copy(plan.run()), acl_attn.attention(*arrays(7))]
    with Device(0).create_stream() as stream:
        heavy = [np.ones((1, 3000, 8, 128), np.float16) for _ in range(3)]
        outs = []
        for _ in range(20):
            acl_attn.attention(*heavy, stream=stream)
            outs.append((plan.run(*(np.copy(operand) for operand in operands), stream=stream), 0))
            outs.append((acl_attn.attention(*arrays(7), stream=stream), 1))
            gc.collect()
            poison = [np.full((1, 20000, 2, 32), np.nan, np.float16) for _ in range(3)]
            del poison
            if len(outs) == 4:
                break
        plan.close()
        del plan, heavy
        gc.collect()
        stream.synchronize()
        for out, which in outs:
            np.testing.assert_array_equal(out, expected[which])
    assert acl_attn.live_objects() == before


def test_the_memory_of_work_in_flight_is_bounded() -> None:
    acl_attn.shutdown()
    before = acl_attn.live_objects()["bytes"]
    _, plan = split_plan()
    with plan, Device(0).create_stream() as stream:
        for _ in range(300):
            plan.run(stream=stream)
            assert acl_attn.live_objects()["bytes"] - before <= 3 * plan.workspace_bytes


def test_threads_share_a_plan() -> None:
    plan = Plan(*specs())
    inputs = [arrays(seed) for seed in range(8)]
    expected = [acl_attn.attention(*operands) for operands in inputs]

    def work(number: int) -> None:
        which = number % 8
        if number % 3:
            np.testing.assert_array_equal(plan.run(*inputs[which]), expected[which])
        else:
            with Device(0).create_stream() as stream:
                out = plan.run(*inputs[which], stream=stream)
                stream.synchronize()
                np.testing.assert_array_equal(out, expected[which])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(300)))
    plan.close()


def test_close_and_run_from_different_threads() -> None:
    operands = arrays()
    for _ in range(30):
        plan = Plan(*operands)
        errors: list[BaseException] = []

        def run(plan: Plan = plan, errors: list[BaseException] = errors) -> None:
            try:
                while True:
                    plan.run()
            except acl_attn.ClosedError:
                pass
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        plan.close()
        for thread in threads:
            thread.join()
        assert errors == []


@pytest.mark.parametrize("make", [list, np.array])
def test_update_does_not_look_at_the_callers_sequences_again(make: Any) -> None:
    q, k, v = (np.random.default_rng(5).standard_normal((2, n, 2, 16)).astype(np.float16) for n in (3, 9, 9))
    lengths, window = make([9, 4]), [2, 0]
    with Plan(q, k, v, kv_lengths=lengths, window=window) as plan:
        before = plan.run()
        window[0] = 8
        lengths[0] = 1
        plan.update(q_lengths=3)
        np.testing.assert_array_equal(plan.run(), before)
