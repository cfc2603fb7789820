"""No change of a layer without its line, no content in any, and agents' records none the worse."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from tests.engine.conftest import gene
from tests.engine.layers.conftest import Cell, contents

from rotifer_engine import FileSystem, StorageError, replay
from rotifer_engine.layers import SharedSnapshot

pytestmark = pytest.mark.files


def test_a_line_says_all_but_the_content(cell, alice, layers):
    """Which layer, whose, where, of what kind, how large; the content and metadata never."""
    saved = layers.save(
        "agent_memory",
        "the secret",
        actor="älice",
        namespace="notes",
        kind="scratch",
        session="s1",
        key="k\x1b",
        metadata={"note": "hidden"},
    )
    [line] = cell.lines()
    change = line.pop("change_id")

    assert {
        "ts": "2023-11-14T22:13:20.000Z",
        "action": "memory.layer_create",
        "layer": "agent_memory",
        "actor": "älice",
        "namespace": "notes",
        "kind": "scratch",
        "session": "s1",
        "operation": "save",
        "entry_id": saved.entry_id,
        "key": "k\x1b",
        "size": 12,
        "result": "ok",
        "code": None,
    } == line
    assert change == cell.store.last_change()
    with open(cell.audit_path, "rb") as file:
        raw = file.read()
    assert raw.isascii()
    assert b"\x1b" not in raw
    assert b"secret" not in raw
    assert b"hidden" not in raw


def test_each_call_has_its_lines_under_one_change(cell, alice, layers):
    """Operation and order, and one id for all lines of a call."""
    alice("a")
    alice("b", kind="scratch", session="s")
    layers.save_runtime("session", "c", actor="alice", session="s", kind="fact")
    layers.refresh_environment(SharedSnapshot({"os": "x", "python": "y"}))
    layers.refresh_environment(SharedSnapshot({"os": "z"}))
    layers.clear("about_me", actor="alice")
    lines = cell.lines()

    assert [
        ("save", "create"),
        ("save", "create"),
        ("save_runtime", "create"),
        ("refresh_environment", "create"),
        ("refresh_environment", "create"),
        ("refresh_environment", "update"),
        ("refresh_environment", "delete"),
        ("clear", "delete"),
        ("clear", "delete"),
    ] == [(line["operation"], line["action"].removeprefix("memory.layer_")) for line in lines]
    assert [1, 1, 1, 2, 2, 2] == [
        sum(line["change_id"] == change for line in lines)
        for change in dict.fromkeys(line["change_id"] for line in lines)
    ]


def test_agents_and_layers_share_one_log(cell, layers, alice):
    """Replay and check of an agent's memory are right with lines of layers between."""
    memory = cell.memory
    for number in range(5):
        memory.write(gene("a"), f"k{number}", b"v", "CACHE")
        alice(f"{number}", key=f"k{number}")
    memory.delete_key("k1")
    layers.clear("about_me", actor="alice")

    with open(cell.audit_path, "rb") as file:
        keys = replay(file, last_change=cell.store.last_change())
    assert {memory.agent_id: {"k0", "k2", "k3", "k4"}} == keys
    report = memory.check()
    assert ([], 16, 0, True) == (report.findings, report.lines, report.foreign_lines, report.log_whole)  # fmt: skip


class Broken(FileSystem):
    """Files that can be told to fail, or to end the process."""

    error = None

    def sync(self, fd):
        """Go on, or fail."""
        if self.error is not None:
            raise self.error

    def sync_dir(self, path):
        """Do not wait."""


