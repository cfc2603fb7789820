"""Modules as the toolchains make them: what they import, and how they run."""

from __future__ import annotations

import json

import pytest
from tests.genes import building

from rotifer_bridge import GeneFailed
from rotifer_bridge._wasm_binary import read_layout

MEMORY = {f"{name}Memory" for name in ("read", "write", "query", "delete")}


def imported(module):
    """What a module imports, by where it is from."""
    found = {}
    for item in read_layout(module).imports:
        found.setdefault(item.module, set()).add(item.name)
    return found


@pytest.mark.parametrize("kind", building.RELAYS)
def test_a_built_module_imports_the_hosts_functions_alone(kind):
    """No toolchain brings anything of its own: not ``env.abort``, not more of WASI than there is."""
    wanted = {"rotifer": {*MEMORY, "log"}}
    if kind == "c-wasi":
        wanted["wasi_snapshot_preview1"] = {"fd_read", "fd_write"}

    assert wanted == imported(building.RELAYS[kind]())


@pytest.fixture
def script(bench):
    """An agent of a TypeScript gene that was compiled, as Javy does it."""
    module = building.c(building.source("script.c"))
    bench.gene("script", {"index.ts": "export const express = (x, { memory }) => 1;", "gene.ir.wasm": module}, inputSchema=True, outputSchema=True)  # fmt: skip
    bench.record(1, genome=["script"])
    with bench.project().agent("keeper") as agent:
        agent.bench = bench
        yield agent


@pytest.mark.parametrize("given", [{}, {"a": [1, 2.5, None, "ü"]}, [], 5, None, "x" * 100_000])
def test_compiled_typescript_gets_its_input_and_nothing_else(script, given):
    """JSON in, JSON out, white space around it; there is no second argument and no memory."""
    given = given if not isinstance(given, str) else [given]

    assert {"got": given} == script.run(given).output
    assert {} == {entry.key: entry for entry in script.memory.list()}
    assert {"wasi_snapshot_preview1"} == imported(building.c(building.source("script.c"))).keys()


def test_compiled_typescript_that_fails_says_why(script):
    """What it wrote on standard error is in the message; the next run is a fresh one."""
    with pytest.raises(GeneFailed, match="no such word") as caught:
        script.run("no such word")

    assert "exit code 3" in caught.value.message
    assert {"got": 1} == script.run(1).output


def test_info_says_that_compiled_typescript_has_no_memory(script, monkeypatch, capsys):
    """A module without memory calls cannot remember; who needs memory stays under Node."""
    from rotifer_bridge._cli import run

    monkeypatch.chdir(script.bench.root)
    assert 0 == run(["info", "script", "--json"])
    memory = json.loads(capsys.readouterr().out)["memory"]

    assert memory["available"] is False
    assert "gets its input only" in memory["reason"]
    assert "stays under Node" in memory["reason"]


def test_compiled_typescript_hands_over_to_one_under_node(script):
    """A Seq of both: the one under Node has the memory, the compiled one passes through."""
    bench = script.bench
    bench.gene("keep", {"index.ts": "export const express = (x, { memory }) => [x, memory.writeMemory('k', new Uint8Array(1), 'CACHE').key];"}, inputSchema=True, outputSchema=True)  # fmt: skip
    bench.record(1, genome=["script", "keep", "script"])

    with bench.project().agent("keeper") as agent:
        assert {"got": [{"got": 5}, "k"]} == agent.run(5).output


@pytest.mark.long
def test_a_c_library_needs_no_more_of_wasi_than_there_is(bench):
    """What zig's libc pulls in for standard input and output can all be linked, and it runs."""
    module = building.c(building.source("stdio.c"), building.ZIG_LIBC_FLAGS)
    bench.gene("count", {"gene.ir.wasm": module}, inputSchema=True)
    bench.record(1, genome=["count"])

    with bench.project().agent("keeper") as agent:
        assert {"words": 4} == agent.run({"text": "one and two"}).output
