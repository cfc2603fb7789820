"""Many processes and many threads on one agent: their calls are one history (memory §5, §6, §9)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from tests.engine import history

EACH = 1_250
WORKERS = [f"worker{number}" for number in range(8)]
QUOTA = 700


def end_of(world):
    """The log, and the rows by key with their orders and values."""
    with open(world.audit_path, "rb") as file:
        lines = file.read().split(b"\n")
    assert lines.pop() == b"", "the last line is not whole"
    connection = sqlite3.connect(world.database)
    rows = connection.execute("SELECT key, update_order, value FROM agent_memory_entry").fetchall()
    connection.close()
    return lines, {key.decode(): (order, value.decode()) for key, order, value in rows}


def check(world, calls):
    """The calls, the log and the rows are one history, and all kinds of changes are in it."""
    assert EACH * len(WORKERS) == len(calls)
    lines, rows = end_of(world)
    told = history.History(calls, lines, QUOTA)
    told.check(rows)
    kinds = {"create", "update", "delete", "evict", "quota_exceeded"}
    assert {f"memory.{kind}" for kind in kinds} == told.actions


def test_eight_processes(world, tmp_path):
    """Ten thousand calls: no update lost, nothing stale, never over the quota, lines in order."""
    world.store.last_change()
    workers = [
        subprocess.Popen(
            [sys.executable, history.__file__, str(tmp_path), name, str(EACH), str(QUOTA)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in WORKERS
    ]
    most = 0
    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        while any(worker.poll() is None for worker in workers):
            most = max(most, world.memory.usage())
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()

    assert [0] * len(workers) == [worker.returncode for worker in workers]
    assert 0 < most <= QUOTA
    calls = []
    for name in WORKERS:
        with open(os.path.join(tmp_path, f"{name}.calls"), encoding="ascii") as file:
            calls += [history.Call(*call) for call in json.load(file)]
    check(world, calls)


def test_eight_threads(world, tmp_path):
    """The same of threads that share one memory."""
    memory, store = history.open_memory(str(tmp_path), QUOTA)
    calls = {}
    threads = [
        threading.Thread(
            target=lambda name=name: calls.update({name: history.live(memory, name, EACH)})
        )
        for name in WORKERS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()

    check(world, [call for name in WORKERS for call in calls[name]])


def short_history():
    """A history of three calls that is one: calls, lines and rows."""
    a = history.gene_of("a")
    calls = [
        history.Call(a, 10, 20, "write", "k", 5, "one.", 1, None, None),
        history.Call(a, 30, 40, "write", "k", 5, "two.", 2, None, None),
        history.Call(a, 50, 60, "read", "k", 1, "two.", 2, None, None),
    ]
    lines = [
        {"action": f"memory.{what}", "key": "k", "size": 5, "gene_id": a, "change_id": what, "category": "CACHE"}
        for what in ("create", "update")
    ]  # fmt: skip
    return calls, lines, {"k": (2, "two.")}


def judge(calls, lines, rows, quota=10):
    """Check a history made by hand."""
    history.History(calls, [json.dumps(line) for line in lines], quota).check(rows)


FAULTS = {
    "a lost update": lambda c, log, r: c.__setitem__(2, c[2]._replace(order=1, value="one.")),
    "an update that saw none": lambda c, log, r: log[1].update(action="memory.create"),
    "an order given twice": lambda c, log, r: c.__setitem__(1, c[1]._replace(order=1)),
    "a write without its line": lambda c, log, r: log.pop(),
    "lines in another order": lambda c, log, r: (
        c.__setitem__(0, c[0]._replace(order=2)), c.__setitem__(1, c[1]._replace(order=1)),
        r.update(k=(2, "one."))),
    "another end": lambda c, log, r: r.update(k=(1, "one.")),
    "missed though it was there": lambda c, log, r: c.__setitem__(2, c[2]._replace(order=None)),
    "read before it was written": lambda c, log, r: c.__setitem__(2, c[2]._replace(start=1, end=2)),
    "over the quota": lambda c, log, r: [
        line.update(size=11) or c.__setitem__(n, c[n]._replace(size=11)) for n, line in enumerate(log)],
}  # fmt: skip


def test_a_history_made_by_hand():
    """The judge lets pass what can have happened."""
    judge(*short_history())


@pytest.mark.parametrize("fault", FAULTS)
def test_the_judge_finds(fault):
    """And it finds what cannot."""
    calls, lines, rows = short_history()
    FAULTS[fault](calls, lines, rows)
    with pytest.raises((AssertionError, KeyError)):
        judge(calls, lines, rows)