@pytest.fixture
def make_cell(tmp_path):
    """Cells with options of their own, closed at the end."""
    made = []

    def make(**options):
        made.append(Cell(str(tmp_path), **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_no_line_no_change(make_cell):
    """A log that cannot be written refuses every kind of change, and leaves all as it was."""
    cell = make_cell(files=Broken())
    layers = cell.layers
    layers.save("about_me", "kept", actor="alice", kind="fact", key="k")
    layers.refresh_environment(SharedSnapshot({"os": "x"}))
    cell.files.error = OSError(28, "No space left on device")
    for call in (
        lambda: layers.save("about_me", "new", actor="alice", kind="fact", key="k"),
        lambda: layers.save("consensus", "new", kind="fact"),
        lambda: layers.clear("about_me", actor="alice"),
        lambda: layers.refresh_environment(SharedSnapshot({"os": "y"})),
    ):
        with pytest.raises(
            StorageError, match=r"audit log .* so nothing was changed: No space left"
        ):
            call()
    cell.files.error = None

    assert ["x", "kept"] == contents(layers.list(actor="alice"))


def test_lines_are_on_the_disk_before_the_commit(make_cell):
    """At the moment of the commit the line is in the file."""
    seen = []
    place = []

    class Watching(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if statement == "COMMIT" and place:
                with open(place[0], "rb") as file:
                    seen.append([json.loads(line)["action"] for line in file])
            return super().execute(statement, *arguments)

    cell = make_cell(connection=Watching)
    cell.store.last_change()
    place.append(cell.audit_path)
    cell.layers.save("consensus", "rule", kind="fact")
    cell.layers.clear("consensus")

    assert [["memory.layer_create"], ["memory.layer_create", "memory.layer_delete"]] == seen


def test_a_commit_that_fails_is_told(make_cell):
    """One more line says that the change was not made, and the next one goes on from there."""
    broken = []

    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if statement == "COMMIT" and broken:
                broken.clear()
                error = sqlite3.OperationalError("disk full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error
            return super().execute(statement, *arguments)

    cell = make_cell(connection=Connection)
    cell.layers.save("consensus", "old", kind="fact", key="k")
    broken.append(True)
    with pytest.raises(StorageError, match="no space left"):
        cell.layers.save("consensus", "new", kind="fact", key="k")

    assert ["memory.layer_create", "memory.layer_update", "memory.abandoned"] == cell.actions()
    assert ["old"] == contents(cell.layers.list())


def test_the_end_of_the_process_between_line_and_commit(make_cell):
    """The change is not there, and whoever writes next, an agent too, says so first."""
    cell = make_cell(files=Broken())
    cell.layers.save("consensus", "old", kind="fact")
    cell.files.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        cell.layers.clear("consensus")
    cell.files.error = None

    assert ["old"] == contents(cell.layers.list())
    cell.memory.write(gene("a"), "k", b"", "CACHE")
    assert ["memory.layer_create", "memory.layer_delete", "memory.abandoned", "memory.create"] == cell.actions()  # fmt: skip


def test_a_rotated_log_goes_on(cell, alice):
    """It begins with the last change that was made, whoever's it was."""
    import os

    alice("a")
    last = cell.store.last_change()
    os.rename(cell.audit_path, cell.audit_path + ".1")
    alice("b")
    first, second = cell.lines()

    assert ("memory.continued", last) == (first["action"], first["change_id"])
    assert "memory.layer_create" == second["action"]


COLUMNS = "scope, actor, namespace, kind, session, key, content, metadata, created_at, updated_at, size"  # fmt: skip
CREATED = (
    f"INSERT INTO agent_memory_layer (entry_id, update_order, {COLUMNS}) "
    f"SELECT hex(zeroblob(32)), 99, {COLUMNS} FROM agent_memory_layer"
)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM agent_memory_layer", "there is an entry of a layer '{id}', and it is not there"),
        ("UPDATE agent_memory_layer SET size = size + 1", "the entry of a layer '{id}' has 5 bytes; it has 6"),
        (CREATED, "it does not know the entry of a layer '0000"),
    ],
    ids=["taken out", "of another size", "put in"],
)  # fmt: skip
def test_a_check_holds_the_rows_against_the_lines(cell, alice, layers, statement, words):
    """Whatever agent is checked: the log is one."""
    gone = alice("gone", key="gone")
    layers.clear("about_me", actor="alice")
    saved = alice("first", kind="preference")
    memory = cell.memory
    memory.write(gene("a"), "k", b"", "CACHE")
    assert (True, 4) == (memory.check().ok, memory.check().lines)
    cell.close()
    with sqlite3.connect(cell.database) as connection:
        connection.execute(statement)
    connection.close()
    cell.open()
    report = cell.memory.check()

    assert gone.entry_id != saved.entry_id
    assert words.format(id=saved.entry_id) in report.findings[-1].message


def test_a_check_of_a_rotated_log_and_of_a_row_put_back(cell, alice, layers):
    """What the log never mentions is older than it; what it says was removed must be gone."""
    old, back = alice("old"), alice("back")
    with sqlite3.connect(cell.database) as connection:
        kept = connection.execute(
            "SELECT * FROM agent_memory_layer WHERE entry_id = ?", (back.entry_id,)
        ).fetchone()
    connection.close()
    os.rename(cell.audit_path, cell.audit_path + ".1")
    layers.clear("about_me", actor="alice")
    alice("old")
    memory = cell.memory
    assert memory.check().ok
    cell.close()
    with sqlite3.connect(cell.database) as connection:
        marks = ", ".join("?" * len(kept))
        connection.execute(f"INSERT INTO agent_memory_layer VALUES ({marks})", kept)
    connection.close()
    cell.open()
    [finding] = cell.memory.check().findings

    assert old.entry_id != back.entry_id
    assert f"the entry of a layer '{back.entry_id}' was removed, and it is there" in finding.message
