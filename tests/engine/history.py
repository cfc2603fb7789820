"""Mixed calls on one agent with a record of each, and what such records must fit (memory §5, §6, §9).

Run as a program it is one of several processes: ``history.py FOLDER NAME CALLS QUOTA``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import random
import sys
import time
from typing import NamedTuple

from rotifer_engine import (
    AgentMemory,
    AgentMemoryError,
    AuditLog,
    Caller,
    FileSystem,
    SqliteStore,
    Telemetry,
)

AGENT = "7c4a8d09-ca37-42a8-9fd1-000000000001"
CATEGORIES = ("CACHE", "CACHE", "PATTERN", "CONTEXT", "PREFERENCE")


class Files(FileSystem):
    """Nothing waits for the disk."""

    def sync(self, fd):
        """Do not wait."""


class Call(NamedTuple):
    """One call, when it was made, and what came of it.

    Args:
        gene: whose.
        start: nanoseconds of the clock that all processes share.
        end: the same, when the answer was there.
        op: ``read``, ``write``, ``query`` or ``delete``.
        key: which entry; None for a query.
        size: bytes of key and value that a write asked for.
        value: what a write wrote or a read got, as text.
        order: the update order of the entry that came back; None when none did.
        code: the error's code.
        entries: of a query: key, order and value of each.
    """

    gene: str
    start: int
    end: int
    op: str
    key: str | None
    size: int
    value: str | None
    order: int | None
    code: str | None
    entries: list | None


def open_memory(folder, quota):
    """The agent's memory, as a process of its own sees it, and its store."""
    state = os.path.join(folder, ".rotifer")
    files = Files()
    store = SqliteStore(
        os.path.join(state, "playground.db"), durable=False, busy_timeout_ms=60_000, files=files
    )
    memory = AgentMemory(
        store,
        AGENT,
        quota_bytes=quota,
        audit=AuditLog(os.path.join(state, "audit.jsonl"), files=files, lock_timeout_ms=60_000),
        telemetry=Telemetry(os.path.join(state, "telemetry.jsonl"), files=files),
    )
    return memory, store


def gene_of(name):
    """The identity under which a process or thread calls."""
    return "v2:" + hashlib.sha256(name.encode()).hexdigest()


def live(memory, name, count):
    """Make so many calls; every value is written only once."""
    chance = random.Random(name)
    caller = Caller(gene_of(name), "code.format")
    calls = []
    for number in range(count):
        op = chance.choices(("write", "read", "query", "delete"), (50, 30, 8, 12))[0]
        key = f"{chance.randrange(40):02}"
        # One in fifty is too large for the quota.
        filling = 10_000 if chance.random() < 0.02 else chance.randrange(40)
        value = f"{name}:{number}:".encode() + b"a" * filling
        category = chance.choice(CATEGORIES)
        entry = code = entries = None
        start = time.monotonic_ns()
        try:
            if op == "write":
                entry = memory.write(caller, key, value, category)
            elif op == "read":
                entry = memory.read(caller, key)
            elif op == "query":
                found = memory.query(caller, {"limit": 8})
                entries = [(e.key, e.order, e.value.decode()) for e in found]
            else:
                memory.delete(caller, key)
        except AgentMemoryError as error:
            code = error.code
        calls.append(
            Call(
                caller.gene_id,
                start,
                time.monotonic_ns(),
                op,
                None if op == "query" else key,
                len(key) + len(value),
                value.decode() if op == "write" else entry and entry.value.decode(),
                entry and entry.order,
                code,
                entries,
            )
        )
    return calls


