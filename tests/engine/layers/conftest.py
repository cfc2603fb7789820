"""The layers of a project made for one test, and rows as they can come off the wire."""

from __future__ import annotations

import itertools
import sqlite3

import pytest
from tests.engine.conftest import PostgresWorld, World

from rotifer_engine.layers import KINDS, LayerEntry, Layers

SCOPES = ("system", "global", "agent", "session", "working", "", "Global", "other")
ACTORS = ("", "alice", "bob")
NAMESPACES = (
    "",
    "notes",
    "notes/shared",
    "agent://legal/cases",
    "agent://legal/shared",
    "agent://legalese/shared",
    "agent://legal",
    "AGENT://legal/shared",
)
KIND_WORDS = (*KINDS, "", "invented")
SESSIONS = ("", "s1", "s2")


def entry(number=0, **fields):
    """An entry as it can come off the wire: its fields need not make sense."""
    return LayerEntry(
        **{
            "entry_id": f"{number:064x}",
            "scope": "global",
            "actor": None,
            "namespace": "",
            "kind": "fact",
            "session": None,
            "key": None,
            "content": "text",
            "metadata_json": "{}",
            "created_at": 1_700_000_000_000,
            "updated_at": 1_700_000_000_000,
            "order": number + 1,
            **fields,
        }
    )


def every_entry():
    """One entry for each combination of what a condition can look at."""
    combinations = itertools.product(SCOPES, ACTORS, NAMESPACES, KIND_WORDS, SESSIONS)
    return [
        entry(number, scope=scope, actor=actor or None, namespace=namespace, kind=kind, session=session or None)
        for number, (scope, actor, namespace, kind, session) in enumerate(combinations)
    ]  # fmt: skip


class Cell(World):
    """The layers of a project in a folder, and all that belongs to them."""

    def open(self, **options):
        """Open everything anew, as another process would."""
        super().open(**options)
        self.layers = Layers(self.store, audit=self.audit, clock=self.clock)
        return self.layers

    def query(self, statement, arguments=()):
        """Run a statement on the file itself."""
        self.store.last_change()  # makes it
        with sqlite3.connect(self.database) as connection:
            rows = connection.execute(statement, arguments).fetchall()
        connection.close()
        return rows

    def ids(self, condition):
        """The ids of the rows ``e`` that meet a condition."""
        return [row[0] for row in self.query(f"SELECT e.entry_id FROM agent_memory_layer e WHERE {condition}")]  # fmt: skip

    def insert(self, entries):
        """Put rows into the store past every rule, as another program could."""
        self.store.last_change()
        columns = (*ROW, "size")
        with sqlite3.connect(self.database) as connection:
            connection.executemany(
                f"INSERT INTO agent_memory_layer ({', '.join(columns)})"
                f" VALUES ({', '.join('?' * len(columns))})",
                map(row_of, entries),
            )
        connection.close()


class PostgresCell(PostgresWorld):
    """The same on a PostgreSQL server."""

    def open(self):
        """Connect anew, as another process would."""
        super().open()
        self.layers = Layers(self.store, audit=self.audit, clock=self.clock)
        return self.layers

    def ids(self, condition):
        """The ids of the rows ``e`` that meet a condition."""
        return [row[0] for row in self.sql(f"SELECT e.entry_id FROM rotifer.layer e WHERE {condition}")]  # fmt: skip

    def insert(self, entries):
        """Put rows into the store past every rule, as another program could."""
        rows = list(map(row_of, entries))
        columns = ", ".join((*ROW, "size"))
        for start in range(0, len(rows), 1_000):
            some = rows[start : start + 1_000]
            marks = ", ".join([f"({', '.join(['%s'] * len(some[0]))})"] * len(some))
            self.sql(f"INSERT INTO rotifer.layer ({columns}) VALUES {marks}", *sum(some, ()))
        if len(rows) > 1_000:
            self.sql("ANALYZE rotifer.layer")  # as the server does by itself, in its own time


ROW = (
    "entry_id",
    "scope",
    "actor",
    "namespace",
    "kind",
    "session",
    "key",
    "content",
    "metadata",
    "created_at",
    "updated_at",
    "update_order",
)


def row_of(each):
    """The columns of an entry, and its size: none is the empty text."""
    return (*("" if value is None else value for value in each), each.size)


def pytest_generate_tests(metafunc):
    """Run what needs a cell, and says nothing of its files, on both stores."""
    if "cell_kind" in metafunc.fixturenames:
        files = any(metafunc.definition.iter_markers("files"))
        metafunc.parametrize("cell_kind", ["sqlite"] if files else ["sqlite", "postgres"])


@pytest.fixture
def cell(tmp_path, cell_kind, request):
    """A cell whose clock stands at noon, on each kind of store."""
    if cell_kind == "postgres":
        sql = request.getfixturevalue("postgres_sql")
        sql.empty()
        cell = PostgresCell(str(tmp_path), sql)
    else:
        cell = Cell(str(tmp_path))
    yield cell
    cell.close()


@pytest.fixture
def layers(cell):
    """The layers of the cell."""
    return cell.layers


@pytest.fixture
def alice(layers):
    """A quick way for alice to save a fact about herself."""

    def save(content, **fields):
        return layers.save("about_me", content, **{"actor": "alice", "kind": "fact", **fields})

    return save


def contents(entries):
    """What the entries say, in their order."""
    return [each.content for each in entries]
