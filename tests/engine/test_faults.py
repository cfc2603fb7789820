"""Every operation of every call fails once: the memory is as before or as after, never between."""

from __future__ import annotations

import io
import json
import sqlite3

import pytest

from rotifer_engine import (
    ABSENT,
    AccessPolicy,
    AgentMemoryError,
    FileSystem,
    RetentionPolicy,
    StorageError,
    replay,
)

DAY = 86_400_000
ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
ONE_DAY = RetentionPolicy(1, False, False)


class Countdown:
    """Counts operations, and fails the one that is reached by zero."""

    def __init__(self):
        self.left = None
        self.failed = False

    def step(self):
        """One operation; true when it is the one to fail."""
        if self.left is None:
            return False
        self.left -= 1
        if self.left == 0:
            self.failed = True
            return True
        return False


def failing_files(countdown):
    """A file layer whose every operation counts."""

    class Files(FileSystem):
        pass

    def wrap(name):
        operation = getattr(FileSystem, name)

        def run(self, *arguments, **options):
            if countdown.step():
                if name == "append":  # half of it is written, as on a full disk
                    operation(self, arguments[0], arguments[1][: len(arguments[1]) // 2])
                raise OSError(5, "Input/output error")
            return None if name in {"sync", "sync_dir"} else operation(self, *arguments, **options)

        setattr(Files, name, run)

    for name in vars(FileSystem):
        if not name.startswith("_") and name not in {"close", "unlock"}:
            wrap(name)
    return Files()


def failing_connection(countdown):
    """A class of connections whose every statement counts."""

    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if countdown.step():
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_IOERR"
                raise error
            return super().execute(statement, *arguments)

    return Connection


class Stage:
    """A world with an agent whose memory is nearly full, some of it about to expire."""

    quota = 200

    def __init__(self, make_world, kind):
        self.countdown = Countdown()
        options = (
            {"files": failing_files(self.countdown)}
            if kind == "files"
            else {"connection": failing_connection(self.countdown)}
        )
        self.world = make_world(**options)

    def memory(self):
        """The agent's memory, as a process would have it that was just started."""
        self.world.open()
        return self.world.agent(quota_bytes=self.quota)

    def state(self):
        """Keys, values and who accessed last, with nothing failing."""
        memory = self.memory()
        rows = {row.key: row for row in memory.list()}
        with sqlite3.connect(self.world.database) as connection:
            values = dict(connection.execute("SELECT key, value FROM agent_memory_entry"))
            (used,) = connection.execute("SELECT total(used) FROM agent_memory").fetchone()
        connection.close()
        assert used == sum(row.size for row in rows.values()) <= self.quota
        assert rows.keys() == {key.decode() for key in values}
        with open(self.world.audit_path, "rb") as file:
            keys = replay(file, last_change=self.world.store.last_change())
        assert rows.keys() == keys[memory.agent_id]
        return {key: (row, values[key.encode()]) for key, row in rows.items()}


@pytest.fixture(params=["files", "statements"])
def stage(request, make_world):
    """A stage of which the file operations fail, and one of which the SQL statements do."""
    return Stage(make_world, request.param)


def _line(key, value):
    """A line of an export."""
    gene = "v2:" + "a" * 64
    return {
        "category": "PATTERN",
        "key": key,
        "value": value,
        "createdBy": gene,
        "createdDomain": None,
        "lastAccessedBy": gene,
        "createdAt": "2023-11-14T22:13:20.000Z",
        "updatedAt": "2023-11-14T22:13:20.000Z",
        "accessPolicy": ALL.to_json(),
        "retentionPolicy": None,
    }


EXPORT = b"\n".join(
    json.dumps(line).encode()
    for line in (
        {
            "format": "rotifer-memory",
            "version": 1,
            "agentId": "x",
            "exportedAt": "2023-11-14T22:13:20.000Z",
        },
        _line("k", "AAAA"),
        _line("imported", "AQID"),
        {"end": True, "entries": 2},
    )
)

CALLS = {
    "create": lambda m, a, _c: m.write(a, "new", bytes(10), "CACHE"),
    "update": lambda m, a, _c: m.write(a, "k", b"new", "PATTERN"),
    "evict": lambda m, a, _c: m.write(a, "big", bytes(120), "PATTERN"),
    "refuse": lambda m, a, _c: m.write(a, "huge", bytes(190), "PATTERN"),
    "deny": lambda m, _a, c: m.write(c, "k", b"", "CACHE"),
    "read": lambda m, a, _c: m.read(a, "k"),
    "touch": lambda m, _a, c: m.read(c, "open"),
    "query": lambda m, a, _c: m.query(a),
    "delete": lambda m, a, _c: m.delete(a, "k"),
    "list": lambda m, _a, _c: list(m.list()),
    "delete key": lambda m, _a, _c: m.delete_key("k"),
    "delete category": lambda m, _a, _c: m.delete_category("CACHE"),
    "erase": lambda m, _a, _c: m.erase(),
    "export": lambda m, _a, _c: m.export_to(io.BytesIO(), with_cache=True),
    "import": lambda m, _a, _c: m.import_from(io.BytesIO(EXPORT), replace=True),
    "check": lambda m, _a, _c: m.check(),
}


@pytest.mark.parametrize("expiring", [False, True], ids=["", "purging"])
@pytest.mark.parametrize("call", CALLS)
def test_each_operation_fails_once(stage, a, c, call, expiring):
    """For every N: an error that says so, one of two states, and then the next call works."""
    clock = stage.world.clock
    memory = stage.memory()

    def prepare():
        memory = stage.memory()
        for key in [row.key for row in memory.list()]:
            memory.delete_key(key)
        memory.write(a, "k", b"old", "CACHE")
        memory.write(a, "c", bytes(60), "CACHE")
        memory.write(a, "open", b"v", "PREFERENCE", ALL)
        if expiring:
            memory.write(a, "old", b"v", "PREFERENCE", ABSENT, ONE_DAY)
            clock.move(DAY)
        stage.world.close()

    def shape(state):
        return {
            key: (row.category, row.last_accessed_by, value) for key, (row, value) in state.items()
        }

    prepare()
    before = shape(stage.state())
    prepare()
    memory = stage.memory()
    try:
        CALLS[call](memory, a, c)
        expected = None
    except AgentMemoryError as error:
        expected = type(error)
    after = shape(stage.state())

    failures = 0
    for number in range(1, 500):
        prepare()
        memory = stage.memory()
        stage.countdown.left, stage.countdown.failed = number, False
        raised = None
        try:
            CALLS[call](memory, a, c)
        except AgentMemoryError as error:
            raised = type(error)
        stage.countdown.left = None
        if not stage.countdown.failed:
            assert expected == raised
            break
        failures += 1
        assert raised in {StorageError, expected}, number
        assert shape(stage.state()) in (before, after), number
        memory.write(a, "next", b"works", "CACHE")
        assert memory.read(a, "next").value == b"works"
        stage.state()
    else:
        pytest.fail("the call never came to its end")

    assert failures > 3
    assert after == shape(stage.state())


@pytest.mark.parametrize(
    "statement", ["COMMIT", "UPDATE agent_memory_meta", "UPDATE agent_memory SET"]
)
def test_a_commit_that_fails_is_told_in_the_log(make_world, a, statement):
    """The lines of the change are followed at once by one more that says it was not made."""
    broken = []

    class Connection(sqlite3.Connection):
        def execute(self, text, *arguments):
            if broken and text.startswith(statement):
                broken.clear()
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error
            return super().execute(text, *arguments)

    world = make_world(connection=Connection)
    world.memory.write(a, "k", b"old", "CACHE")
    broken.append(True)
    with pytest.raises(StorageError, match="has no space left on its disk; make room"):
        world.memory.write(a, "k", b"new", "CACHE")

    assert ["memory.create", "memory.update", "memory.abandoned"] == world.actions()
    assert world.lines()[1]["change_id"] == world.lines()[2]["change_id"]
    assert b"old" == world.memory.read(a, "k").value
    world.memory.write(a, "k", b"new", "CACHE")
    assert 1 == world.actions().count("memory.abandoned")


def test_a_commit_that_fails_and_cannot_be_told_at_once(make_world, a):
    """The error is that of the commit, and the next recorded action tells what became of it."""
    broken = set()

    class Connection(sqlite3.Connection):
        def execute(self, text, *arguments):
            if text in broken:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_FULL" if text == "COMMIT" else "SQLITE_IOERR"
                broken.add("BEGIN IMMEDIATE")
                raise error
            return super().execute(text, *arguments)

    world = make_world(connection=Connection)
    world.memory.write(a, "k", b"old", "CACHE")
    broken.add("COMMIT")
    with pytest.raises(StorageError, match="no space left"):
        world.memory.delete(a, "k")
    broken.clear()
    assert ["memory.create", "memory.delete"] == world.actions()
    world.memory.write(a, "k", b"new", "CACHE")

    assert ["memory.abandoned", "memory.update"] == world.actions()[2:]


def test_a_commit_that_failed_but_was_made(make_world, a):
    """The call fails, the change is there, and the log does not say otherwise."""
    broken = []

    class Connection(sqlite3.Connection):
        def execute(self, text, *arguments):
            cursor = super().execute(text, *arguments)
            if broken and text == "COMMIT":
                broken.clear()
                raise sqlite3.OperationalError("the answer was lost")
            return cursor

    world = make_world(connection=Connection)
    world.store.last_change()
    broken.append(True)
    with pytest.raises(StorageError, match="the answer was lost"):
        world.memory.write(a, "k", b"v", "CACHE")

    assert (["k"], ["memory.create"]) == (world.keys(), world.actions())


def test_a_rollback_that_fails_ends_the_connection(make_world, a):
    """Whatever state the connection is in, the next call has a fresh one and works."""
    broken = set()

    class Connection(sqlite3.Connection):
        def execute(self, text, *arguments):
            if text in broken:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorname = "SQLITE_IOERR"
                raise error
            return super().execute(text, *arguments)

    world = make_world(connection=Connection)
    world.memory.write(a, "k", b"old", "CACHE")
    broken |= {"COMMIT", "ROLLBACK"}
    with pytest.raises(StorageError):
        world.memory.write(a, "k", b"new", "CACHE")
    broken.clear()

    assert b"old" == world.memory.read(a, "k").value
    assert b"new" == world.memory.write(a, "k", b"new", "CACHE").value


def test_an_interrupt_rolls_back(make_world, a):
    """Ctrl-C between the lines and the commit changes nothing, and the log says so later."""

    class Interrupted(FileSystem):
        broken = False

        def sync(self, fd):
            if self.broken:
                self.broken = False
                raise KeyboardInterrupt

    world = make_world(files=Interrupted())
    world.memory.write(a, "k", b"old", "CACHE")
    world.files.broken = True
    with pytest.raises(KeyboardInterrupt):
        world.memory.delete(a, "k")

    assert b"old" == world.memory.read(a, "k").value
    world.memory.write(a, "k", b"new", "CACHE")
    assert "memory.abandoned" == world.actions()[-2]
