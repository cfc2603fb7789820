"""The audit log: what its lines hold, and that their fate is always in it."""

from __future__ import annotations

import json
import os
import stat

import pytest

from rotifer_engine import (
    ABSENT,
    AccessDenied,
    AccessPolicy,
    AuditLog,
    FileSystem,
    RetentionPolicy,
    StorageError,
    entry_id,
    replay,
)

DAY = 86_400_000


class Refusing(FileSystem):
    """Files of which one operation can be made to fail."""

    broken = None

    def append(self, fd, data):
        """Write, or fail before or in the middle of it."""
        if self.broken == "append":
            raise OSError(28, "No space left on device")
        if self.broken == "half":
            super().append(fd, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        super().append(fd, data)

    def sync(self, fd):
        """Do not wait, or fail."""
        if self.broken == "sync":
            raise OSError(5, "Input/output error")


def text(world):
    """The log as it stands in its file, or in the rows of its store."""
    return b"".join(line + b"\n" for line in world.raw_lines())


def test_the_fields_of_a_line(world, a):
    """Every documented field is there, in one order, in snake_case."""
    entry = world.memory.write(a, "k", b"secret", "CACHE")
    (line,) = world.lines()
    change_id = line.pop("change_id")

    expected = {
        "ts": "2023-11-14T22:13:20.000Z",
        "action": "memory.create",
        "agent_id": world.memory.agent_id,
        "gene_id": a.gene_id,
        "gene_domain": a.domain,
        "operation": "write",
        "entry_id": entry.entry_id,
        "key": "k",
        "category": "CACHE",
        "size": 7,
        "result": "ok",
        "code": None,
    }
    assert list(expected.items()) == list(line.items())
    with world.store.snapshot() as snapshot:
        assert change_id == snapshot.last_change(world.memory.agent_id)


def test_the_actions_of_a_life(world, a, c):
    """Create, update, refuse, evict, expire, delete: one line each, in their order."""
    memory = world.agent(quota_bytes=30)
    memory.write(a, "k", bytes(9), "CACHE")
    memory.write(a, "k", bytes(9), "PATTERN")
    with pytest.raises(AccessDenied):
        memory.read(c, "k")
    with pytest.raises(Exception, match="quota"):
        memory.write(a, "n", bytes(99), "CACHE")
    memory.write(a, "n", bytes(25), "CACHE", ABSENT, RetentionPolicy(1, False, False))
    world.clock.move(DAY)
    memory.write(a, "d", b"", "CACHE")
    memory.delete(a, "d")

    expected = "create update denied quota_exceeded evict create expire create delete"
    assert [f"memory.{action}" for action in expected.split()] == world.actions()


def test_all_lines_of_one_transaction_share_a_change_id(world, a):
    """An eviction and the write it makes room for; other transactions have ids of their own."""
    memory = world.agent(quota_bytes=30)
    for number in range(3):
        memory.write(a, f"{number}", bytes(9), "CACHE")
    memory.write(a, "big", bytes(20), "CACHE")
    ids = [line["change_id"] for line in world.lines()]

    assert (7, 4, 1) == (len(ids), len(set(ids)), len(set(ids[3:])))


def test_a_denied_access_says_why(world, a, c):
    """The line has the caller, the operation, the reason and the code."""
    world.memory.write(a, "k", b"", "CACHE")
    with pytest.raises(AccessDenied):
        world.memory.delete(c, "k")
    line = world.lines()[-1]

    expected = (
        c.gene_id,
        c.domain,
        "delete",
        "writeScope is SAME_DOMAIN",
        "denied",
        "MEMORY_ACCESS_DENIED",
    )
    assert expected == tuple(
        line[name] for name in ("gene_id", "gene_domain", "operation", "reason", "result", "code")
    )


def test_values_never_appear(world, a, c):
    """Not in any line, whatever happens to the entry."""
    memory = world.agent(quota_bytes=60)
    secret = b"do-not-write-me-down"
    memory.write(a, "k", secret, "CACHE")
    memory.write(a, "k", secret, "CACHE")
    with pytest.raises(AccessDenied):
        memory.write(c, "k", secret, "CACHE")
    memory.write(a, "big", secret * 2, "CACHE")
    memory.delete(a, "big")

    assert secret not in text(world)


def test_hostile_keys_stay_on_their_line(world, a):
    """Line ends, escapes and quotes in keys are escaped; the file is pure ASCII."""
    keys = ['a\nb"c\\', "\x1b[2J", "\u2028\u202e", "\x7f", "😀"]
    for key in keys:
        world.memory.write(a, key, b"", "CACHE")

    assert keys == [line["key"] for line in world.lines()]
    assert text(world).isascii()
    assert b"\x1b" not in text(world)


@pytest.mark.files
def test_only_its_owner_can_read_it(world, a):
    """Mode 0600, in a folder of mode 0700; a file that was more open is closed."""
    world.memory.write(a, "k", b"", "CACHE")
    os.chmod(world.audit_path, 0o644)
    world.open().write(a, "k", b"", "CACHE")

    assert 0o600 == stat.S_IMODE(os.stat(world.audit_path).st_mode)
    assert 0o700 == stat.S_IMODE(os.stat(world.state).st_mode)


@pytest.mark.parametrize("broken", ["append", "half", "sync"])
def test_no_line_no_change(make_world, a, c, broken):
    """When the log cannot be written, nothing is changed and the call says so."""
    world = make_world(files=Refusing())
    memory = world.agent(quota_bytes=40)
    memory.write(a, "k", b"old", "CACHE", AccessPolicy("ALL_GENES", "SAME_DOMAIN", "PRIVATE"))
    memory.write(a, "e", b"old", "CACHE", ABSENT, RetentionPolicy(1, False, False))
    world.files.broken = broken
    for call in (
        lambda: memory.write(a, "n", b"", "CACHE"),
        lambda: memory.write(a, "k", b"new", "CACHE"),
        lambda: memory.write(a, "big", bytes(37), "CACHE"),
        lambda: memory.write(a, "huge", bytes(99), "CACHE"),
        lambda: memory.delete(a, "k"),
        lambda: memory.write(c, "k", b"", "CACHE"),
        lambda: memory.delete_key("k"),
        lambda: memory.delete_category("CACHE"),
    ):
        with pytest.raises(
            StorageError, match=r"audit log .*audit\.jsonl could not be written, so nothing"
        ):
            call()
    assert (["e", "k"], b"old") == (world.keys(memory), memory.read(a, "k").value)
    world.clock.move(DAY)
    for call in (lambda: memory.read(a, "k"), lambda: memory.query(a), memory.list):
        with pytest.raises(StorageError, match="could not be written"):
            call()

    world.files.broken = None
    assert ["k"] == world.keys(memory)
    assert {"k"} == replay(text(world).splitlines())[memory.agent_id]


def test_a_failed_append_is_settled_by_the_next(make_world, a):
    """Lines of a change that was not made are followed by one that says so."""
    world = make_world(files=Refusing())
    world.memory.write(a, "k", b"", "CACHE")
    world.files.broken = "sync"
    with pytest.raises(StorageError):
        world.memory.delete(a, "k")
    world.files.broken = None
    world.memory.write(a, "n", b"", "CACHE")

    assert [
        "memory.create",
        "memory.delete",
        "memory.abandoned",
        "memory.create",
    ] == world.actions()
    lost, said = world.lines()[1:3]
    assert (lost["change_id"], "not_committed", "MEMORY_STORAGE_ERROR") == (
        said["change_id"],
        said["result"],
        said["code"],
    )


@pytest.mark.files
def test_a_torn_last_line_swallows_nothing(world, a):
    """It stays, and the next record, which tells of it, starts on a fresh line."""
    world.memory.write(a, "1", b"", "CACHE")
    with open(world.audit_path, "ab") as file:
        file.write(b'{"ts":"2026-')
    world.memory.write(a, "2", b"", "CACHE")
    world.memory.write(a, "3", b"", "CACHE")
    lines = text(world).split(b"\n")
    torn, second, third = map(json.loads, lines[2:5])

    assert (b'{"ts":"2026-', b"") == (lines[1], lines[5])
    assert ("memory.torn", "torn", None) == (torn["action"], torn["result"], torn["key"])
    assert ("2", "3") == (second["key"], third["key"])
    assert torn["change_id"] == second["change_id"]
    assert {"1", "2", "3"} == replay(text(world).splitlines())[world.memory.agent_id]


@pytest.mark.files
def test_a_torn_line_of_a_change_whose_first_lines_are_whole(world, a):
    """That it was not made is told first, so that no reader takes it for made."""
    world.memory.write(a, "1", b"", "CACHE")
    ghost = entry_id(world.memory.agent_id, b"ghost")
    lost = world.lines()[0] | {"change_id": world.lines()[0]["change_id"] + "lost"}
    with open(world.audit_path, "ab") as file:
        file.write(
            json.dumps({**lost, "key": "ghost", "entry_id": ghost}).encode() + b'\n{"ts":"2026-'
        )
    world.open().write(a, "2", b"", "CACHE")
    after = [json.loads(line) for line in text(world).splitlines()[3:]]

    assert ["memory.abandoned", "memory.torn", "memory.create"] == [each["action"] for each in after]  # fmt: skip
    assert lost["change_id"] == after[0]["change_id"]
    assert {"1", "2"} == replay(text(world).splitlines())[world.memory.agent_id]
    assert 1 == world.memory.check().torn_lines
    assert world.memory.check().ok


@pytest.mark.files
@pytest.mark.parametrize("end", [b'{"ts":"x"}', b'{"ts":"x"}\n', b'{"other', b"7", b"\n\n", b"}"])
def test_another_end_of_the_file(world, a, end):
    """A whole line without its end, or what is none of ours, is not told of."""
    world.memory.write(a, "1", b"", "CACHE")
    with open(world.audit_path, "ab") as file:
        file.write(end)
    world.memory.write(a, "2", b"", "CACHE")

    assert b"memory.torn" not in text(world)


@pytest.mark.files
def test_lines_of_others_are_left_alone(world, a):
    """The file may hold lines of other programs, before and between ours."""
    others = [
        b'{"action":"wrap","gene":"x"}',
        b"[1]",
        b'{"change_id":7}',
        b'{"change_id":"x","action":"y"}',
    ]
    os.mkdir(world.state)
    for line in others:
        with open(world.audit_path, "ab") as file:
            file.write(line + b"\n")
        world.memory.write(a, line.decode(), b"", "CACHE")
        world.open()
    kept = text(world).splitlines()

    assert others == kept[::2]
    assert {"memory.create"} == {json.loads(line)["action"] for line in kept[1::2]}


@pytest.mark.files
def test_rotation_from_outside(world, a):
    """A renamed log is let go of; the new one begins by naming the last committed change."""
    world.memory.write(a, "1", b"", "CACHE")
    os.rename(world.audit_path, world.audit_path + ".1")
    world.memory.write(a, "2", b"", "CACHE")
    old = world.lines(world.audit_path + ".1")

    assert ["memory.continued", "memory.create"] == world.actions()
    assert old[-1]["change_id"] == world.lines()[0]["change_id"]
    assert "committed" == world.lines()[0]["result"]


@pytest.mark.files
def test_more_foreign_lines_than_are_searched(world, a):
    """Far behind other lines, the last change is named instead of searched for."""
    world.memory.write(a, "1", b"", "CACHE")
    with open(world.audit_path, "ab") as file:
        file.write((b'{"action":"other","text":"' + b"x" * 1_000 + b'"}\n') * 1_200)
    world.open().write(a, "2", b"", "CACHE")
    world.open().write(a, "3", b"", "CACHE")

    actions = [line["action"] for line in world.lines() if line["action"] != "other"]
    assert ["memory.create", "memory.continued", "memory.create", "memory.create"] == actions


@pytest.mark.files
def test_a_last_line_far_back_is_found(world, a):
    """A window that is too small is widened."""
    world.memory.write(a, "1", b"", "CACHE")
    with open(world.audit_path, "ab") as file:
        file.write((b'{"action":"other","text":"' + b"x" * 1_000 + b'"}\n') * 100)
    world.open().write(a, "2", b"", "CACHE")

    assert "memory.continued" not in world.actions()


def test_two_stores_may_share_a_log(make_world, tmp_path, a):
    """Each settles only its own changes, whoever wrote last."""
    one = make_world()
    two = make_world()
    two.database = os.path.join(tmp_path, ".rotifer", "other.db")
    two.open()
    two.audit.close()
    two.audit = one.audit
    memory = two.agent("two")
    for number in range(3):
        one.memory.write(a, f"one{number}", b"", "CACHE")
        memory.write(a, f"two{number}", b"", "CACHE")

    assert {"memory.create"} == set(one.actions())


@pytest.mark.files
def test_it_can_be_closed_and_used_again(world, a):
    """Closing lets go of the file; the next append opens it."""
    world.memory.write(a, "1", b"", "CACHE")
    world.audit.close()
    world.audit.close()
    world.memory.write(a, "2", b"", "CACHE")

    assert 2 == len(world.lines())
    assert world.audit.path == world.audit_path


def test_a_log_that_others_keep_locked(tmp_path, world, a):
    """After the time is over the call fails and says so; nothing is changed."""
    patient = AuditLog(world.audit_path, files=world.files, lock_timeout_ms=20)
    memory = world.agent(audit=patient)
    memory.write(a, "k", b"", "CACHE")
    fd = world.files.open_private(world.audit_path)
    world.files.lock(fd, 0)
    with pytest.raises(StorageError, match="locked by another process for 20 ms"):
        memory.write(a, "n", b"", "CACHE")
    os.close(fd)
    memory.write(a, "n", b"", "CACHE")
    patient.close()

    assert ["k", "n"] == world.keys()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.files
def test_a_log_that_is_no_plain_file(world, tmp_path, a, kind):
    """Nothing is written through a link, nor into anything else."""
    os.mkdir(world.state)
    target = tmp_path / "target"
    target.write_text("")
    if kind == "link":
        os.symlink(target, world.audit_path)
    elif kind == "folder":
        os.mkdir(world.audit_path)
    else:
        os.mkfifo(world.audit_path)
    with pytest.raises(StorageError, match="audit log"):
        world.memory.write(a, "k", b"", "CACHE")

    assert ("", []) == (target.read_text(), world.keys())
