"""One scenario, played from TypeScript, AssemblyScript, C and WAT: the same results, the same records.

Identities differ from language to language, because modules differ; they are compared by role.
"""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from typing import NamedTuple

import pytest
from tests.conftest import Bench
from tests.genes import building

ROOM = 65_536
QUOTA = 8_192
KINDS = ["typescript", *building.RELAYS]
ROLES = {"maker": "code", "sibling": "code", "stranger": "other"}


def policy(scope, **changes):
    """An access policy with the same scope for both."""
    return {"readScope": scope, "writeScope": scope, "sharePolicy": "PRIVATE", **changes}


def retention(days):
    """A retention policy."""
    return {"maxRetentionDays": days, "autoDeleteOnTermination": False, "anonymizationSupported": False}  # fmt: skip


def write(key, value, category, **policies):
    """A write; the value as text."""
    data = base64.b64encode(value.encode()).decode()
    return "write", {"key": key, "value": data, "category": category, **policies}


def read(key, **category):
    """A read."""
    return "read", {"key": key, **category}


def query(**filters):
    """A query."""
    return "query", filters


def delete(key):
    """A delete."""
    return "delete", {"key": key}


SCENARIO = [
    (
        "maker",
        read("p/1"),
        write("p/1", "one", "PREFERENCE"),
        read("p/1"),
        read("p/1", category="PREFERENCE"),
        read("p/1", category="CACHE"),
        write("p/1", "two", "CONTEXT"),
        write("p/2", "", "CACHE"),
        write("q/1", "ü€😀", "PATTERN"),
        query(),
        query(keyPrefix="p/"),
        query(category="CACHE"),
        query(limit=1),
        query(keyPrefix="p/", category="PATTERN"),
        delete("p/2"),
        delete("p/2"),
        read("p/2"),
    ),
    (
        "maker",
        write("own", "secret", "CONTEXT", accessPolicy=policy("CREATOR_GENE_ONLY")),
        write("all", "open", "CONTEXT", accessPolicy=policy("ALL_GENES")),
        write("dom", "shared", "CONTEXT"),
        write("kept", "for 30 days", "CONTEXT", retentionPolicy=retention(30)),
        write("kept", "for ever", "CONTEXT", retentionPolicy=retention(None)),
        write("kept", "as the agent has it", "CONTEXT", retentionPolicy=None),
    ),
    (
        "sibling",
        read("own"),
        read("all"),
        read("dom"),
        write("own", "x", "CONTEXT"),
        write("all", "changed", "CONTEXT"),
        write("dom", "changed", "PATTERN"),
        write("dom", "x", "CONTEXT", accessPolicy=policy("ALL_GENES")),
        write("dom", "same policy", "CONTEXT", accessPolicy=policy("SAME_DOMAIN")),
        write("dom", "x", "CONTEXT", retentionPolicy=retention(5)),
        delete("own"),
        query(),
    ),
    (
        "stranger",
        read("own"),
        read("dom"),
        read("all"),
        read("dom", category="CACHE"),
        write("dom", "x", "CONTEXT"),
        delete("dom"),
        query(),
        query(keyPrefix="d"),
        write("mine", "of another domain", "CACHE"),
        delete("all"),
        delete("all"),
    ),
    (
        "maker",
        read("mine"),
        write("own", "wider", "CONTEXT", accessPolicy=policy("SAME_DOMAIN")),
        write("x", "x", "CACHE", accessPolicy=policy("DEPLOYER_CONFIGURED")),
        write("x", "x", "CACHE", accessPolicy=policy("ALL_GENES", sharePolicy="ANONYMIZED_SHARE")),
        write("", "x", "CACHE"),
        write("a\0b", "x", "CACHE"),
        write("k" * 1025, "x", "CACHE"),
        write("k" * 1024, "x", "CACHE"),
        write("x", "x", "cache"),
        write("x", "x", "CACHE", accessPolicy=policy("EVERYONE")),
        write("x", "x", "CACHE", accessPolicy={"readScope": "ALL_GENES"}),
        write("x", "x", "CACHE", retentionPolicy=retention(0)),
        write("x", "x", "CACHE", retentionPolicy={"maxRetentionDays": 1}),
        read("x", category="NOTHING"),
        query(limit=0),
        query(limit=1001),
        query(prefix="p"),
        query(since="yesterday"),
        delete(""),
    ),
    (
        "sibling",
        read("own"),
        write("50%_*", "wild", "PATTERN"),
        write("50%_x", "wild too", "PATTERN"),
        query(keyPrefix="50%_"),
        query(keyPrefix="5_"),
        query(keyPrefix="😀"),
        query(since="2000-01-01T00:00:00Z", until="2999-01-01T00:00:00+01:00", limit=3),
        query(until="2000-01-01T00:00:00Z"),
        delete("50%_*"),
    ),
    (
        "maker",
        write("c/old", "c" * 2_000, "CACHE"),
        write("pref", "p" * 2_000, "PREFERENCE"),
        write("c/old", "d" * 2_000, "CACHE"),
        write("ctx", "x" * 3_000, "CONTEXT"),
        query(category="CACHE"),
        write("big", "b" * 9_000, "CONTEXT"),
        write("pref2", "p" * 5_000, "PREFERENCE"),
        write("pref3", "p" * 5_000, "PREFERENCE"),
        query(),
    ),
]


