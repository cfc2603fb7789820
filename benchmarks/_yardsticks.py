"""What the bridge is measured against: echoes, SQLite by itself, and the bridges of others.

Each function gives the microseconds of single calls.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time

from rotifer_bridge._node import find_node

__all__ = ["RIVALS", "durable", "echo", "rival", "selected", "upserts"]

HERE = os.path.dirname(os.path.abspath(__file__))

#: npm's synchronous bridges, each with the hop to Python that it needs, and SQLite without any.
RIVALS = ("synckit", "make-synchronous", "sync-rpc", "better-sqlite3 read", "better-sqlite3 upsert")


def echo(kind: str, size: int, count: int) -> list[float]:
    """From Node to Python and back: a ``plain`` socket loop, or a bare ``nng`` reply socket."""
    return _printed(
        [sys.executable, os.path.join(HERE, "_echo.py"), node(), kind, str(size), str(count)]
    )


def rival(kind: str, folder: str, size: int, count: int) -> list[float] | None:
    """One of `RIVALS`; None where its npm package is not installed (``make bench`` does that)."""
    package = kind.split(maxsplit=1)[0]
    if not os.path.isdir(os.path.join(HERE, "node_modules", package)):
        return None
    script = os.path.join(HERE, "_rivals.cjs")
    return _printed([node(), script, kind, sys.executable, folder, str(size), str(count)])


def node() -> str:
    return find_node(None).path


def _printed(command: list[str]) -> list[float]:
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    times: list[float] = json.loads(done.stdout)
    return times


def database(folder: str) -> sqlite3.Connection:
    connection = sqlite3.connect(os.path.join(folder, "yardstick.db"), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (k BLOB PRIMARY KEY, v BLOB) STRICT")
    return connection


UPSERT = "INSERT INTO t VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"


def durable(folder: str, size: int, count: int) -> list[float]:
    """What a durable write cannot do without: one synced log line, one synced upsert."""
    connection = database(folder)
    log = os.open(os.path.join(folder, "yardstick.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    line = b"a" * 400 + b"\n"
    times = []
    for i in range(count):
        # Another value each time: SQLite writes and syncs nothing when a row stays as it is.
        value = b"%08d" % i + b"a" * (size - 8)
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        os.write(log, line)
        os.fdatasync(log)
        connection.execute(UPSERT, (b"%d" % (i % 10), value))
        connection.execute("COMMIT")
        times.append((time.perf_counter() - start) * 1e6)
    os.close(log)
    connection.close()
    return times


def upserts(folder: str, size: int, count: int) -> tuple[list[float], list[float]]:
    """Python's own sqlite3 in process: durable upserts, and reads."""
    connection = database(folder)
    writes, reads = [], []
    for i in range(count):
        value = b"%08d" % i + b"a" * (size - 8)
        start = time.perf_counter()
        connection.execute(UPSERT, (b"%d" % (i % 10), value))
        writes.append((time.perf_counter() - start) * 1e6)
    for i in range(count):
        start = time.perf_counter()
        connection.execute("SELECT v FROM t WHERE k = ?", (b"%d" % (i % 10),)).fetchone()
        reads.append((time.perf_counter() - start) * 1e6)
    connection.close()
    return writes, reads


# The ids are sorted before the rows are read: sorting whole rows takes SQLite thrice the time.
SELECT = """
SELECT e.* FROM (
    SELECT e.id FROM agent_memory_entry e JOIN agent_memory a ON e.agent = a.number
    WHERE a.agent_id = ?1 AND e.key >= ?2 AND e.key < ?3 ORDER BY e.update_order DESC LIMIT ?4
) chosen CROSS JOIN agent_memory_entry e ON e.id = chosen.id
"""


def selected(
    database_file: str, agent_id: str, prefix: bytes, rows: int, count: int
) -> list[float]:
    """SQLite's own select of the rows that a query by prefix gives, fetched by Python."""
    connection = sqlite3.connect(database_file, isolation_level=None)
    after = prefix[:-1] + bytes([prefix[-1] + 1])
    times = []
    for _ in range(count):
        start = time.perf_counter()
        found = connection.execute(SELECT, (agent_id, prefix, after, rows)).fetchall()
        times.append((time.perf_counter() - start) * 1e6)
        assert len(found) == rows
    connection.close()
    return times
