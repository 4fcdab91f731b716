# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From processes that measure to ratios and the report; nothing here depends on how long anything takes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from acl_attn import cli
from acl_attn.bench.cases import Case
from acl_attn.bench.contestants import ENGINE, LIMITS, Contestant, UnsupportedCaseError
from acl_attn.bench.groups import GROUPS, Entry, Group
from acl_attn.bench.limits import Limits
from acl_attn.bench.measure import Options, _begin, _Workers, measure
from acl_attn.bench.process import Worker, library
from acl_attn.bench.prospects import Prospects
from acl_attn.bench.report import report
from acl_attn.bench.results import FORMAT, run_benchmark, select
from acl_attn.bench.timing import time_calls
from acl_attn.bench.verdicts import judge
from acl_attn.bench.worker import answer

from .small import entries_of, small_group

QUICKLY = Options(rounds=2, samples=2, seconds=0.01)


def test_limits_are_measured() -> None:
    limits = Limits(library())
    assert "fp32_fma" in limits.units
    for unit in limits.units:
        assert limits.operations(unit, 1) > 1e6
    assert limits.read(1 << 20, 2) > 1e6
    assert limits.read(0, 1) > 1e6, "so little is read that it takes the least that can be timed"


def test_a_run_from_end_to_end() -> None:
    groups = [small_group(group) for group in GROUPS if group.key in ("smallest_calls", "decode_caches")]
    options = Options(peers=("numpy", "nothing"), rounds=2, samples=2, seconds=0.01)
    result = json.loads(json.dumps(run_benchmark(groups, [1, 2], options)))
    check_result(result)
    status = {(r["case"], r["threads"], r["contestant"]): r["status"] for r in result["records"]}
    for entry in entries_of(tuple(groups)):
        for threads in (1, 2):
            assert status[entry.case.name, threads, ENGINE] == "measured"
            assert status[entry.case.name, threads, "nothing"] == "absent"
            expected = "measured" if entry.case.peers_dtype else "unsupported"
            assert status[entry.case.name, threads, "numpy"] == expected
    assert result["contestants"]["nothing"]["ok"] is False
    text = "\n".join(report(result))
    for words in ("decode with INT8", "nothing        absent", "2 threads over 1", result["engine"]["cpu_target"]):
        assert words in text


def check_result(result: dict[str, Any]) -> None:
    """Hold a stored result against its format."""
    assert result["format"] == FORMAT
    assert isinstance(result["is_complete"], bool)
    assert {"date", "command", "machine", "engine", "limits", "contestants", "overhead"} < set(result)
    assert {"cpu", "processors", "features", "load_before", "load_after"} <= set(result["machine"])
    for limit in result["limits"]:
        assert limit["threads"] >= 1
        assert {"fp32_fma", "read_far"} <= set(limit["rates"])
    for record in result["records"]:
        assert {"case", "threads", "contestant", "status"} <= set(record)
        if record["status"] != "measured":
            assert record["why"]
        elif record["contestant"] == LIMITS:
            assert record["rates"]["read"] > 0
        else:
            assert record["min_s"] <= record["median_s"]
            assert record["error"] <= record["largest"]
    for verdict in result["verdicts"]:
        assert {"group", "case", "threads", "seconds", "flops", "kv_bytes", "ratios"} == set(verdict)
        for each in verdict["ratios"]:
            assert {"what", "value", "bar", "of", "met"} == set(each)
            assert each["value"] is not None or not each["met"]


def test_stored_results_have_the_format() -> None:
    stored = sorted((Path(__file__).parents[2] / "docs/performance").glob("*.json"))
    assert stored
    for path in stored:
        check_result(json.loads(path.read_text(encoding="utf-8")))


CASE = Case(1, 1, 1, 100, 100, 16)
GROUP = Group("one", "prefill", "one case", (Entry(CASE, "multiply", 0.5, peer_bar=1.5),))
READ = Case(1, 1, 1, 1, 1000, 16)
OF_READ = Group("read", "decode", "one case", (Entry(READ, "read", 0.9, cached_bar=0.5),))


def record(case: Case, name: str, seconds: float = 0.0, threads: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "case": case.name, "threads": threads, "contestant": name, "status": "measured", "median_s": seconds, **more,
    }  # fmt: skip