def calls():
    """How many calls the scenario has."""
    return sum(len(part) - 1 for part in SCENARIO)


class Played(NamedTuple):
    """What came of the scenario from one kind of gene, identities and times made comparable."""

    results: list
    numbers: list
    lines: list


@cache
def played(kind, folder):
    """Play it once, in a project of its own."""
    root = folder / kind
    root.mkdir()
    bench = Bench(root)
    for role, domain in ROLES.items():
        bench.gene(role, building.relay_files(kind), domain=domain, description=role, inputSchema=True, outputSchema=True)  # fmt: skip
    project = bench.project()
    identities = {project.gene(role).v2_id: role for role in ROLES}
    agents = {}
    for role in ROLES:
        bench.record(1, genome=[role], memoryQuotaBytes=QUOTA)
        agents[role] = project.agent("keeper")
    results = []
    try:
        for role, *asked in SCENARIO:
            given = [part for op, request in asked for part in (op, ROOM, request)]
            results += agents[role].run(given).output
    finally:
        for agent in agents.values():
            agent.close()
    changes = {}

    def comparable(text):
        for identity, role in identities.items():
            text = text.replace(identity, role)
        text = re.sub(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"', '"T"', text)
        return re.sub(
            r'("change_id": ?")([^"]*)"',
            lambda found: f'{found[1]}{changes.setdefault(found[2], len(changes))}"',
            text,
        )

    return Played(
        [json.loads(comparable(json.dumps(answer))) for _, answer in results],
        [(number, answer) for number, answer in results],
        [json.loads(comparable(line)) for line in bench.text(".rotifer/audit.jsonl").splitlines()],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the projects are."""
    return tmp_path_factory.mktemp("scenario")


def test_the_scenario_is_a_long_one():
    """At least 60 calls; among them is every kind, and every code that needs no broken store."""
    ops = {op for _, *asked in SCENARIO for op, _ in asked}

    assert calls() >= 60
    assert {"read", "write", "query", "delete"} == ops


@pytest.mark.parametrize("kind", building.RELAYS)
def test_every_result_is_that_of_typescript(kind, folder):
    """Call by call, the same entry, list, null, or error with the same words."""
    expected, got = played("typescript", folder).results, played(kind, folder).results

    assert calls() == len(expected)
    asked = [call for _, *asked in SCENARIO for call in asked]
    differences = [(call, one, other) for call, one, other in zip(asked, expected, got, strict=True) if one != other]  # fmt: skip
    assert [] == differences


@pytest.mark.parametrize("kind", building.RELAYS)
def test_every_audit_line_is_that_of_typescript(kind, folder):
    """Line by line, the same record: action, role, domain, key, entry, size, result, code, change."""
    expected, got = played("typescript", folder).lines, played(kind, folder).lines

    assert len(expected) > 30
    assert expected == got


@pytest.mark.parametrize("kind", building.RELAYS)
def test_the_number_says_what_the_answer_is(kind, folder):
    """A result of 0 or more is the length of the answer; a negative one is the error's number."""
    for number, answer in played(kind, folder).numbers:
        told = answer.get("__rotifer_error") if isinstance(answer, dict) else None
        if number >= 0:
            assert told is None
            assert number == len(json.dumps(answer, separators=(",", ":")))
        else:
            assert number == {"MEMORY_ACCESS_DENIED": -2, "MEMORY_QUOTA_EXCEEDED": -8, "MEMORY_INVALID_INPUT": -10, "MEMORY_NOT_FOUND": -12}[told["code"]]  # fmt: skip


def test_the_scenario_meets_every_code(folder):
    """Denied, no room, invalid, not there: each is among the results, and so is success."""
    numbers = {min(number, 0) for number, _ in played("wat", folder).numbers}

    assert {0, -2, -8, -10, -12} == numbers
