"""The SQLite file: whose it is, what may be in it, and what is refused."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest

from rotifer_engine import AccessPolicy, SqliteStore, StorageError, _dbapi


def mode(path):
    """The permission bits."""
    return stat.S_IMODE(os.stat(path).st_mode)


def query(path, statement, *arguments):
    """Ask the file from outside."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement, arguments).fetchall()
    finally:
        connection.close()


def test_it_survives_closing(world, a):
    """What was written is there when the file is opened again, order and all."""
    world.memory.write(a, "1", b"x", "CACHE")
    world.memory.write(a, "2", b"y", "CACHE")
    before = world.memory.query(a)
    world.store.close()
    world.audit.close()

    assert before == world.open().query(a)
    assert 3 == world.memory.write(a, "3", b"", "CACHE").order


def test_all_its_files_are_private(world, a):
    """Database, write-ahead log and shared memory have mode 0600 from their beginning."""
    old = os.umask(0)
    try:
        world.memory.write(a, "k", b"", "CACHE")
    finally:
        os.umask(old)

    assert [0o600] * 3 == [mode(world.database + suffix) for suffix in ("", "-wal", "-shm")]
    assert 0o700 == mode(world.state)


def test_a_file_that_was_open_to_others_is_closed_to_them(world, a):
    """Another program's database in its default mode is taken away from group and others."""
    os.mkdir(world.state)
    query(world.database, "CREATE TABLE genes (name TEXT)")
    os.chmod(world.database, 0o644)
    world.memory.write(a, "k", b"", "CACHE")

    assert [0o600] * 3 == [mode(world.database + suffix) for suffix in ("", "-wal", "-shm")]


def test_tables_of_others_are_left_alone(world, a):
    """Ours all have one prefix, and what was there stays."""
    os.mkdir(world.state)
    query(world.database, "CREATE TABLE genes (name TEXT)")
    query(world.database, "INSERT INTO genes VALUES ('x')")
    world.memory.write(a, "k", b"", "CACHE")
    tables = query(world.database, "SELECT name FROM sqlite_schema WHERE type = 'table'")

    assert [("x",)] == query(world.database, "SELECT name FROM genes")
    assert ["genes"] == [name for (name,) in tables if not name.startswith("agent_memory")]


def test_a_folder_that_is_missing_is_not_guessed(tmp_path, a):
    """Only the last folder is made; without its parent the path is wrong."""
    store = SqliteStore(os.path.join(tmp_path, "no", "such", "playground.db"))
    with pytest.raises(StorageError, match=r"cannot be opened.*No such file"):
        store.last_change()
    store.close()


def refused(world, a, message):
    """Every call is refused with that message, and the file is left as it was."""
    with open(world.database, "rb") as file:
        before = file.read()
    for call in (
        lambda: world.memory.read(a, "k"),
        lambda: world.memory.write(a, "k", b"", "CACHE"),
        lambda: world.memory.query(a),
        lambda: world.memory.delete(a, "k"),
        world.memory.list,
        world.memory.usage,
        lambda: world.memory.delete_key("k"),
        lambda: world.memory.delete_category("CACHE"),
    ):
        with pytest.raises(StorageError, match=message):
            call()
    with open(world.database, "rb") as file:
        assert before == file.read()


def test_garbage_is_refused(world, a):
    """A file that is no database is named as such and not overwritten."""
    os.mkdir(world.state)
    with open(world.database, "wb") as file:
        file.write(b"these are not the tables you are looking for\n" * 100)

    refused(world, a, "is not an SQLite database; it was left as it is")


def test_a_truncated_file_is_refused(world, a):
    """Damage is told as damage; nothing is repaired."""
    for number in range(200):
        world.memory.write(a, f"{number}", bytes(500), "CACHE")
    world.close()
    with open(world.database, "r+b") as file:
        file.truncate(8_192)
    world.open()

    refused(world, a, "is damaged .*it was left as it is: restore a copy")


