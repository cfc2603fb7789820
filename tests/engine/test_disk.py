"""Disks that are full, files that may not be written, and databases that are damaged (memory §8)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from tests.engine import disk

from rotifer_engine import StorageError

SMALL = "640k"
MOUNT = f'mount -t tmpfs -o size={SMALL} none "$1/small" || exit 77; shift; exec "$@"'


def program(*command):
    """What a job of disk.py found out."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode == 77:
        pytest.skip("no small disk can be mounted here; the test with a limit on files stands in")
    assert 0 == done.returncode
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, of util-linux")
@pytest.mark.parametrize("which", ["both", "database", "audit"])
def test_a_full_disk(tmp_path, which):
    """The call says which file has no room, what was there can be read, and room heals it."""
    for name in ("small", "large"):
        os.mkdir(tmp_path / name, 0o700)
    mine = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]  # fmt: skip
    shell = [*mine, "sh", "-c", MOUNT, "sh", str(tmp_path)]
    found = program(*shell, sys.executable, disk.__file__, "full", str(tmp_path), which)

    log = "the audit log .* could not be written, so nothing was changed: No space left on device; make room on its disk, then try again"  # fmt: skip
    database = "the memory file .* has no space left on its disk; make room, then try again"
    words = {"database": database, "audit": log, "both": f"({log}|{database})"}[which]
    assert 10 < found.pop("count")
    for answer in (found.pop("answer"), found.pop("again")):
        assert_matches(f"MEMORY_STORAGE_ERROR: {words}", answer)
    assert {"kept": True, "read": "v", "works": True, "told": True} == found


def assert_matches(pattern, text):
    """The whole text is of that form."""
    assert re.fullmatch(pattern, text, re.DOTALL), text


def contents(folder):
    """What each file of a folder holds, but for the shared memory, which holds locks only."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith("-shm"):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


CLOSED = {
    "folder": "memory file .*cannot be|could not be|audit log",
    "closed folder": "memory file .*cannot be opened.*Permission denied",
    "database": "memory file .*cannot be (written|opened)",
    "closed database": "memory file .*cannot be opened",
    "audit": "audit log .*could not be written, so nothing was changed: Permission denied",
}


@pytest.mark.parametrize("what", CLOSED)
def test_what_may_not_be_written(world, a, what):
    """Each change is refused in words that name the file; nothing is changed, nothing removed."""
    world.memory.write(a, "k", b"v", "CACHE")
    world.close()
    before = contents(world.state)
    found = program(sys.executable, disk.__file__, "denied", world.state, what)

    for call in ("write", "create", "delete", "delete_key"):
        assert_matches(f"MEMORY_STORAGE_ERROR: the ({CLOSED[what]}).*", found[call])
    if what == "audit":  # nothing to be recorded
        assert ("v", ["k"]) == (found["read"], found["list"])
    after = contents(world.state)
    assert before["playground.db"] == after["playground.db"]
    assert before["audit.jsonl"] == after["audit.jsonl"]
    assert b"v" == world.open().read(a, "k").value


CALLS = {
    "read": lambda m, a: m.read(a, "k"),
    "write": lambda m, a: m.write(a, "k", b"", "CACHE"),
    "query": lambda m, a: m.query(a),
    "delete": lambda m, a: m.delete(a, "k"),
    "list": lambda m, a: list(m.list()),
    "delete_key": lambda m, a: m.delete_key("k"),
}


@pytest.fixture
def closed(world, a):
    """A world whose files are closed and hold something."""
    for number in range(100):
        world.memory.write(a, f"{number}", bytes(500), "CACHE")
    world.memory.write(a, "k", b"v", "CACHE")
    world.close()
    return world


def each_call_refused(world, a, message):
    """Each call says so, and every file is as it was."""
    before = contents(world.state)
    for name, call in CALLS.items():
        memory = world.open()
        with pytest.raises(StorageError, match=message):
            call(memory, a)
        world.close()
        assert before == contents(world.state), name


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (2, "is not an SQLite database"),  # SQLite takes one byte for an empty file
        (50, "is damaged"),
        (4_096, "is damaged"),
        (8_192, "is damaged"),
        (20_000, "is damaged"),
    ],
)
def test_cut_to_any_length(closed, a, size, message):
    """Whatever is left of the file, it is told as what it is, and left so."""
    os.truncate(closed.database, size)

    each_call_refused(closed, a, f"{message}.*it was left as it is")


@pytest.mark.parametrize(
    ("offset", "garbage", "message"),
    [
        (0, b"not this", "is not an SQLite database"),
        (100, b"\xff" * 200, "is damaged"),
    ],
)
def test_garbage_in_its_place(closed, a, offset, garbage, message):
    """A header that is no header, a schema page that is none."""
    with open(closed.database, "r+b") as file:
        file.seek(offset)
        file.write(garbage)

    each_call_refused(closed, a, f"{message}.*it was left as it is")
