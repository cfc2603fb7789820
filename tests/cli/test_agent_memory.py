"""``rotifer agent memory list`` and ``delete``."""

from __future__ import annotations

import json
import re

import pytest

from rotifer_bridge._wrap import wrap
from rotifer_engine import Caller

GENE = Caller("v2:" + "ab" * 32, "code")
NASTY = "esc\x1b[2J\u202eend"


@pytest.fixture
def memory(bench):
    """An agent that remembers four things."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",), memoryQuotaBytes=4096)
    project = bench.project()
    memory = project.memory(project.record("keeper"))
    memory.write(GENE, "b", b"x" * 2000, "CACHE")
    memory.write(GENE, "a", b"secret", "PREFERENCE")
    memory.write(GENE, "c", b"", "CONTEXT")
    memory.write(GENE, NASTY, b"y", "CACHE")
    yield memory
    project.close()


def test_list(cli, memory):
    """Key, category, size, gene, last update; the usage; never a value."""
    done = cli("agent", "memory", "list", "keeper")
    head, *rows, last = done.out.splitlines()

    assert 0 == done.code
    assert ["Key", "Category", "Size", "Gene", "Updated"] == head.split()
    assert ["a", "b", "c"] == [row.split()[0] for row in rows[:3]]
    assert ["a", "PREFERENCE", "7", "B", "v2:abababababab…"] == rows[0].split()[:5]
    assert rows[0].endswith("Z")
    assert "secret" not in done.out
    assert "2 KB of 4 KB used (2,023 of 4,096 bytes)" == last


def test_genes_stand_with_their_names(cli, memory, bench):
    """A gene of the project is named: as it is now, as it was wrapped, and beside its copy."""
    project = bench.project()
    for name in ("now", "then", "copy", "broken"):
        bench.gene(name, {"index.ts": name.replace("copy", "now")}, wrapped=False)
        memory.write(Caller(wrap(project, name).v2_id, "code"), name, b"", "PATTERN")
    bench.put("genes/then/index.ts", "changed")
    bench.put("genes/broken/phenotype.json", "{")
    done = cli("agent", "memory", "list", "keeper", "--category", "PATTERN")
    rows = [re.split(" {2,}", row) for row in done.out.splitlines()[1:5]]

    assert [
        ("broken", "broken"),
        ("copy", "copy, now"),
        ("now", "copy, now"),
        ("then", "then"),
    ] == [(row[0], row[3]) for row in rows]


def test_keys_do_not_drive_the_terminal(cli, memory):
    """Escape sequences and overrides are shown, not obeyed; JSON has the key as it is."""
    done = cli("agent", "memory", "list", "keeper")
    assert r"esc\x1b[2J\u202eend" in done.out
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out

    document = json.loads(cli("agent", "memory", "list", "keeper", "--json").out)
    assert NASTY == document["entries"][-1]["key"]


def test_list_as_json(cli, memory):
    """One document with every field."""
    document = json.loads(
        cli("agent", "memory", "list", "keeper", "--json", "--category", "PREFERENCE").out
    )

    (entry,) = document.pop("entries")
    assert {"agent": "keeper", "usageBytes": 2023, "quotaBytes": 4096} == document
    assert entry.pop("updatedAt").endswith("Z")
    assert {"key": "a", "category": "PREFERENCE", "size": 7, "createdBy": GENE.gene_id} == entry


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        ("key", ["a", "b", "c", NASTY]),
        ("size", ["b", NASTY, "a", "c"]),
        ("updated", [NASTY, "c", "a", "b"]),
        ("category", ["b", NASTY, "c", "a"]),
    ],
)
def test_sorted(cli, memory, order, keys):
    """By key, or the largest, the latest or one category after another."""
    document = json.loads(cli("agent", "memory", "list", "keeper", "--json", "--sort", order).out)

    assert keys == [entry["key"] for entry in document["entries"]]


def test_list_of_nothing(cli, memory):
    """An empty category is no failure; the usage is printed all the same."""
    done = cli("agent", "memory", "list", "keeper", "--category", "PATTERN")

    assert 0 == done.code
    assert "nothing is remembered in PATTERN" in done.err
    assert 1 == len(done.out.splitlines())


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["list", "nobody"], "error[E0050]: agent 'nobody' does not exist"),
        (
            ["list", "keeper", "--category", "cache"],
            "'cache' is not a category\nhelp: did you mean 'CACHE'? use one of PREFERENCE, PATTERN, ",
        ),
        (["list", "keeper", "--sort", "x"], "'x' is not one of"),
        (["delete", "keeper"], "exactly one of --key and --category"),
        (["delete", "keeper", "--key", "a", "--category", "CACHE"], "exactly one of"),
        (["delete", "keeper", "--key", "none"], "error[MEMORY_NOT_FOUND]"),
        (
            ["delete", "keeper", "--key", "none"],
            "help: 'rotifer agent memory list keeper' lists the keys there are\n",
        ),
        (["delete", "keeper", "--key", ""], "error[MEMORY_INVALID_INPUT]"),
        (["delete", "keeper", "--key", "\udcff"], "error[MEMORY_INVALID_INPUT]"),
        (
            ["delete", "keeper", "--category", "X"],
            "error[MEMORY_INVALID_INPUT]: 'X' is not a category\nhelp: use one of PREFERENCE, ",
        ),
    ],
)
def test_refused(cli, memory, argv, words):
    """A message with its code, exit code 1, and everything remembered as before."""
    done = cli("agent", "memory", *argv)

    assert 1 == done.code
    assert words in done.err
    assert "" == done.out
    assert 4 == len(list(memory.list()))


def test_delete_one(cli, memory, bench):
    """One entry goes, whatever its policy; the audit log names the deployer."""
    done = cli("agent", "memory", "delete", "keeper", "--key", "a")
    line = json.loads(bench.text(".rotifer/audit.jsonl").splitlines()[-1])

    assert (0, "1 entry deleted\n") == (done.code, done.out)
    assert ("memory.delete", "deployer", "a") == (line["action"], line["gene_id"], line["key"])
    assert memory.list is not None
    assert "a" not in [entry.key for entry in memory.list()]


def test_delete_a_category(cli, memory):
    """All of it goes, and how many is said; again, it is none."""
    assert (
        "2 entries deleted\n"
        == cli("agent", "memory", "delete", "keeper", "--category", "CACHE").out
    )
    assert ["a", "c"] == [entry.key for entry in memory.list()]
    again = cli("agent", "memory", "delete", "keeper", "--category", "CACHE")
    assert (0, "0 entries deleted\n") == (again.code, again.out)


def test_a_database_that_is_none(cli, bench):
    """A damaged database is a message, and is left as it is."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    bench.put(".rotifer/playground.db", b"not a database" * 100, 0o600)
    done = cli("agent", "memory", "list", "keeper")

    assert 1 == done.code
    assert "error[MEMORY_STORAGE_ERROR]" in done.err
    assert "not a database" in bench.text(".rotifer/playground.db")
