"""Following what is recorded about one agent, in a file or in rows."""

from __future__ import annotations

import os

import pytest

from rotifer_engine import StorageError


def actions(trail):
    """What is new."""
    return [line["action"].removeprefix("memory.") for line in trail.read()]


def test_each_line_once(world, a):
    """Those of this agent only, and what comes later too."""
    trail = world.memory.trail()
    assert [] == actions(trail)
    world.memory.write(a, "k", b"", "CACHE")
    world.agent("other").write(a, "x", b"", "CACHE")
    assert ["create"] == actions(trail)
    world.memory.delete(a, "k")

    assert ["delete"] == actions(trail)
    assert [] == actions(trail)
    trail.close()


@pytest.mark.files
def test_a_rotation_is_followed(world, a):
    """What stood in the old file is read to its end; foreign and torn lines are passed over."""
    trail = world.memory.trail()
    world.memory.write(a, "1", b"", "CACHE")
    assert ["create"] == actions(trail)
    world.memory.write(a, "2", b"", "CACHE")
    with open(world.audit_path, "ab") as file:
        file.write(b'{"x":1}\n{"change_id":7}\n{"change_id"\n{"torn')
    os.rename(world.audit_path, world.audit_path + ".1")
    world.memory.delete(a, "1")

    assert ["create", "delete"] == actions(trail)
    trail.close()


@pytest.mark.files
def test_a_log_that_cannot_be_read(world, a):
    """It is an error that names the file."""
    world.memory.write(a, "1", b"", "CACHE")
    os.rename(world.audit_path, world.audit_path + ".1")
    os.symlink(world.audit_path + ".1", world.audit_path)

    with pytest.raises(StorageError, match=r"audit\.jsonl cannot be read: .*; put the file itself"):
        actions(world.memory.trail())
