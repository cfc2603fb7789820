"""``rotifer test`` of compiled genes: their module is what is tested (projects §5)."""

from __future__ import annotations

import json
import os

import pytest
from tests.genes import modules

from rotifer_bridge._cli import run as run_command

OBJECT = {"type": "object"}


@pytest.fixture
def tested(bench, monkeypatch, capsys):
    """Test a gene of a module and a suite; its report, and what was printed for people."""
    monkeypatch.chdir(bench.root)

    def call(module, suite, *options, **fields):
        files = {"gene.ir.wasm": module, "testsuite.json": suite}
        bench.gene("g", files, **{"inputSchema": OBJECT, "outputSchema": {}, **fields})
        run_command(["test", "g", "--json", *options])
        return json.loads(capsys.readouterr().out)

    call.bench = bench
    call.capsys = capsys
    return call


def test_the_cases_share_one_memory(tested):
    """In order: a later case finds what an earlier one wrote; check 6 and the property have their own."""
    suite = {
        "testCases": [
            {"input": {}, "expectedOutput": "first"},
            {"input": {}, "expectedOutput": "later"},
        ],
        "config": {"fuzzIterations": 3},
    }

    report = tested(modules.remembering("k", '"first"', '"later"'), suite)

    assert ["passed", "passed"] == [case["status"] for case in report["suite"]["cases"]]
    assert "passed" == report["suite"]["property"]["status"]
    assert True is report["memory"]["available"]
    assert not os.path.exists(tested.bench.path(".rotifer", "playground.db"))
    assert not os.path.exists(tested.bench.path(".rotifer", "audit.jsonl"))


def test_fuel_is_told_with_the_time(tested):
    """Of the check that it runs, of each case, and of all runs of the property together."""
    suite = {"testCases": [{"input": {}}], "config": {"fuzzIterations": 3}}

    report = tested(modules.answering("1"), suite)

    once = report["checks"][5]["fuel"]
    assert once > 0
    assert [once] == [case["fuel"] for case in report["suite"]["cases"]]
    assert 3 * once == report["suite"]["property"]["fuel"]
    assert "fuel" not in report["checks"][4]
    run_command(["test", "g", "--verbose"])
    assert f" ms, {once:,} fuel)" in tested.capsys.readouterr().out


def test_failures_of_a_case_leave_the_next_one_alone(tested):
    """A trap, an end of time, an end of fuel: each its own message, and the gene goes on."""
    suite = {
        "testCases": [
            {"input": 1},
            {"input": 2, "expectedOutput": 2},
        ]
    }
    endless = "(loop $again (br $again))"
    bodies = {
        "(unreachable)": "unreachable",
        endless: "fuel exhausted",
        "(return (i32.const -5))": "gene returned error code: -5",
        "(return (i32.const 2147483647))": "the pointer 2,147,483,647",
    }

    for body, words in bodies.items():
        first, second = tested(modules.judging("1", body), suite, inputSchema={"type": "integer"})["suite"]["cases"]  # fmt: skip
        assert ("failed", "passed") == (first["status"], second["status"]), first
        assert words in first["message"]


def test_a_case_has_its_own_time(tested):
    """``timeout`` ends a case that goes on asking the memory for ever."""
    suite = {"testCases": [{"input": 12, "timeout": 200}, {"input": 2}, {"input": 13, "timeout": 250}]}  # fmt: skip
    asking = "(call $read (i32.const 70000) (i32.const 9) (i32.const 80000) (i32.const 4000))"
    module = modules.judging("1", f"(loop $again (drop {asking}) (br $again))")

    report = tested(module, suite, inputSchema={"type": "integer", "minimum": 2, "maximum": 9})

    one, two, three = report["suite"]["cases"]
    assert ["failed", "passed", "failed"] == [case["status"] for case in (one, two, three)]
    assert "timed out after 200 ms" in one["message"]
    assert "timed out after 250 ms" in three["message"]


def test_a_refusal_passes_a_negative_case(tested):
    """An input that does not fit, and is refused; a crash of the module would fail it."""
    suite = {"testCases": [{"input": 2, "expectedOutput": 2}, {"input": 12}]}
    schema = {"type": "integer", "maximum": 9, "minimum": 2}

    report = tested(modules.judging("1", "(return (i32.const 70000))"), suite, inputSchema=schema)
    crashed = tested(modules.judging("1", "(unreachable)"), suite, inputSchema=schema)

    assert [("positive", "passed"), ("negative", "passed")] == [(case["kind"], case["status"]) for case in report["suite"]["cases"]]  # fmt: skip
    assert "failed" == crashed["suite"]["cases"][1]["status"]


def test_the_module_is_verified(tested):
    """Check 8: a bare module fails it, a compiled one passes, and an oddity is told."""
    bench = tested.bench
    bare = tested(modules.answering("1"), {"testCases": [{"input": {}}]})
    bench.put("genes/g/gene.wasm", modules.answering("1"))
    assert 0 == run_command(["compile", "g", "--wasm", "genes/g/gene.wasm"])
    tested.capsys.readouterr()
    code = run_command(["test", "g", "--json"])
    made = json.loads(tested.capsys.readouterr().out)
    odd = modules.gene("(i32.const 0)", '(func (export "simd") (result v128) (v128.const i64x2 0 0))')  # fmt: skip
    bench.put("genes/g/gene.wasm", odd)
    assert 0 == run_command(["compile", "g", "--wasm", "genes/g/gene.wasm"])
    tested.capsys.readouterr()
    run_command(["test", "g", "--json"])
    warned = json.loads(tested.capsys.readouterr().out)

    assert ("failed", False) == (bare["checks"][7]["status"], bare["passed"])
    assert bare["checks"][7]["message"].startswith("FAIL: section rotifer.version is missing; ")
    assert (0, "passed", True) == (code, made["checks"][7]["status"], made["passed"])
    assert "message" not in made["checks"][7]
    assert "passed" == warned["checks"][7]["status"]
    assert "WARN: it uses SIMD" == warned["checks"][7]["message"]


def test_an_answer_that_is_no_json_fails_the_check_that_it_runs(tested):
    """The reference takes it for null and calls it success; here it is a failure that says so."""
    report = tested(modules.answering("nonsense"), {"testCases": [{"input": {}}]})

    assert "failed" == report["checks"][5]["status"]
    assert "answered what is not JSON" in report["checks"][5]["message"]
