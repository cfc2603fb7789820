"""``rotifer agent create``, ``set`` and ``list``."""

from __future__ import annotations

import json
import re

import pytest


@pytest.fixture(autouse=True)
def genes(bench):
    """Two genes to choose from."""
    bench.gene("one")
    bench.gene("two")


@pytest.mark.parametrize(
    "argv",
    [
        ["keeper", "-g", "one", "two"],
        ["keeper", "--genes", "one", "two", "--composition", "Seq"],
        ["keeper", "-g", "one", "-g", "two"],
        ["keeper", "--genes=one", "--genes", "two"],
        ["--composition", "Seq", "-g", "one", "two", "--", "keeper"],
        ["keeper", "-n", "2"],
        ["keeper", "-d", "code"],
    ],
)
def test_genes_can_be_named_in_many_ways(cli, bench, argv):
    """`-g` takes every word up to the next option, may be repeated, or is left out."""
    done = cli("agent", "create", *argv)

    assert 0 == done.code, done.err
    assert "one, two (Seq)" in done.out
    assert ("one", "two") == bench.project().record("keeper").genome


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            [],
            "picked: one, two; 2 of 3 genes, compiled ones first, then by name (name them with -g)",
        ),
        (["-n", "1"], "picked: one; 1 of 3 genes, "),
        (["-d", "text"], "picked: zwei; 1 of 1 gene of domain text, "),
    ],
)
def test_what_was_picked_is_said(cli, bench, argv, words):
    """Nobody named the genes: which they are, why, and how to name them."""
    bench.gene("zwei", domain="text")

    assert words in cli("agent", "create", "keeper", *argv).err


def test_what_picks_is_ignored_beside_names(cli, bench):
    """`-g` decides; that the others do nothing is said."""
    done = cli("agent", "create", "keeper", "-g", "two", "-d", "none", "-n", "7")

    assert 0 == done.code
    assert "warning: --domain and --top: ignored, because -g names the genes" in done.err
    assert "picked" not in done.err
    assert ("two",) == bench.project().record("keeper").genome


@pytest.mark.parametrize("command", ["create", "set"])
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("one,two", "several genes stand one after the other: -g one two"),
        ("genes/one", "the gene's name is enough: -g one"),
        ("genes/one/", "the gene's name is enough: -g one"),
    ],
)
def test_a_slip_in_the_genes(cli, command, given, remedy):
    """Commas and paths are not how genes are named; how they are is said."""
    done = cli("agent", command, "keeper", "--genes", given)

    assert (1, "") == (done.code, done.out)
    assert "error[E0040]: " in done.err
    assert remedy in done.err


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["agent", "create", "keeper", "-g"], "rotifer agent create"),
        (["agent", "create"], "rotifer agent create"),
        (["agent", "run", "keeper", "--json=1"], "rotifer agent run"),
        (["agent", "memory", "list", "keeper", "--category"], "rotifer agent memory list"),
        (["agent", "nothing"], "rotifer agent"),
        (["--nothing"], "rotifer"),
    ],
)
def test_a_mistake_leads_to_the_help_of_its_command(cli, argv, command):
    """Whatever is missing or too much, the help named is the one that explains it."""
    assert f"help: see '{command} --help'\n" in cli(*argv).err


def test_created(cli, bench):
    """Id, genome and quota on stdout; the next step on stderr."""
    done = cli("agent", "create", "keeper", "-g", "one", "--memory-quota=1.5MB")
    record = bench.project().record("keeper")

    assert record.id in done.out
    assert "1.5 MB" in done.out
    assert "rotifer agent run keeper" in done.err


