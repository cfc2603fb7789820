"""Every operation of every call fails once: the layers are as before or as after, never between."""

from __future__ import annotations

import json

import pytest
from tests.engine.conftest import gene
from tests.engine.layers.conftest import Cell
from tests.engine.test_faults import Countdown, failing_connection, failing_files

from rotifer_engine import AgentMemoryError, StorageError
from rotifer_engine._audit import read_line
from rotifer_engine.layers import SharedSnapshot

CALLS = {
    "create": lambda layers: layers.save("about_me", "new", actor="alice", kind="fact"),
    "update": lambda layers: layers.save("about_me", "new", actor="alice", kind="fact", key="k"),
    "repeat": lambda layers: layers.save("about_me", "old", actor="alice", kind="fact", key="k"),
    "refuse": lambda layers: layers.save("about_me", "new", kind="fact"),
    "runtime": lambda layers: layers.save_runtime("session", "new", actor="alice", session="s", kind="fact"),
    "clear": lambda layers: layers.clear("about_me", actor="alice"),
    "refresh": lambda layers: layers.refresh_environment(SharedSnapshot({"os": "new", "node": "1"})),
    "list": lambda layers: layers.list(actor="alice"),
    "counts": lambda layers: layers.counts(actor="alice"),
}  # fmt: skip

pytestmark = pytest.mark.files


class Stage:
    """A cell whose operations can be made to fail, one at a time."""

    def __init__(self, folder, what):
        self.countdown = Countdown()
        self.cell = Cell(
            folder,
            **(
                {"files": failing_files(self.countdown)}
                if what == "files"
                else {"connection": failing_connection(self.countdown)}
            ),
        )

    def layers(self):
        """The layers, as a process would have them that was just started."""
        self.cell.close()
        return self.cell.open()

    def prepare(self):
        """Rows of several layers."""
        layers = self.layers()
        layers.clear("about_me", actor="alice")
        layers.save("about_me", "old", actor="alice", kind="fact", key="k")
        layers.save("about_me", "other", actor="alice", kind="fact")
        layers.refresh_environment(SharedSnapshot({"os": "old", "python": "1"}))
        self.cell.query("DELETE FROM agent_memory_layer WHERE scope = 'session'")

    def state(self):
        """What is there, which is also what the log says is there."""
        layers = self.layers()
        rows = layers.list(actor="alice", session="s", limit=1000)
        self.cell.memory.write(
            gene("a"), "settle", b"", "CACHE"
        )  # tells the fate of the last change
        assert {each.entry_id for each in rows if each.scope != "session"} == self.told()
        return sorted((each.key or "", each.content) for each in rows)

    def told(self):
        """The ids that are there by the log alone, but those of the session, which is emptied by hand."""
        with open(self.cell.audit_path, "rb") as file:
            lines = [json.loads(line) for line in file if read_line(line)]  # not the torn ones
        lost = {line["change_id"] for line in lines if line["action"] == "memory.abandoned"}
        there = set()
        for line in lines:
            if line["change_id"] in lost or line.get("layer") in {None, "session"}:
                continue
            if line["action"] == "memory.layer_delete":
                there.discard(line["entry_id"])
            else:
                there.add(line["entry_id"])
        return there


@pytest.fixture(params=["files", "statements"])
def stage(request, tmp_path):
    """A stage of which the file operations fail, and one of which the SQL statements do."""
    stage = Stage(str(tmp_path), request.param)
    yield stage
    stage.cell.close()


@pytest.mark.parametrize("call", CALLS)
def test_each_operation_fails_once(stage, call):
    """For every N: an error that says so, one of two states, and then the next call works."""
    stage.prepare()
    before = stage.state()
    expected = None
    layers = stage.layers()
    try:
        CALLS[call](layers)
    except AgentMemoryError as error:
        expected = type(error)
    after = stage.state()

    for number in range(1, 300):
        stage.prepare()
        layers = stage.layers()
        stage.countdown.left, stage.countdown.failed = number, False
        raised = None
        try:
            CALLS[call](layers)
        except AgentMemoryError as error:
            raised = type(error)
        stage.countdown.left = None
        if not stage.countdown.failed:
            assert expected == raised
            break
        assert raised in {StorageError, expected}, number
        assert stage.state() in (before, after), number
        CALLS["create"](stage.layers())
    else:
        pytest.fail("the call never came to its end")

    assert number > 3 or call == "refuse"
    assert after == stage.state()
