"""The suite through genes and over HTTP: what they are asked, and that they give the same answers."""

from __future__ import annotations

import os
import re

import pytest
from tests.postgres.server import database

from rotifer_bridge import _conformance_node, _conformance_wasm
from rotifer_bridge._conformance import DOORS, Place, check_doors, read_doors, read_stores
from rotifer_bridge._conformance_genes import RELAY
from rotifer_bridge.errors import UsageError
from rotifer_engine.conformance import Step, cases
from rotifer_engine.conformance._report import explain

SQLITE = Place("sqlite", None)
#: Every case but those that move megabytes: they are played by the long test.
QUICK = [
    case
    for case in cases()
    if len(case.steps) < 200
    and sum(len(step.request["value"]) for step in case.steps if isinstance(step.request.get("value"), bytes)) < 100_000
]  # fmt: skip


def story(report):
    """What a person is told of a report that is not all well."""
    return [explain(failed, cell.name) for cell in report.cells for failed in cell.failed]


def test_the_quick_cases_are_nearly_all():
    """What is left to the long test is little."""
    assert len(cases()) - len(QUICK) < 20


@pytest.mark.parametrize("door", DOORS)
def test_a_door_passes_on_sqlite(door):
    """Every case that the door can say, with Python's answers."""
    report = check_doors(list(dict.fromkeys(["python", door])), [SQLITE], only=QUICK)

    assert [] == story(report)
    assert report.ok
    assert [] == list(report.unequal)
    cell = report.cells[-1]
    assert door == cell.door
    assert len(QUICK) == cell.total + len(cell.beyond)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_all_doors_on_both_stores():
    """Eight cells: every case, all passed, all equal."""
    with database(migrated=False) as url:
        report = check_doors(list(DOORS), [SQLITE, Place("postgres", url)])

    assert [] == story(report)
    assert [] == list(report.unequal)
    assert report.ok
    assert 8 == len(report.cells)


def test_python_on_postgres():
    """Every fifth case, on a server, in a database that is dropped afterwards."""
    with database(migrated=False) as url:
        report = check_doors(["python"], [Place("postgres", url)], only=QUICK[::5])

    assert [] == story(report)
    assert report.ok


def some(*names):
    """The cases of these names."""
    found = [case for case in cases() if case.name in names]
    assert len(names) == len(found)
    return found


@pytest.mark.parametrize("door", ["node", "wasm", "http"])
def test_doors_on_postgres(door):
    """A case of each sort through each door on a server."""
    chosen = some(
        "a new entry has every field, and no other",
        "one large write evicts as many as it needs, in that order",
        "an entry that follows goes when the agent's limit is over",
        "the deployer empties a category",
    )
    with database(migrated=False) as url:
        report = check_doors([door], [Place("postgres", url)], only=chosen)

    assert [] == story(report)
    assert 4 == report.cells[0].passed


@pytest.mark.parametrize("door", DOORS)
def test_a_door_that_lies_is_found(door, monkeypatch):
    """Each door really asks the engine: where the engine is wrong, the door's cases fail."""
    from rotifer_engine import _memory

    monkeypatch.setattr(_memory, "allows", lambda *_: True)
    chosen = some("a closed entry is denied, never null", "a deleted entry is gone")

    report = check_doors([door], [SQLITE], only=chosen)

    assert ["a closed entry is denied, never null"] == [f.case.name for f in report.cells[0].failed]
    assert not report.ok


def test_cells_that_differ_are_not_equal(monkeypatch):
    """One door with another answer: each cell may look right alone, the report does not."""
    from rotifer_bridge import _conformance_wasm

    right = _conformance_wasm._answer

    def lying(number, answer):
        given = right(number, answer)
        return {**given, "key": "other"} if isinstance(given, dict) and "key" in given else given

    monkeypatch.setattr(_conformance_wasm, "_answer", lying)

    report = check_doors(["python", "wasm"], [SQLITE], only=some("a deleted entry is gone"))

    assert not report.equal
    assert ["a deleted entry is gone"] == [unequal.case for unequal in report.unequal]
    assert ("python x sqlite", "wasm x sqlite") == report.unequal[0][1:]


def test_the_module_asks_what_the_step_says():
    """A request goes to the module as JSON, its length before it in bytes."""
    step = Step("A", "write", {"key": "é", "value": b"\xff", "category": "CACHE"})

    assert '[1,52,{"key":"\\u00e9","value":"/w==","category":"CACHE"}]' == re.sub(
        r"^\[1,\d+", "[1,52", _conformance_wasm._call(step)
    )
    text = _conformance_wasm._call(step)
    assert int(text.split(",")[1]) == len(text.split(",", 2)[2]) - 1


def test_the_number_and_the_envelope_of_a_module_must_agree():
    """A number of one code beside an envelope of another is no answer."""
    told = {"__rotifer_error": {"code": "MEMORY_NOT_FOUND", "message": "gone"}}

    assert {"error": {"code": "MEMORY_NOT_FOUND", "message": "gone"}} == _conformance_wasm._answer(-12, told)  # fmt: skip
    assert "MEMORY_ACCESS_DENIED as a number, MEMORY_NOT_FOUND in the envelope" == _conformance_wasm._answer(-2, told)["error"]["code"]  # fmt: skip
    assert "-1 as a number, None in the envelope" == _conformance_wasm._answer(-1, None)["error"]["code"]  # fmt: skip


def test_bytes_go_to_a_typescript_gene_beside_the_request():
    """JSON has no bytes; whatever is none goes as it is, to be refused."""
    step = Step("A", "write", {"key": "k", "value": b"\xff"})

    assert {"call": "write", "request": {"key": "k"}, "bytes": "/w=="} == _conformance_node._call(step)  # fmt: skip
    assert {"call": "write", "request": {"value": 5}} == _conformance_node._call(Step("A", "write", {"value": 5}))  # fmt: skip


def test_the_relays_are_shipped_as_sources():
    """No binary that nobody can read."""
    assert {"relay.ts", "relay.wat"} == {name for name in os.listdir(RELAY) if "." in name}


def test_doors_are_named_with_commas():
    """In any order, each once; an unknown one is refused with the names there are."""
    assert ["python", "node", "wasm", "http"] == read_doors(None)
    assert ["node", "http"] == read_doors("http, node,http")
    with pytest.raises(UsageError, match="'smtp' is no door"):
        read_doors("python,smtp")
    with pytest.raises(UsageError):
        read_doors("")


def test_stores_are_urls_of_servers():
    """SQLite is always there; what is no URL of a server is refused without repeating it."""
    assert [SQLITE] == read_stores([])
    assert ["sqlite", "postgres", "postgres-2"] == [
        place.name for place in read_stores(["postgresql://a/b", "postgres://c/d"])
    ]
    with pytest.raises(UsageError) as refused:
        read_stores(["mysql://root:secret@host/db"])
    assert "secret" not in refused.value.render()