class History:
    """The calls of all and the log, as one history; each method finds one way not to be one.

    The log puts all changes in one order, and the update orders that the calls got number the
    writes. A change was made at some moment between its call's start and its end.

    Args:
        calls: of all processes or threads.
        lines: the whole log.
        quota: bytes.
    """

    def __init__(self, calls, lines, quota):
        self.calls = calls
        self.quota = quota
        self.written = {call.order: call for call in calls if _made(call, "write")}
        self.deletes = {}
        for call in calls:
            if _made(call, "delete"):
                self.deletes.setdefault((call.gene, call.key), []).append(call)
        self.there = {}  # key -> (order, size)
        self.gone = {}  # order -> the call that replaced, evicted or deleted that version
        self.present = {}  # key -> periods of time in which it certainly was there
        self.order = self.used = 0
        self.actions = set()
        self._walk([json.loads(line) for line in lines])

    def _walk(self, log):
        """Go along the log, the lines of one change at a time."""
        for _, group in itertools.groupby(log, key=lambda line: line["change_id"]):
            *evictions, line = group
            action, key = line["action"], line["key"]
            self.actions |= {action, *(other["action"] for other in evictions)}
            if action == "memory.quota_exceeded":
                assert not evictions
                continue
            if action == "memory.delete":
                assert not evictions
                self._leave(key, self.deletes[line["gene_id"], key].pop(0))
                continue
            self.order += 1
            call = self.written[self.order]
            assert (call.key, call.size, call.gene) == (key, line["size"], line["gene_id"])
            for other in evictions:
                assert other["action"] == "memory.evict"
                assert other["category"] != "PREFERENCE"
                assert other["key"] != key
                self._leave(other["key"], call)
            if action == "memory.create":
                assert key not in self.there
                self.present.setdefault(key, []).append((call.end, math.inf))
            else:
                assert action == "memory.update"
                version, size = self.there[key]
                self.gone[version] = call
                self.used -= size
            self.there[key] = self.order, line["size"]
            self.used += line["size"]
            assert self.used <= self.quota, "over the quota"

    def _leave(self, key, call):
        """A key is removed by a call."""
        version, size = self.there.pop(key)
        self.gone[version] = call
        self.used -= size
        since, _ = self.present[key].pop()
        self.present[key].append((since, call.start))

    def check(self, rows):
        """Every way in which the history could be none, and the rows its end.

        Args:
            rows: key -> (order, value), at the end.
        """
        versions = {key: version for key, (version, _) in self.there.items()}
        assert versions == {key: version for key, (version, _) in rows.items()}
        assert all(self.written[version].value == value for version, value in rows.values())
        assert sorted(self.written) == list(range(1, self.order + 1)), "a write without its line"
        assert not any(self.deletes.values()), "a delete without its line"
        codes = {call.code for call in self.calls}
        assert codes <= {None, "MEMORY_NOT_FOUND", "MEMORY_QUOTA_EXCEEDED"}
        latest = 0
        for number in range(1, self.order + 1):
            call = self.written[number]
            assert latest < call.end, "in the log before a write that was over when it began"
            latest = max(latest, call.start)
        for call in self.calls:
            if call.op == "read" and call.order is not None:
                self._saw(call, call.key, call.order, call.value)
            elif call.op == "read" or call.code == "MEMORY_NOT_FOUND":
                for since, until in self.present.get(call.key, ()):
                    assert not since < call.start < call.end < until, "not seen though it was there"
            for key, version, value in call.entries or ():
                self._saw(call, key, version, value)
            orders = [version for _, version, _ in call.entries or ()]
            assert orders == sorted(orders, reverse=True)

    def _saw(self, call, key, version, value):
        """What a call got was there at some moment of it."""
        write, gone = self.written[version], self.gone.get(version)
        assert (write.key, write.value) == (key, value)
        assert write.start < call.end, "seen before it was written"
        assert gone is None or call.start < gone.end, "seen after it was gone"


def _made(call, op):
    return call.op == op and call.code is None


if __name__ == "__main__":
    folder, name, count, quota = sys.argv[1:]
    memory, store = open_memory(folder, int(quota))
    store.last_change()
    print("ready", flush=True)
    sys.stdin.readline()
    calls = live(memory, name, int(count))
    with open(os.path.join(folder, f"{name}.calls"), "w", encoding="ascii") as file:
        json.dump(calls, file)
