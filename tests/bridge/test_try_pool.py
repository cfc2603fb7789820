"""TryPool: the genes of a domain stand in for each other (projects §4)."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_bridge import CompositionFailed, GeneError, UsageError

SAYS = "export const express = (x) => ({{ by: '{}', x }});"
THROWS = "export const express = () => {{ throw new Error('{} is down'); }};"
FITNESS = ".rotifer/agents/keeper.fitness.json"


@pytest.fixture
def pool(bench):
    """Makes an agent of genes: name to (domain, source)."""

    def make(genes):
        for name, (domain, source) in genes.items():
            bench.gene(name, {"index.ts": source.format(name)}, domain=domain)
        bench.record(1, genome=list(genes), composition={"type": "TryPool"})
        return bench

    return make


def steps(result):
    """Who took a turn, and how it ended."""
    return [(step.gene, step.status) for step in result.steps]


def fitness(bench):
    """What the fitness file says."""
    return json.loads(bench.text(FITNESS))


def test_each_domain_gets_the_input_and_gives_an_answer(pool):
    """Pools by domain, the same input to each; the output by domain, in the genome's order."""
    bench = pool({"a": ("two", SAYS), "b": ("one", SAYS), "c": ("two", SAYS)})

    with bench.project().agent("keeper") as agent:
        result = agent.run({"n": 1})

    assert [("two", "a"), ("one", "b")] == [(d, o["by"]) for d, o in result.output.items()]
    assert {"n": 1} == result.output["one"]["x"] == result.output["two"]["x"]
    assert "TryPool" == result.composition
    assert {"fitness": {"a": 0.55, "b": 0.55}, "active": {"two": "a", "one": "b"}} == fitness(bench)


def test_the_next_gene_takes_over_and_stays(pool):
    """A gene that fails hands over; the one that answered is the active one of the next run."""
    bench = pool({"a": ("d", THROWS), "b": ("d", SAYS)})

    with bench.project().agent("keeper") as agent:
        first = agent.run({})
        second = agent.run({})

    assert [("a", "failed"), ("b", "ok")] == steps(first)
    assert [("b", "ok")] == steps(second)
    assert {"a": 0.35, "b": 0.6} == fitness(bench)["fitness"]


def test_the_fittest_follows_the_active_gene(pool):
    """Active first, whatever its fitness; then by falling fitness; unknown genes start at 0.5."""
    bench = pool(dict.fromkeys("abcd", ("d", THROWS)))
    bench.put(FITNESS, {"fitness": {"a": 0.1, "b": 0.9, "d": 0.05}, "active": {"d": "d"}, "x": 1})

    with bench.project().agent("keeper") as agent, pytest.raises(CompositionFailed) as caught:
        agent.run({})

    assert ["d", "b", "c", "a"] == [step.gene for step in caught.value.steps]
    assert {
        "fitness": {"a": 0.0, "b": 0.75, "c": 0.35, "d": 0.0},
        "active": {"d": "d"},
        "x": 1,
    } == fitness(bench)


def test_a_failed_domain_fails_the_run(pool):
    """E0053 with every gene's reason and the steps; the other domains have run and are counted."""
    bench = pool({"a": ("one", THROWS), "b": ("one", THROWS), "c": ("two", SAYS)})

    with bench.project().agent("keeper") as agent, pytest.raises(CompositionFailed) as caught:
        agent.run({})

    assert "E0053" == caught.value.code
    assert all(word in caught.value.message for word in ("one", "a is down", "b is down"))
    assert ["failed", "failed", "ok"] == [step.status for step in caught.value.steps]
    assert 0.55 == fitness(bench)["fitness"]["c"]


def test_nothing_runs_when_a_gene_is_missing(pool):
    """A genome with a gene that is not there is an error before anything runs."""
    bench = pool({"a": ("one", SAYS)})
    bench.record(1, genome=["a", "gone"], composition={"type": "TryPool"})

    with bench.project().agent("keeper") as agent, pytest.raises(GeneError) as caught:
        agent.run({})

    assert "E0051" == caught.value.code
    assert not os.path.exists(bench.path(FITNESS))


def test_a_refusal_is_a_failure(pool):
    """__rotifer_error as the only key hands over to the next gene."""
    refuses = "export const express = () => ({{ __rotifer_error: {{ message: 'no' }} }});"
    bench = pool({"a": ("d", refuses), "b": ("d", SAYS)})

    with bench.project().agent("keeper") as agent:
        assert "b" == agent.run({}).output["d"]["by"]


@pytest.mark.parametrize(
    ("files", "fields", "words"),
    [
        ({"index.ts": "export const express = ( => 1;"}, {}, "could not be loaded"),
        ({"index.ts": "@d class A {}"}, {}, "decorators cannot be run"),
        ({}, {"inputSchema": {"$ref": "#/nowhere"}}, "inputSchema cannot be used"),
        ({}, {"fidelity": "Hybrid", "network": []}, "network is not an object"),
    ],
)
def test_a_gene_that_cannot_be_made_ready_is_a_failure(pool, files, fields, words):
    """The next gene takes over, the warning says what is wrong with the first."""
    bench = pool({"a": ("d", SAYS), "b": ("d", SAYS)})
    bench.gene("a", files, domain="d", **fields)
    notes = []

    with bench.project().agent("keeper") as agent:
        result = agent.run({}, on_note=notes.append)

    assert "b" == result.output["d"]["by"]
    assert {"a": 0.35, "b": 0.55} == fitness(bench)["fitness"]
    assert any(words in note for note in notes), notes


def test_strict_ends_the_run(pool):
    """With strict, an input that does not fit is a mistake of the caller, not of a gene."""
    bench = pool({"a": ("d", SAYS)})
    bench.gene("a", domain="d", inputSchema={"type": "object", "required": ["n"]})

    with bench.project().agent("keeper") as agent, pytest.raises(UsageError):
        agent.run({}, strict=True)


@pytest.mark.parametrize("text", [b"\xff", b"{", b"[]", b'{"fitness": 5, "active": {"d": 5}}'])
def test_a_damaged_file_starts_anew(pool, text):
    """What cannot be used of the file counts as not written, and is replaced by what can."""
    bench = pool({"a": ("d", SAYS)})
    bench.put(FITNESS, text)
    notes = []

    with bench.project().agent("keeper") as agent:
        agent.run({}, on_note=notes.append)

    assert {"fitness": {"a": 0.55}, "active": {"d": "a"}} == fitness(bench)
    assert text.startswith(b'{"') or any("anew" in note for note in notes)


def test_the_file_is_private_and_no_agent(pool):
    """Mode 0600, nothing left beside it, and `agent list` is not confused by it."""
    bench = pool({"a": ("d", SAYS)})

    with bench.project().agent("keeper") as agent:
        agent.run({})

    assert 0o600 == os.stat(bench.path(FITNESS)).st_mode & 0o777
    assert 2 == len(os.listdir(bench.path(".rotifer/agents")))
    assert "keeper" == bench.project().record("keeper").name


def test_a_link_in_its_place_is_refused(pool, tmp_path):
    """A symbolic link where the fitness file belongs is not followed."""
    from rotifer_bridge import ProjectError

    bench = pool({"a": ("d", SAYS)})
    target = tmp_path / "target"
    target.write_text("{}")
    os.symlink(target, bench.path(FITNESS))

    with bench.project().agent("keeper") as agent, pytest.raises(ProjectError, match="link"):
        agent.run({})

    assert "{}" == target.read_text()
