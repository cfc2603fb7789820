"""A file of an older format is brought up to this one, and a newer one is left alone."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from rotifer_engine import AuditLog, SqliteStore, StorageError
from rotifer_engine._sqlite_text import SCHEMA, SCHEMA_VERSION
from rotifer_engine.layers import Layers

FORMAT_1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "format_1.sql")


@pytest.fixture
def old(tmp_path):
    """The path of a database as the first format left it, with an agent's two entries."""
    path = str(tmp_path / "playground.db")
    with open(FORMAT_1, encoding="utf-8") as file, sqlite3.connect(path) as connection:
        connection.executescript(file.read())
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return path


def tables(path):
    """What the file's own list of tables has of ours, and the version."""
    with sqlite3.connect(path) as connection:
        found = dict(
            connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        )
        version = connection.execute("SELECT schema_version FROM agent_memory_meta").fetchone()[0]
    connection.close()
    return found, version


def new_tables():
    """The same of a file that this version makes."""
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(SCHEMA)
        found = dict(
            connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        )
    connection.close()
    return found


def test_an_old_file_gets_what_it_lacks_and_keeps_what_it_has(old, make_world, a):
    """Its entries, its id and its last change stay; its tables are those of a new file."""
    before = tables(old)[1]
    with SqliteStore(old) as store:
        change = store.last_change()
    assert (1, "d96c91e0-068d6a31500e3b97") == (before, change)
    assert (new_tables(), SCHEMA_VERSION) == tables(old)

    world = make_world()
    world.close()
    os.mkdir(world.state)
    os.replace(old, world.database)
    memory = world.open()
    assert [("indent", 7), ("recent", 9)] == [(row.key, row.size) for row in memory.list()]
    assert b"4" == memory.read(a, "indent").value
    memory.write(a, "new", b"", "CACHE")
    layers = Layers(world.store, audit=world.audit, clock=world.clock)
    layers.save("consensus", "rule", kind="fact")

    assert 1 == layers.counts()["consensus"]
    assert memory.check().ok


def test_opening_it_again_adds_nothing(old):
    """The second time it is as any other."""
    for _ in range(2):
        with SqliteStore(old) as store:
            store.last_change()

    assert (new_tables(), SCHEMA_VERSION) == tables(old)


def test_an_upgrade_that_fails_leaves_the_old_file(old):
    """All that is missing is added, or nothing; the next opening does it."""
    for failing in ("CREATE INDEX IF NOT EXISTS agent_memory_layer_room", "UPDATE agent_memory_meta SET schema", "COMMIT"):  # fmt: skip

        class Failing(sqlite3.Connection):
            word = failing

            def execute(self, statement, *arguments):
                if statement.lstrip().startswith(self.word):
                    error = sqlite3.OperationalError("database or disk is full")
                    error.sqlite_errorname = "SQLITE_FULL"
                    raise error
                return super().execute(statement, *arguments)

        before = tables(old)
        with SqliteStore(old, connection=Failing) as store, pytest.raises(StorageError, match="no space left"):  # fmt: skip
            store.last_change()
        assert before == tables(old)
    with SqliteStore(old) as store:
        assert store.last_change() is not None

    assert SCHEMA_VERSION == tables(old)[1]


def test_threads_that_open_an_old_file_at_once(old):
    """One of them adds what is missing, the others wait for it."""
    barrier = threading.Barrier(4)
    seen = []

    def work():
        with SqliteStore(old) as store:
            barrier.wait(10)
            seen.append(store.last_change())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert ["d96c91e0-068d6a31500e3b97"] * 4 == seen
    assert (new_tables(), SCHEMA_VERSION) == tables(old)


def test_an_upgrade_waits_for_a_writer(old):
    """A file that another program is writing to is waited for, and told as locked if it stays so."""
    other = sqlite3.connect(old, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with SqliteStore(old, busy_timeout_ms=30) as store:
        with pytest.raises(StorageError, match=r"is locked: .*0\.03 s"):
            store.last_change()
        other.execute("ROLLBACK")
        other.close()

        assert store.last_change() is not None


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_file_is_left_as_it_is(old, tmp_path, version):
    """The layers are refused as the agents' memory is, with both numbers."""
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE agent_memory_meta SET schema_version = ?", (version,))
    connection.close()
    before = tables(old)
    with SqliteStore(old) as store:
        layers = Layers(store, audit=AuditLog(str(tmp_path / "audit.jsonl")))
        for call in (
            layers.list,
            layers.counts,
            lambda: layers.save("consensus", "x", kind="fact"),
        ):
            with pytest.raises(StorageError, match=rf"format {version}; this one knows {SCHEMA_VERSION}"):  # fmt: skip
                call()

    assert before == tables(old)


def test_a_run_of_agents_knows_nothing_of_layers():
    """Opening a store imports none of the layers' modules (design §5a)."""
    code = (
        "import sys, tempfile\n"
        "from rotifer_engine import AgentMemory, AuditLog, Caller, SqliteStore, Telemetry\n"
        "folder = tempfile.mkdtemp()\n"
        "m = AgentMemory(SqliteStore(folder + '/x.db'), 'a', audit=AuditLog(folder + '/a'),\n"
        "                telemetry=Telemetry(folder + '/t'))\n"
        "m.write(Caller('v2:' + 'a' * 64, 'd'), 'k', b'', 'CACHE')\n"
        "print([name for name in sys.modules if 'layers' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
