"""Reading the log back gives the current set of keys."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_engine import DataPolicy, FileSystem, QuotaExceeded, StorageError, replay

DAY = 86_400_000


def line(action, key=None, change="s-1", agent="x"):
    """A line of the log, as short as a reader needs it."""
    return json.dumps(
        {"action": f"memory.{action}", "key": key, "change_id": change, "agent_id": agent}
    )


def raw(world):
    """The lines of the log as bytes."""
    with open(world.audit_path, "rb") as file:
        return file.read().splitlines(keepends=True)


def test_an_empty_log():
    """Nobody ever had a key."""
    assert {} == replay([])


def test_keys_of_each_agent(world, a):
    """Creation adds, delete, eviction and expiry remove, update keeps; refusals do nothing."""
    memory = world.agent(quota_bytes=30, data_policy=DataPolicy(1, False, False))
    memory.write(a, "old", b"", "CACHE")
    world.clock.move(DAY)
    for number in range(4):
        memory.write(a, f"{number}", bytes(9), "CACHE")
    memory.write(a, "3", bytes(2), "CACHE")
    memory.delete(a, "2")
    with pytest.raises(QuotaExceeded):
        memory.write(a, "huge", bytes(40), "CACHE")
    other = world.agent("other")
    other.write(a, "k", b"", "CACHE")
    other.delete(a, "k")

    assert {memory.agent_id: {"1", "3"}, "other": set()} == replay(raw(world))


def test_a_change_without_a_later_line_counts_unless_the_store_says_no():
    """The last change of the log is settled by what the store committed."""
    lines = [line("create", "a", "s-1"), line("create", "b", "s-2")]

    assert {"x": {"a", "b"}} == replay(lines)
    assert {"x": {"a", "b"}} == replay(lines, last_change="s-2")
    assert {"x": {"a"}} == replay(lines, last_change="s-1")
    assert {} == replay(lines[:1], last_change=None)


def test_an_abandoned_change_does_not_count():
    """All of its lines are taken back, as a whole."""
    lines = [
        line("create", "a", "s-1"),
        line("evict", "a", "s-2"),
        line("create", "b", "s-2"),
        line("abandoned", None, "s-2"),
        line("denied", "a", "s-3"),
    ]

    assert {"x": {"a"}} == replay(lines)


def test_a_log_that_continues_another_settles_its_end():
    """The first line of a new file names the last change that was made."""
    old = [line("create", "a", "s-1"), line("create", "b", "s-2")]

    assert {"x": {"a"}} == replay([*old, line("continued", None, "s-1")])
    assert {"x": {"a", "b"}} == replay([*old, line("continued", None, "s-2")])


@pytest.mark.parametrize(
    "other",
    ["", "{", '{"change_id":"s-9","action":"memory.delete","ke', '{"action":"memory.create"', "[1]", '"change_id"', '{"change_id":1,"action":"memory.create"}',
     '{"change_id":"s-9","action":"wrap"}', b"\xff\xfe", "\ud800"],
)  # fmt: skip
def test_torn_and_foreign_lines_are_passed_over(other):
    """Whatever else stands in the file changes nothing."""
    assert {"x": {"a", "b"}} == replay([line("create", "a"), other, line("create", "b"), other])


def test_a_change_without_key_or_agent_is_passed_over():
    """A line of ours that was damaged does not stop the reading."""
    assert {"x": {"b"}} == replay(
        [line("create", None), line("create", "a", agent=None), line("create", "b")]
    )


class Dying(FileSystem):
    """Files on which the audit log can be made to fail when its lines are already written."""

    broken = False

    def sync(self, fd):
        """Fail after the fact."""
        if self.broken:
            raise OSError(5, "Input/output error")


def test_changes_that_failed_after_their_lines(make_world, a):
    """Also right behind the failure, with and without the next action, rotated or not."""
    world = make_world(files=Dying())
    world.memory.write(a, "1", b"", "CACHE")
    world.files.broken = True
    for call in (
        lambda: world.memory.delete(a, "1"),
        lambda: world.memory.write(a, "2", b"", "CACHE"),
    ):
        with pytest.raises(StorageError):
            call()
        assert {"1"} == replay(raw(world), last_change=world.store.last_change())[
            world.memory.agent_id
        ]
    world.files.broken = False
    os.rename(world.audit_path, world.audit_path + ".1")
    world.memory.write(a, "3", b"", "CACHE")
    with open(world.audit_path + ".1", "rb") as file:
        rotated = file.read().splitlines()

    assert {"1", "3"} == replay([*rotated, *raw(world)])[world.memory.agent_id]
