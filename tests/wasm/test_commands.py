"""Compiled genes at the command line: ``agent run``, ``run``, and a machine without wasmtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.genes import modules

from rotifer_bridge._cli import run as run_command

SOURCE = "export const express = () => 'source';"

WITNESS = """
import os, sys
from rotifer_bridge import _launch
spawn = _launch.spawn
def witness(*arguments, **more):
    print("spawned", file=sys.stderr)
    return spawn(*arguments, **more)
_launch.spawn = witness
from rotifer_bridge.__main__ import main
sys.argv = ["rotifer", *sys.argv[1:]]
main()
"""


def shell(bench, *argv, script=WITNESS):
    """A command in a process of its own; what it printed and how it ended."""
    return subprocess.run(
        [sys.executable, "-c", script, *argv],
        cwd=bench.root,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def genes(bench):
    """A compiled gene with a source, and an uncompiled one."""
    bench.gene("w", {"index.ts": SOURCE, "gene.ir.wasm": modules.printing("hello", '"wasm"')}, outputSchema=True)  # fmt: skip
    bench.gene("t", {"index.ts": "export const express = (x) => [x];"}, inputSchema=True, outputSchema=True)  # fmt: skip
    return bench


@pytest.mark.parametrize(
    ("genome", "options", "output", "processes"),
    [
        (["w"], [], "wasm", 0),
        (["w", "w"], [], "wasm", 0),
        (["w", "t"], [], ["wasm"], 1),
        (["t", "w"], [], "wasm", 1),
        (["w"], ["--no-sandbox"], "source", 1),
    ],
)
def test_a_process_is_started_for_genes_that_need_one(genes, genome, options, output, processes):
    """A run whose first gene is compiled starts no Node for it, and none is left waiting."""
    genes.record(1, genome=genome)

    shell(genes, "agent", "run", "keeper", "--json", *options)  # fills the caches
    done = shell(genes, "agent", "run", "keeper", "--json", *options)

    assert 0 == done.returncode, done.stderr
    assert output == json.loads(done.stdout)["output"]
    assert processes == done.stderr.splitlines().count("spawned")


def test_agent_run_tells_engine_and_fuel(genes):
    """In the document, and with --verbose on stderr; what the gene prints comes under its name."""
    genes.record(1, genome=["w"])

    done = shell(genes, "agent", "run", "keeper", "--json", "--verbose")

    [step] = json.loads(done.stdout)["steps"]
    assert ("w", "wasm", "ok") == (step["gene"], step["engine"], step["status"])
    assert step["fuel"] > 0
    assert "[w] hello\n" in done.stderr
    assert f"[1/1] w: ok (wasm, {step['durationMs']:.1f} ms, {step['fuel']:,} fuel)" in done.stderr


def test_run_tells_engine_and_fuel(genes):
    """``run`` runs the module, and the source where that is asked for."""
    done = shell(genes, "run", "w", "--json", "--verbose")
    document = json.loads(done.stdout)

    assert ("wasm", "wasm") == (document["engine"], document["output"])
    assert f"gene w: ok (wasm, {document['durationMs']:.1f} ms, {document['fuel']:,} fuel)" in done.stderr  # fmt: skip
    document = json.loads(shell(genes, "run", "w", "--json", "--no-sandbox").stdout)
    assert ("node", "source") == (document["engine"], document["output"])
    assert "fuel" not in document


def test_run_denies_the_memory(bench):
    """Every call of a gene that no agent runs is -2, with the envelope; nothing is recorded."""
    from tests.genes import building

    bench.gene("relay", building.relay_files("wat"), inputSchema=True, outputSchema=True)
    calls = ["write", 999, {"key": "k", "value": "", "category": "CACHE"}, "read", 999, {"key": "k"}, "query", 999, {}, "delete", 999, {"key": "k"}]  # fmt: skip

    results = json.loads(shell(bench, "run", "relay", "--json", "--input", json.dumps(calls, separators=(",", ":"))).stdout)["output"]  # fmt: skip

    assert [-2] * 4 == [result for result, _ in results]
    assert {"MEMORY_ACCESS_DENIED"} == {told["__rotifer_error"]["code"] for _, told in results}
    assert not os.path.exists(bench.path(".rotifer", "playground.db"))
    assert not os.path.exists(bench.path(".rotifer", "audit.jsonl"))


def test_a_gene_is_told_whose_it_is(bench):
    """The context has the id of the agent that runs it, and null under ``run``."""
    from tests.genes.building import wat

    context = wat(
        '(module (import "rotifer" "readContext" (func $c (param i32 i32 i32 i32) (result i32)))'
        ' (memory (export "memory") 1) (data (i32.const 1000) "agent_id")'
        ' (func (export "express") (param i32 i32) (result i32)'
        " (drop (call $c (i32.const 1000) (i32.const 8) (i32.const 2000) (i32.const 99)))"
        " (i32.const 2000)))"
    )
    bench.gene("w", {"gene.ir.wasm": context}, outputSchema=True)
    bench.record(1, genome=["w"])

    [in_agent, alone] = [
        json.loads(shell(bench, *command, "--json").stdout)["output"]
        for command in (["agent", "run", "keeper"], ["run", "w"])
    ]

    with bench.project().agent("keeper") as agent:
        assert (agent.record.id, None) == (in_agent, alone)


def test_an_installed_gene_runs_in_the_sandbox(genes):
    """A module needs no trust; the gene's source, under Node, does."""
    genes.put("genes/w/.cloud-manifest.json", {"installed_at": "2026-01-01"})
    genes.record(1, genome=["w"])

    for command in (["agent", "run", "keeper"], ["run", "w"]):
        assert "wasm" == json.loads(shell(genes, *command, "--json").stdout)["output"]
        refused = shell(genes, *command, "--no-sandbox")
        assert (1, "") == (refused.returncode, refused.stdout)
        assert "error[E0051]: gene 'w' was installed from outside" in refused.stderr
        trusted = shell(genes, *command, "--no-sandbox", "--trust-unsigned", "--json")
        assert "source" == json.loads(trusted.stdout)["output"]
    assert "ok    6 it runs" in shell(genes, "test", "w").stdout
    assert "installed from outside" not in shell(genes, "doctor").stdout