def ratios(group: Group, records: list[dict[str, Any]], read_far: float = 1.0) -> dict[str, dict[str, Any]]:
    limits = {threads: {"read_far": read_far} for threads in {r["threads"] for r in records}}
    return {each["what"]: each for each in judge([group], records, limits)[-1]["ratios"]}


def rates(case: Case, threads: int = 1, **units: float) -> dict[str, Any]:
    return record(case, LIMITS, threads=threads, rates={"read": 1.0, "fp32_exp": 1.0, **units})


def test_who_was_hopeless_is_left_out_of_larger_calls_of_the_kind() -> None:
    def square(tokens: int, **others: Any) -> Case:
        return Case(1, 1, 1, tokens, tokens, 16, **others)

    prospects = Prospects()
    prospects.note(square(1000), {ENGINE: 0.01, "slow": 0.05, "near": 0.02})
    why = prospects.why_not("slow", square(4000))
    assert "0.8 s" in why
    assert "5 times slower" in why
    assert square(1000).name in why
    assert not prospects.why_not("near", square(4000))
    assert not prospects.why_not("slow", square(1100)), "a short call is measured all the same"
    assert not prospects.why_not("slow", square(4000, causal=True)), "another kind"
    assert not prospects.why_not("slow", square(500))
    prospects.note(square(2000), {ENGINE: 0.05, "slow": 0.1})
    assert not prospects.why_not("slow", square(4000)), "it has caught up"


def test_the_fastest_unit_is_the_limit_and_the_fastest_peer_the_rival() -> None:
    records = [
        rates(CASE, bf16_dot=CASE.flops / 4, fp32_fma=CASE.flops / 8),
        record(CASE, ENGINE, 10.0), record(CASE, "slow", 30.0), record(CASE, "fast", 12.0),
        {**record(CASE, "fastest", 1.0), "status": "wrong"},
    ]  # fmt: skip
    found = ratios(GROUP, records)
    assert found["limit"] == {"what": "limit", "value": 0.4, "bar": 0.5, "of": "bf16_dot", "met": False}
    assert found["peer"] == {"what": "peer", "value": 1.2, "bar": 1.5, "of": "fast", "met": False}
    assert found["with exp"]["value"] == pytest.approx((4 + CASE.scores) / 10)


def test_tiles_are_the_limit_and_vectors_are_shown_beside() -> None:
    records = [rates(CASE, bf16_amx=CASE.flops, bf16_dot=CASE.flops / 8), record(CASE, ENGINE, 16.0)]
    found = ratios(GROUP, records)
    assert (found["limit"]["value"], found["limit"]["of"]) == (1 / 16, "bf16_amx")
    assert (found["vector"]["value"], found["vector"]["of"]) == (0.5, "bf16_dot")


def test_an_engine_that_computes_nonsense_meets_nothing() -> None:
    records = [rates(CASE, fp32_fma=CASE.flops), {**record(CASE, ENGINE, 1e-9), "status": "wrong"}]
    assert not any(each["met"] or each["value"] for each in ratios(GROUP, records).values())


def test_data_in_a_cache_has_a_bar_of_its_own() -> None:
    records = [rates(READ, fp32_fma=1e9), record(READ, ENGINE, READ.kv_bytes / 0.6)]
    assert ratios(OF_READ, records, read_far=1.0)["limit"]["met"] is False
    cached = ratios(OF_READ, records, read_far=0.5)["limit"]
    assert (cached["met"], cached["bar"], cached["of"]) == (True, 0.5, "read (cached)")


def test_two_threads_are_compared_with_one() -> None:
    records = [rates(CASE, fp32_fma=1.0), record(CASE, ENGINE, 3.0)]
    records += [rates(CASE, threads=2, fp32_fma=1.0), record(CASE, ENGINE, 1.5, threads=2)]
    assert ratios(GROUP, records)["threads"]["value"] == 2.0


def test_only_errors_within_the_tolerance_are_timed_as_right() -> None:
    near, far, nan = (_begin(CASE, 1, "x", {"ok": True, "rows": [[1.0, x]]}, [[1.0, 2.0]], _Workers(1, QUICKLY))
                      for x in (2.03, 2.05, float("nan")))  # fmt: skip
    assert (near["status"], far["status"], nan["status"]) == ("measured", "wrong", "wrong")
    assert near["error"] == pytest.approx(0.03)
    assert "got 0.05" in far["why"]


