"""Memories of many entries, made in seconds."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

__all__ = ["copies", "key_of"]

CATEGORIES = ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")


def key_of(number: int) -> str:
    """The key of an entry."""
    return f"group{number // 200:04}/{number:07}"


def copies(path: str, agent_id: str, count: int) -> None:
    """Copy an agent's entry ``model`` many times, in an update order that is not that of the keys.

    The engine's own write waits for the disk; this keeps what it keeps: the counter of bytes and
    the update sequence.

    Args:
        path: the database; nobody else has it open.
        agent_id: the agent.
        count: how many.
    """
    database = sqlite3.connect(path, isolation_level=None)
    [number] = database.execute(
        "SELECT number FROM agent_memory WHERE agent_id = ?", (agent_id,)
    ).fetchone()
    columns = [row[1] for row in database.execute("PRAGMA table_info(agent_memory_entry)")]
    own = {"id": "NULL", "key": "?1", "category": "?2", "update_order": "?3"}
    own["size"] = "length(?1) + length(value)"
    chosen = ", ".join(own.get(name, name) for name in columns)
    order = list(range(2, count + 2))
    random.Random(1).shuffle(order)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    indexes = database.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        " AND tbl_name = 'agent_memory_entry'"
    ).fetchall()
    for name, _ in indexes:
        database.execute(f"DROP INDEX {name}")
    database.executemany(
        f"INSERT INTO agent_memory_entry SELECT {chosen} FROM agent_memory_entry"
        f" WHERE agent = {number} AND key = CAST('model' AS BLOB)",
        rows(order),
    )
    for _, statement in indexes:
        database.execute(statement)
    database.execute(
        "UPDATE agent_memory SET update_order = ?, used ="
        " (SELECT sum(size) FROM agent_memory_entry WHERE agent = number) WHERE number = ?",
        (count + 1, number),
    )
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def rows(order: list[int]) -> Iterator[tuple[bytes, str, int]]:
    """Key, category and update order of each entry."""
    for number, place in enumerate(order):
        yield key_of(number).encode(), CATEGORIES[number % 4], place