def test_no_source_for_no_sandbox(bench):
    """E0051 where a compiled gene has no source to run under Node."""
    bench.gene("w", {"gene.ir.wasm": modules.echo(), "gene.wasm": modules.echo()})

    done = shell(bench, "run", "w", "--no-sandbox")

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("error[E0051]: gene 'w' has no source")
    assert "help: it is WASM alone, and runs without --no-sandbox" in done.stderr


MISSING = "import sys; sys.modules['wasmtime'] = None\n" + WITNESS


@pytest.mark.parametrize("command", [["agent", "run", "keeper"], ["run", "w"]])
def test_without_wasmtime_one_error_says_what_is_missing(genes, command):
    """What is missing, how to get it, and the way without it; no Node is left behind."""
    genes.record(1, genome=["w"])

    done = shell(genes, *command, script=MISSING)

    assert (1, "") == (done.returncode, done.stdout)
    assert "error[E0051]: gene 'w' is compiled to WASM, and wasmtime is not installed" in done.stderr  # fmt: skip
    assert "help: pip install 'rotifer-bridge[wasm]', or run its source under Node with --no-sandbox" in done.stderr  # fmt: skip
    assert 0 == shell(genes, *command, "--no-sandbox", script=MISSING).returncode


def test_test_without_wasmtime_fails(genes, monkeypatch, capsys):
    """A compiled gene that cannot be run here has not passed its test."""
    monkeypatch.chdir(genes.root)
    monkeypatch.setitem(sys.modules, "wasmtime", None)

    code = run_command(["test", "w", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert (1, "failed") == (code, document["checks"][5]["status"])
    assert "wasmtime is not installed" in document["checks"][5]["message"]


def test_a_typescript_run_imports_nothing_of_wasm(genes):
    """No module of the sandbox is imported, where no compiled gene runs."""
    genes.record(1, genome=["t"])
    command = [sys.executable, "-X", "importtime", "-m", "rotifer_bridge", "agent", "run", "keeper"]
    done = subprocess.run(command, cwd=genes.root, capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    names = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line]

    assert "rotifer_bridge._worker" in names
    assert [] == [name for name in names if "wasm" in name or "sandboxed" in name or "branches" in name]  # fmt: skip


@pytest.fixture
def pair(bench, monkeypatch):
    """Two compiled genes, each of which answers its name, in the working folder."""
    for name in "ab":
        bench.gene(name, {"gene.ir.wasm": modules.answering(f'"{name}"')}, inputSchema=True, outputSchema=True)  # fmt: skip
    monkeypatch.chdir(bench.root)
    return "ab"


@pytest.mark.parametrize(
    ("options", "given", "output"),
    [
        (["--composition", "Par"], {}, "a"),
        (["--composition", "Par", "--par-merge", "concat"], {}, {"branch_0": "a", "branch_1": "b"}),
        (["--composition", "Par", "--par-merge", "merge"], {}, {"branch_0": "a", "branch_1": "b"}),
        (["--composition", "Cond"], {"type": "primary"}, "a"),
        (["--composition", "Cond"], {"type": "x"}, "b"),
        (["--composition", '{"type":"Cond","predicate":{"field":"n","op":"Gt","value":1}}'], {"n": 2}, "a"),
        (["--composition", "Try"], {}, "a"),
        (["--composition", "Seq"], {}, "b"),
    ],
)  # fmt: skip
def test_compositions_from_the_command_line(pair, capsys, options, given, output):
    """An agent that was made with options runs as they say, without a warning."""
    assert 0 == run_command(["agent", "create", "pair", "-g", *pair, *options])
    assert "warning" not in capsys.readouterr().err
    assert 0 == run_command(["agent", "run", "pair", "--json", "--input", json.dumps(given)])

    printed = capsys.readouterr()
    assert ("", output) == (printed.err, json.loads(printed.out)["output"])