class Stubborn(Contestant):
    """Gives wrong rows, or fails."""

    def prepare(self, case: Case) -> dict[str, Any]:
        if case.batch > 1:
            raise UnsupportedCaseError("one sequence only")
        return {"rows": [[0.0]]}

    def time(self, samples: int, seconds: float) -> dict[str, Any]:
        raise ValueError(f"{samples} {seconds}")

    def free(self) -> None:
        return


def test_what_goes_wrong_in_a_worker_is_an_answer() -> None:
    contestant = Stubborn()
    assert answer(contestant, {"op": "prepare", "case": CASE.as_dict()})["rows"] == [[0.0]]
    refused = answer(contestant, {"op": "prepare", "case": Case(2, 1, 1, 1, 1, 16).as_dict()})
    assert refused == {"ok": False, "unsupported": True, "why": "one sequence only"}
    failed = answer(contestant, {"op": "time", "samples": 1, "seconds": 2})
    assert failed == {"ok": False, "unsupported": False, "why": "ValueError: 1 2.0"}


def test_a_worker_that_dies_is_an_answer() -> None:
    worker = Worker("numpy", 1)
    assert worker.ask("about")["versions"].keys() == {"numpy"}
    worker._process.kill()
    worker._process.wait()
    assert "ended with -9" in worker.ask("about")["why"]
    worker.close()


def test_a_refused_call_is_reported_and_not_timed() -> None:
    odd = Case(1, 3, 2, 4, 4, 64)  # heads that do not divide
    records, _, _ = measure([Group("odd", "prefill", "odd", (Entry(odd),))], 1, QUICKLY)
    mine = next(r for r in records if r["contestant"] == ENGINE)
    assert mine["status"] == "failed"
    assert "median_s" not in mine


def test_an_interrupt_keeps_what_has_been_measured() -> None:
    told: list[str] = []

    def interrupt(text: str) -> None:
        told.append(text)
        if len(told) == 3:  # the limits, the first case, the second
            raise KeyboardInterrupt

    groups = [Group("two", "prefill", "two", (Entry(CASE), Entry(READ)))]
    options = Options(rounds=1, samples=1, seconds=0.01, progress=interrupt)
    result = run_benchmark(groups, [1, 2], options, with_overhead=True)
    assert not result["is_complete"]
    check_result(result)
    assert {record["case"] for record in result["records"]} == {CASE.name}
    assert [each["threads"] for each in result["limits"]] == [1]
    assert told[-1].startswith("interrupted")


def test_slow_calls_are_not_called_again_and_short_ones_are_repeated() -> None:
    calls: list[float] = []
    found = time_calls(lambda: calls.append(time.perf_counter()) or time.sleep(0.02), samples=5, seconds=0.001)
    assert len(calls) == len(found.samples) == 1
    assert found.samples[0] >= 0.02
    count = iter(range(10**9))
    assert time_calls(lambda: next(count), samples=2, seconds=0.1).samples[0] < 0.001


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "--threads: expected numbers from 1 to 1024"),
        (["--threads", "two"], "--threads: expected numbers from 1 to 1024"),
        (["--peers", "fastest"], "--peers: expected all, none or some of"),
        (["--only", "no such case"], "a part of the name of a case of quick, got 'no such case'; there are b1_h32"),
        (["--python", "torch=/nowhere/python"], "--python: expected the name of a peer"),
        (["--python", "python3"], "--python: expected the name of a peer"),
        (["--cpu", "z80"], "--cpu: expected one of portable"),
        (["--rounds", "0"], "expected --seconds above 0 and --rounds of at least 1"),
        (["--suite", "all"], "invalid choice"),
    ],
)
def test_wrong_options(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["bench", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "result.json"
    smallest = select("overhead")[0].entries[0].case.name
    arguments = ["bench", "--suite", "overhead", "--only", smallest, "--threads", "1", "--seconds", "0.01"]
    assert cli.main([*arguments, "--rounds", "1", "--json", str(stored)]) == 0
    out = capsys.readouterr().out
    result = json.loads(stored.read_text(encoding="utf-8"))
    check_result(result)
    assert smallest in out
    for figure in result["overhead"]:
        assert figure["value"] > 0
        assert figure["what"] in out