def test_a_composition_object(cli, bench):
    """A predicate can be given as JSON."""
    cond = {"type": "Cond", "predicate": {"field": "n", "op": "Gt", "value": 1}}
    cli("agent", "create", "keeper", "-g", "one", "two", "--composition", json.dumps(cond))

    assert cond["predicate"] == bench.project().record("keeper").composition["predicate"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["keeper", "-g", "none"], "error[E0040]: gene 'none' does not exist"),
        (["../keeper", "-g", "one"], "'../keeper' is not an agent name"),
        (["keeper", "-g"], "requires an argument"),
        (["-g", "one", "keeper"], "missing argument 'NAME'"),
        (
            ["keeper", "-g", "one", "--memory-quota", "50"],
            "cannot be read; write a number with KB, MB or GB",
        ),
        (["keeper", "-g", "one", "--memory-quota", "-1MB"], "cannot be read"),
        (
            ["keeper", "-g", "one", "--memory-quota", "99999999GB"],
            "the limit is 9,007,199,254,740,991",
        ),
        (["keeper", "-g", "one", "two", "--composition", "Loop"], "'Loop' is not a composition"),
        (["keeper", "-g", "one", "two", "--composition", "{"], "--composition is not JSON: line 1"),
        (["keeper", "-g", "one", "two", "--par-merge", "x"], "'x' is not a merge"),
        (["keeper", "-d", "nothing"], "no gene of domain 'nothing'"),
        (["keeper", "-n", "x"], "'x' is not a valid integer"),
        (["keeper", "--nonsense"], "no such option '--nonsense'"),
        ([], "missing argument 'NAME'"),
    ],
)
def test_refused(cli, bench, argv, words):
    """One message on stderr, exit code 1, and no agent."""
    done = cli("agent", "create", *argv)

    assert 1 == done.code
    assert "" == done.out
    assert words in done.err
    assert [] == list(bench.project().records())


def test_set_swaps_the_genes(cli, bench):
    """The agent stays the one it was."""
    cli("agent", "create", "keeper", "-g", "one")
    before = bench.project().record("keeper").id
    done = cli("agent", "set", "keeper", "-g", "two", "one", "--memory-quota", "1KB")
    after = bench.project().record("keeper")

    assert 0 == done.code
    assert "memory is as it was" in done.out
    assert (before, ("two", "one"), 1024) == (after.id, after.genome, after.memory_quota_bytes)


def test_set_nothing(cli):
    """Nothing named is a mistake, not a success."""
    cli("agent", "create", "keeper", "-g", "one")
    done = cli("agent", "set", "keeper")

    assert 1 == done.code
    assert "nothing to change" in done.err


def test_list(cli, bench):
    """A line for each agent, by name."""
    cli("agent", "create", "zoe", "-g", "one", "two")
    cli("agent", "create", "adam", "-g", "two")
    done = cli("agent", "list")
    head, first, second = done.out.splitlines()

    assert 0 == done.code
    assert ["Name", "State", "Genome", "Composition"] == head.split()[:4]
    assert first.split() == ["adam", "Active", "two", "Single", bench.project().record("adam").id]
    assert second.startswith("zoe ")
    assert "one, two" in second


def test_list_as_json(cli, bench):
    """One document with the whole records."""
    bench.record(1, "keeper", ("one",), mine=True)

    (agent,) = json.loads(cli("agent", "list", "--json").out)["agents"]
    assert ("keeper", ["one"], True) == (agent["name"], agent["genome"], agent["mine"])


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400, "NaN", "Infinity"])
def test_list_as_json_is_json(cli, bench, number):
    """A number that JSON cannot hold is a fault of its record, and never printed."""
    path = bench.record(1, "keeper", ("one",))
    bench.record(2, "other", ("one",))
    text = bench.text(path).replace('"reputation": 0', f'"reputation": {number}')
    bench.put(path, text)
    done = cli("agent", "list", "--json")

    assert 1 == done.code
    assert ["other"] == [agent["name"] for agent in json.loads(done.out)["agents"]]
    assert not re.search("inf|nan", done.out, re.IGNORECASE)
    assert "the agent's record is not JSON: " in done.err


def test_list_of_none(cli):
    """No agents is no failure; the way to one is told."""
    done = cli("agent", "list")

    assert (0, "") == (done.code, done.out)
    assert "rotifer agent create" in done.err


def test_list_survives_what_is_no_record(cli, bench):
    """The fitness file is none; a damaged record is reported and the others are listed."""
    bench.record(1, "keeper", ("one",))
    bench.put(".rotifer/agents/keeper.fitness.json", '{"one": 0.5}')
    assert 0 == cli("agent", "list").code

    bench.record(2, "../evil", ("one",))
    bench.put(".rotifer/agents/00000000-0000-4000-8000-000000000003.json", "{")
    done = cli("agent", "list")
    assert 1 == done.code
    assert 2 == len(done.out.splitlines())
    assert "keeper" in done.out
    assert "'../evil' is not an agent name" in done.err
    assert "record is not JSON" in done.err


def test_list_names_duplicates(cli, bench):
    """Two records of one name are both listed, and reported."""
    bench.record(1, "keeper", ("one",))
    bench.record(2, "keeper", ("two",))
    done = cli("agent", "list")

    assert 1 == done.code
    assert 3 == len(done.out.splitlines())
    assert "2 agents are named 'keeper'" in done.err
