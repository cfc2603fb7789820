"""The Python API: projects, agents, warm workers, the deployer's view."""

from __future__ import annotations

import gc
import math
import os
import signal
import threading

import pytest

import rotifer_bridge
from rotifer_bridge import (
    Agent,
    AgentError,
    GeneError,
    Project,
    ProjectError,
    UsageError,
    WorkerDied,
)
from rotifer_bridge._inmost import inmost


def test_every_public_name_is_there():
    """``__all__`` is sorted, whole, and each of its names can be had."""
    assert sorted(rotifer_bridge.__all__) == rotifer_bridge.__all__
    assert rotifer_bridge.__all__ == dir(rotifer_bridge)
    for name in rotifer_bridge.__all__:
        assert name == getattr(rotifer_bridge, name).__name__


def test_an_agent_from_nothing(bench, monkeypatch):
    """find, create_agent, run, memory: all that a program needs."""
    bench.gene("count", {"index.ts": """
        export function express(input, { memory }) {
          const saved = memory.readMemory('n');
          const n = saved ? Number(new TextDecoder().decode(saved.value)) + 1 : 1;
          memory.writeMemory('n', new TextEncoder().encode(String(n)), 'PREFERENCE');
          return { n };
        }"""})  # fmt: skip
    os.makedirs(bench.path("genes", "deep", "er"))
    monkeypatch.chdir(bench.path("genes", "deep", "er"))

    with Project.find().create_agent("counter", ["count"], memory_quota="64KB") as agent:
        assert [{"n": 1}, {"n": 2}] == [agent.run({}).output for _ in range(2)]
        [entry] = agent.memory.list()
    with Project.find(bench.root).agent("counter") as again:
        result = again.run()

    assert ("n", "PREFERENCE", 2) == (entry.key, entry.category, entry.size)
    assert {"n": 3} == result.output
    assert {"agent", "composition", "output", "steps", "durationMs"} == result.to_json().keys()


def test_no_project_is_said(tmp_path):
    """Outside a project: the documented sentence."""
    with pytest.raises(ProjectError, match="Not in a Rotifer Agent workspace"):
        Project.find(tmp_path)


@pytest.mark.parametrize("given", [math.nan, {1, 2}, b"bytes", object()])
def test_an_input_that_is_no_json_is_refused(bench, given):
    """What JSON cannot hold never gets to a gene."""
    bench.gene("g")
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(UsageError, match="not a JSON"):
        agent.run(given)


def test_a_closed_agent_is_refused(bench):
    """After close nothing runs; closing again is fine."""
    bench.gene("g")
    bench.record(1, genome=["g"])
    agent = bench.project().agent("keeper")
    agent.run({})
    agent.close()
    agent.close()

    with pytest.raises(AgentError, match="is closed"):
        agent.run({})


def test_any_json_goes_through_unchanged(bench):
    """Astral letters, lone surrogates, big and small numbers, depth: out is what came in."""
    bench.gene("g", {"index.ts": "export const express = (x) => x;"})
    bench.record(1, genome=["g"])
    given = {"a": "\U0001f600é\0\u2028", "lone": "\ud800", "n": [0, -1, 1.5, 2**53 - 1, 1e308, None, True], "d": [[[{}]]], "": ""}  # fmt: skip

    with bench.project().agent("keeper") as agent:
        assert given == agent.run(given).output
        assert "text" == agent.run("text").output
        assert 0 == agent.run(0).output


def test_large_values_go_through(bench):
    """A 20 MB input and output, and a memory value of exactly 1 MiB."""
    bench.gene("g", {"index.ts": """
        export function express(input, { memory }) {
          const value = new Uint8Array(1048576).map((_, i) => i % 251);
          memory.writeMemory('big', value, 'CACHE');
          const back = memory.readMemory('big').value;
          return { text: input.text, same: back.length === value.length && back.every((b, i) => b === value[i]) };
        }"""})  # fmt: skip
    bench.record(1, genome=["g"])
    text = "x" * 20_000_000

    with bench.project().agent("keeper") as agent:
        output = agent.run({"text": text}).output

    assert output["same"] is True
    assert text == output["text"]


@pytest.mark.parametrize("limit", [0, -1, math.nan, math.inf, "5", None])
def test_a_time_limit_that_is_none_is_refused(bench, limit):
    """Only seconds above 0 and up to a day."""
    bench.gene("g")
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(UsageError, match="time limit"):
        agent.run({}, time_limit=limit)


def test_closing_during_a_run_ends_it(bench):
    """close() from another thread, and from on_log: the run ends with an error, nothing is left."""
    bench.gene("g", {"index.ts": "export function express() { console.log('up'); for (;;); }"})
    bench.record(1, genome=["g"])
    threads = []

    def elsewhere(agent):
        threads.append(threading.Thread(target=agent.close))
        threads[-1].start()

    for close in (Agent.close, elsewhere):
        agent = bench.project().agent("keeper")
        with pytest.raises(WorkerDied):
            agent.run({}, on_log=lambda _gene, _line, a=agent, c=close: c(a))
        for thread in threads:
            thread.join()
        with pytest.raises(AgentError, match="is closed"):
            agent.run({})


def test_runs_cannot_be_nested(bench):
    """A run from inside a run's own callback is refused, and the outer one goes on."""
    bench.gene("g", {"index.ts": "export function express() { console.log('up'); return 1; }"})
    bench.record(1, genome=["g"])
    seen = []

    def nested(_gene, _line):
        with pytest.raises(AgentError, match="nested"):
            agent.run({})
        seen.append(True)

    with bench.project().agent("keeper") as agent:
        assert 1 == agent.run({}, on_log=nested).output

    assert [True] == seen


def children():
    """The children of the main thread."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {int(pid) for pid in file.read().split()}


def test_a_forgotten_agent_is_closed(bench):
    """An agent that nobody holds any more gives its worker back."""
    bench.gene("g")
    bench.record(1, genome=["g"])
    project = bench.project()
    before = children()

    project.agent("keeper").run({})
    gc.collect()

    assert before == children()


def test_a_worker_killed_between_runs_is_replaced(bench):
    """A warm worker that has died meanwhile costs nobody a run."""
    bench.gene("g", {"index.ts": "let n = 0; export const express = () => ++n;"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        before = children()
        assert [1, 2] == [agent.run({}).output for _ in range(2)]
        [first] = children() - before
        os.kill(inmost(first), signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert 1 == agent.run({}).output


def test_a_bad_schema_names_its_gene(bench):
    """A schema that is none is an error with the gene, the file and what to do."""
    bench.gene("g", inputSchema={"type": "foo"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(GeneError) as caught:
        agent.run({})

    assert "gene 'g': its inputSchema cannot be used" in caught.value.message
    assert caught.value.where.endswith("genes/g/phenotype.json")
    assert caught.value.help
