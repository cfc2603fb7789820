"""Several processes on one memory, and processes that die in the middle."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys

import pytest

from rotifer_engine import QuotaExceeded, replay

WORKER = os.path.join(os.path.dirname(__file__), "worker.py")


@pytest.fixture
def start(tmp_path):
    """Start workers that wait for a word; none is left at the end."""
    started = []

    def start(job, *arguments):
        worker = subprocess.Popen(
            [sys.executable, WORKER, job, str(tmp_path), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()


def go(*workers):
    """Let all begin at once."""
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()


def whole(world):
    """Every line of the log is one whole record, and the counter, the rows and the log agree."""
    with open(world.audit_path, "rb") as file:
        lines = file.read().split(b"\n")
    assert lines.pop() == b""
    for line in lines:
        json.loads(line)
    with sqlite3.connect(world.database) as connection:
        (check,) = connection.execute("PRAGMA integrity_check").fetchone()
        (used,) = connection.execute("SELECT used FROM agent_memory").fetchone()
        rows = connection.execute(
            "SELECT key, length(key) + length(value) FROM agent_memory_entry"
        ).fetchall()
    connection.close()
    assert check == "ok"
    assert used == sum(size for _, size in rows)
    keys = replay(lines, last_change=world.store.last_change())[world.memory.agent_id]
    assert {key.decode() for key, _ in rows} == keys
    return lines


def test_two_processes_lose_nothing(world, start):
    """Two write 250 entries each at once: all there, the usage exact, every line whole."""
    workers = [start("write_many", letter, 250, 100, 10**9) for letter in "ab"]
    go(*workers)
    refused = [worker.stdout.readline() for worker in workers]

    assert ["0\n", "0\n"] == refused
    assert [f"{letter}/{number:04}" for letter in "ab" for number in range(250)] == world.keys()
    assert 500 * 106 == world.memory.usage()
    assert 500 == len(whole(world))


def test_processes_together_never_exceed_the_quota(world, start):
    """Four fill it at once with what cannot be evicted: exactly as many are let in as fit."""
    quota = 100 * 56 + 55
    workers = [start("write_many", letter, 50, 50, quota) for letter in "abcd"]
    go(*workers)
    most = 0
    while any(worker.poll() is None for worker in workers):
        most = max(most, world.memory.usage())
    refused = sum(int(worker.stdout.readline()) for worker in workers)

    assert 0 < most <= quota
    assert (100, 100 * 56) == (refused, world.memory.usage())
    assert 200 == len(whole(world))


def test_mixed_calls_of_many_processes(world, start):
    """Four do everything to the same keys in a memory that is too small; the records agree."""
    workers = [start("mixed", letter, 250, 250) for letter in "abcd"]
    go(*workers)
    most = 0
    while any(worker.poll() is None for worker in workers):
        most = max(most, world.memory.usage())

    assert ["done\n"] * 4 == [worker.stdout.readline() for worker in workers]
    assert 0 < most <= 250
    actions = {json.loads(line)["action"] for line in whole(world)}
    assert {"memory.create", "memory.update", "memory.delete", "memory.evict"} == actions


def test_the_log_is_in_the_order_of_the_changes(world, start):
    """Creation, update and removal of each key follow each other as they can only have happened."""
    workers = [start("mixed", letter, 200, 250) for letter in "abc"]
    go(*workers)
    for worker in workers:
        worker.wait()
    there = set()
    for line in map(json.loads, whole(world)):
        if line["action"] == "memory.create":
            assert line["key"] not in there
            there.add(line["key"])
        else:
            assert line["key"] in there
            if line["action"] != "memory.update":
                there.remove(line["key"])


@pytest.mark.parametrize("what", ["create", "update", "delete", "evict"])
@pytest.mark.parametrize("rotated", [False, True], ids=["", "rotated"])
def test_killed_between_lines_and_commit(world, a, start, what, rotated):
    """The change is not there, and the log says so by the next recorded action."""
    memory = world.agent(quota_bytes=100)
    memory.write(a, "k", b"old", "CACHE")
    memory.write(a, "k2", b"old", "CACHE")
    before = memory.query(a)
    worker = start("die", "a", what)
    go(worker)
    assert -signal.SIGKILL == worker.wait()

    assert before == memory.query(a)
    lost = world.lines()[-1]["change_id"]
    assert lost != world.store.last_change()
    whole(world)
    if rotated:
        os.rename(world.audit_path, world.audit_path + ".1")
    with pytest.raises(QuotaExceeded):
        memory.write(a, "huge", bytes(200), "CACHE")
    if rotated:
        assert ["memory.continued", "memory.quota_exceeded"] == world.actions()
        assert lost != world.lines()[0]["change_id"]
    else:
        assert ["memory.abandoned", "memory.quota_exceeded"] == world.actions()[-2:]
        assert lost == world.lines()[-2]["change_id"]
        whole(world)


def test_killed_after_a_denied_access_was_recorded(world, a, start):
    """There is no change whose fate would have to be told."""
    world.memory.write(a, "k", b"", "CACHE")
    worker = start("die", "a", "deny")
    go(worker)
    worker.wait()
    world.memory.write(a, "n", b"", "CACHE")

    assert ["memory.create", "memory.denied", "memory.create"] == world.actions()


def test_killed_at_random_moments(world, start):
    """Again and again: the database opens, and the counter, the rows and the log agree."""
    chance = random.Random(20)
    for _ in range(12):
        worker = start("write_for_ever", "a")
        go(worker)
        for _ in range(chance.randrange(1, 40)):
            worker.stdout.readline()
        worker.kill()
        worker.wait()
        world.open()
        assert world.memory.usage() <= 3_000
        with sqlite3.connect(world.database) as connection:
            (used,) = connection.execute("SELECT used FROM agent_memory").fetchone()
            rows = connection.execute(
                "SELECT key, length(key) + length(value) FROM agent_memory_entry"
            ).fetchall()
        connection.close()
        assert used == sum(size for _, size in rows)
        with open(world.audit_path, "rb") as file:
            keys = replay(file, last_change=world.store.last_change())
        assert {key.decode() for key, _ in rows} == keys[world.memory.agent_id]


def test_a_disk_without_room(world, start, a):
    """When no file may grow, the call says so, reading goes on, and room makes all well again."""
    worker = start("fill_disk", "a")
    go(worker)
    code, number = worker.stdout.readline().split()
    assert 0 == worker.wait()

    assert ("MEMORY_STORAGE_ERROR", int(number) + 1) == (code, len(world.keys()))
    world.memory.write(a, "next", b"", "CACHE")
    with open(world.audit_path, "rb") as file:
        assert set(world.keys()) == replay(file)[world.memory.agent_id]