def test_a_newer_format_is_refused(world, a):
    """The message has both numbers and the way out."""
    world.memory.write(a, "k", b"", "CACHE")
    world.close()
    query(world.database, "UPDATE agent_memory_meta SET schema_version = 7")
    world.open()

    refused(world, a, r"newer version \(format 7; this one knows 2\).*upgrade")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_symbolic_link_is_refused(world, tmp_path, a, suffix):
    """Neither the file nor its companions are written through a link."""
    os.mkdir(world.state)
    target = tmp_path / "target"
    target.write_bytes(b"")
    os.symlink(target, world.database + suffix)
    with pytest.raises(StorageError, match="is a symbolic link"):
        world.memory.write(a, "k", b"", "CACHE")

    assert b"" == target.read_bytes()


def test_a_folder_in_its_place_is_refused(world, a):
    """What is no plain file is no store."""
    os.makedirs(world.database)
    with pytest.raises(StorageError, match="not a regular file"):
        world.memory.read(a, "k")


def test_a_file_that_stays_locked_is_told_as_locked(make_world, a):
    """The error says for how long and what to do; reading goes on meanwhile; then it works."""
    world = make_world(busy_timeout_ms=30)
    world.memory.write(a, "k", b"v", "CACHE")
    other = sqlite3.connect(world.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(
        StorageError, match=r"is locked: .* the 0\.03 s that we waited; let it finish"
    ):
        world.memory.write(a, "k", b"", "CACHE")
    assert b"v" == world.memory.read(a, "k").value
    other.execute("ROLLBACK")
    other.close()

    assert b"" == world.memory.write(a, "k", b"", "CACHE").value


def test_a_file_that_was_replaced_is_noticed(world, a):
    """No change goes into a file that no name leads to; the next call uses the new one."""
    world.memory.write(a, "k", b"", "CACHE")
    for suffix in ("", "-wal", "-shm"):
        os.unlink(world.database + suffix)
    with pytest.raises(StorageError, match="moved away or replaced while it was open"):
        world.memory.write(a, "n", b"", "CACHE")
    world.memory.write(a, "n", b"", "CACHE")

    assert ["n"] == world.keys()
    assert ["memory.create", "memory.create"] == world.actions()


def test_deleted_values_are_not_left_on_the_disk(world, a):
    """After a delete by the deployer no file holds the bytes any more."""
    secret = b"correct horse battery staple"
    world.memory.write(a, "k", secret * 100, "CACHE")
    world.memory.delete_key("k")
    for name in os.listdir(world.state):
        with open(os.path.join(world.state, name), "rb") as file:
            assert secret not in file.read(), name


def test_usage_equals_the_rows_always(world, a, b):
    """After every kind of change the counter is the sum of what is there."""
    memory = world.agent(quota_bytes=400)
    open_to_all = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
    for number in range(60):
        memory.write((a, b)[number % 2], f"{number % 13}", bytes(number), "CACHE", open_to_all if number < 13 else {
            "readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"})  # fmt: skip
        if number % 7 == 0:
            memory.delete(a, f"{number % 13}")
        rows = query(
            world.database,
            "SELECT coalesce(sum(length(key) + length(value)), 0) FROM agent_memory_entry",
        )
        assert rows == query(world.database, "SELECT used FROM agent_memory")
        assert rows[0][0] == memory.usage() <= 400


def test_a_read_does_not_touch_a_replaced_entry(world, a, b):
    """Who accessed last is set on the version that was read, or not at all."""
    old = world.memory.write(a, "k", b"old", "CACHE")
    world.memory.write(a, "k", b"new", "CACHE")
    world.store.touch(world.memory.agent_id, old, b.gene_id)
    assert a.gene_id == next(world.memory.list()).last_accessed_by
    world.memory.delete(a, "k")
    world.store.touch(world.memory.agent_id, old, b.gene_id)

    assert [] == world.keys()


def test_a_disk_without_write_ahead_log_is_refused(make_world, a):
    """A journal mode that cannot be had is told, not worked around."""

    class Old(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if "journal_mode" in statement:
                return super().execute("SELECT 'delete'")
            return super().execute(statement, *arguments)

    world = make_world(connection=Old)
    with pytest.raises(StorageError, match=r"needs a write-ahead log.*'delete'"):
        world.memory.read(a, "k")


def test_an_old_sqlite_is_refused(world, a, monkeypatch):
    """STRICT tables need 3.37; the message has the version that was found."""
    monkeypatch.setattr(_dbapi.sqlite3, "sqlite_version", "3.36.9")
    with pytest.raises(StorageError, match=r"has SQLite 3\.36\.9; the memory needs 3\.37 or newer"):
        world.memory.read(a, "k")


def test_durable_by_default(tmp_path, a, make_world):
    """Commits wait for the disk; the touch of a read does not."""
    seen = []

    class Watched(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if statement.lstrip().startswith(
                ("PRAGMA synchronous", "UPDATE agent_memory_entry SET last")
            ):
                seen.append((id(self), statement.strip().split("\n")[0]))
            return super().execute(statement, *arguments)

    from rotifer_engine import Caller

    world = make_world(durable=True, connection=Watched)
    world.memory.write(a, "k", b"", "CACHE")
    world.memory.read(Caller("v2:" + "b" * 64, a.domain), "k")
    (main, full), (relaxed, normal), (toucher, touch) = seen

    assert ("PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL") == (full, normal)
    assert main != relaxed == toucher
    assert touch.startswith("UPDATE agent_memory_entry SET last_accessed_by")


def test_a_store_is_a_context(tmp_path):
    """It is closed at the end, and says so afterwards."""
    with SqliteStore(str(tmp_path / "x.db")) as store:
        assert store.last_change() is None
        assert store.path == str(tmp_path / "x.db")
    with pytest.raises(StorageError, match="is closed; open it again"):
        store.last_change()


PLANS = [
    ("READ", ("agent", 0, 1, b"k")),
    ("DUE", ("agent", 0, 1)),
    ("DUE_OF", (1, 0, 1)),
    ("OPEN", ("agent",)),
    ("USAGE", ("agent", 0, 1)),
    ("EXPIRED", (1, 0, 1, 10)),
    ("CANDIDATES", (1, "CACHE")),
    ("FIND", (1, b"k")),
    ("TOUCH", ("g", "agent", b"k", 1)),
    ("REMOVE", (1, b"k")),
]


@pytest.mark.parametrize(("name", "arguments"), PLANS)
def test_no_statement_reads_the_whole_table(world, name, arguments):
    """Each finds its rows by an index, so its time does not go by the size of the memory."""
    from rotifer_engine import _sqlite_text as sql

    world.store.last_change()
    plan = query(world.database, "EXPLAIN QUERY PLAN " + getattr(sql, name), *arguments)

    assert not [row for row in plan if "SCAN agent_memory_entry" in row[3] or "SCAN e" in row[3]]


def test_queries_walk_along_the_order(world):
    """Without a prefix nothing is sorted; the limit ends the walk."""
    from rotifer_engine import _sqlite_text as sql

    world.store.last_change()
    start = ("agent", 0, None, "g", "d", 100)
    for filters, arguments in (
        ([], ()),
        (["e.category = {}"], ("CACHE",)),
        (["+e.key >= {}"], (b"k",)),
    ):
        plan = query(
            world.database,
            "EXPLAIN QUERY PLAN " + sql.select(filters, sort=False),
            *start,
            *arguments,
        )
        assert not [row for row in plan if "TEMP B-TREE" in row[3]], filters


def test_a_sorted_prefix_sorts_ids_only(world):
    """The rows of a prefix are sorted inside, and read in that order: no value waits in a sort."""
    from rotifer_engine import _sqlite_text as sql

    world.store.last_change()
    plan = query(
        world.database,
        "EXPLAIN QUERY PLAN " + sql.select(["e.key >= {}", "e.key < {}"], sort=True),
        *("agent", 0, None, "g", "d", 100, b"k", b"l"),
    )
    (sorting,) = [number for number, row in enumerate(plan) if "TEMP B-TREE" in row[3]]
    (reading,) = [
        number for number, row in enumerate(plan) if "USING INTEGER PRIMARY KEY" in row[3]
    ]

    assert sorting < reading
    assert plan[sorting][1] != plan[reading][1] == 0


def test_few_and_many_of_a_prefix_are_in_the_same_order(world, a):
    """Whether they are sorted or met along the way: most recently updated first."""
    keys = [f"{'few' if number % 15 == 0 else 'many'}/{number * 7919 % 300:03}" for number in range(300)]  # fmt: skip
    for key in keys:
        world.memory.write(a, key, b"", "CACHE")
    for prefix in ("few/", "many/", "few/1", "m", "none"):
        expected = [key for key in reversed(keys) if key.startswith(prefix)][:100]
        found = world.memory.query(a, {"keyPrefix": prefix})
        assert expected == [entry.key for entry in found], prefix
