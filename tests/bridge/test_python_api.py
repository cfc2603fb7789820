"""The Python API: projects, agents, warm workers, the deployer's view."""

from __future__ import annotations

import math
import os

import pytest

import rotifer_bridge
from rotifer_bridge import AgentError, Project, ProjectError, UsageError


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
