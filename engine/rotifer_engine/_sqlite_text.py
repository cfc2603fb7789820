"""The tables and statements of the SQLite store.

The file may be one that other programs keep tables in, so ours all begin with ``agent_memory``.
Keys are BLOBs: no collation, no cutting at NUL, a prefix is a range of bytes. Times are integer
milliseconds. The value is the last column, so that reading the others does not read its pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from rotifer_engine._access import SCOPES, scope_sql
from rotifer_engine._category import CATEGORIES
from rotifer_engine._policy import SHARE_POLICIES
from rotifer_engine._retention import expired_sql

__all__ = ["SCHEMA", "SCHEMA_STEPS", "SCHEMA_VERSION"]


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_MEMORY = f"""
CREATE TABLE IF NOT EXISTS agent_memory_meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    schema_version INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    last_change TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS agent_memory (
    number INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    used INTEGER NOT NULL CHECK (used >= 0),
    update_order INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS agent_memory_entry (
    id INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL REFERENCES agent_memory (number),
    key BLOB NOT NULL,
    category TEXT NOT NULL CHECK (category IN ({_words(CATEGORIES)})),
    size INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_domain TEXT,
    last_accessed_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    read_scope TEXT NOT NULL CHECK (read_scope IN ({_words(SCOPES)})),
    write_scope TEXT NOT NULL CHECK (write_scope IN ({_words(SCOPES)})),
    share_policy TEXT NOT NULL CHECK (share_policy IN ({_words(SHARE_POLICIES)})),
    follows_agent INTEGER NOT NULL CHECK (follows_agent IN (0, 1)),
    max_retention_days INTEGER,
    auto_delete INTEGER,
    anonymization INTEGER,
    expires_at INTEGER,
    update_order INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (agent, key),
    CHECK (size = length(key) + length(value))
) STRICT;
CREATE INDEX IF NOT EXISTS agent_memory_entry_order
    ON agent_memory_entry (agent, update_order);
CREATE INDEX IF NOT EXISTS agent_memory_entry_category_order
    ON agent_memory_entry (agent, category, update_order);
CREATE INDEX IF NOT EXISTS agent_memory_entry_expiry
    ON agent_memory_entry (agent, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS agent_memory_entry_followers
    ON agent_memory_entry (agent, updated_at) WHERE follows_agent = 1;
"""

#: The layers; their statements are in ``layers/_sql.py``. "None" is the empty text. A scope may be
#: any word: it can come off the wire. The indexes are in the update order, which is the rowid.
_LAYERS = """
CREATE TABLE IF NOT EXISTS agent_memory_layer (
    update_order INTEGER PRIMARY KEY,
    actor TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (actor, entry_id)
) STRICT;
CREATE INDEX IF NOT EXISTS agent_memory_layer_actor
    ON agent_memory_layer (actor);
CREATE INDEX IF NOT EXISTS agent_memory_layer_scope
    ON agent_memory_layer (actor, scope);
CREATE INDEX IF NOT EXISTS agent_memory_layer_room
    ON agent_memory_layer (namespace) WHERE substr(namespace, 1, 8) = 'agent://';
"""

#: What each version of the format adds to the one before it; a file of an older version gets what
#: it lacks when it is opened.
SCHEMA_STEPS = (_MEMORY, _LAYERS)
SCHEMA_VERSION = len(SCHEMA_STEPS)
SCHEMA = "".join(SCHEMA_STEPS)

#: Everything of a row ``e`` but key, size, value: in the order in which rows are read.
COLUMNS = (
    "e.category, e.created_by, e.created_domain, e.last_accessed_by, e.created_at, e.updated_at, "
    "e.read_scope, e.write_scope, e.share_policy, e.follows_agent, e.max_retention_days, "
    "e.auto_delete, e.anonymization, e.update_order"
)
_AGENT = "(SELECT number FROM agent_memory WHERE agent_id = ?1)"


def _due(agent: str, now: str, cutoff: str) -> str:
    """Whether anything of an agent has expired: the two halves of ``expired_sql``, by index."""
    return (
        "(EXISTS (SELECT 1 FROM agent_memory_entry"  # noqa: S608 - our own words only
        f" WHERE agent = {agent} AND expires_at <= {now})"
        f" OR ({cutoff} IS NOT NULL AND EXISTS (SELECT 1 FROM agent_memory_entry"
        f" WHERE agent = {agent} AND follows_agent = 1 AND updated_at <= {cutoff})))"
    )


#: Whether the row ``e`` is there, for anyone who calls; ?2 is the time and ?3 the cut-off.
LIVE = f"NOT {expired_sql('e', '?2', '?3')}"

#: agent id, now, cutoff, key -> due, live, meta, value; no row when the agent has no memory yet.
READ = f"""
SELECT {_due("a.number", "?2", "?3")}, {LIVE}, {COLUMNS}, e.value
FROM agent_memory a LEFT JOIN agent_memory_entry e ON e.agent = a.number AND e.key = ?4
WHERE a.agent_id = ?1
"""  # noqa: S608 - made of our own words only, here and below

#: gene, agent id, key, order, gene's entry version -> nothing.
TOUCH = """
UPDATE agent_memory_entry SET last_accessed_by = ?1
WHERE agent = (SELECT number FROM agent_memory WHERE agent_id = ?2)
  AND key = ?3 AND update_order = ?4
"""

#: agent id, now, cutoff -> due.
DUE = f"SELECT {_due(_AGENT, '?2', '?3')}"

#: agent id, now, cutoff -> bytes of live entries.
USAGE = f"""
SELECT a.used - CASE WHEN {_due("a.number", "?2", "?3")} THEN (
    SELECT coalesce(sum(e.size), 0) FROM agent_memory_entry e
    WHERE e.agent = a.number AND {expired_sql("e", "?2", "?3")}) ELSE 0 END
FROM agent_memory a WHERE a.agent_id = ?1
"""  # noqa: S608

#: agent id, now, cutoff, after key, limit, category -> key, size, meta.
_PAGE = f"""
SELECT e.key, e.size, {COLUMNS} FROM agent_memory_entry e
WHERE e.agent = {_AGENT} AND e.key > ?4 AND {LIVE} {{category}}
ORDER BY e.key LIMIT ?5
"""  # noqa: S608


def page(*, category: bool) -> str:
    """Live entries by key; with the category as the sixth argument."""
    return _PAGE.format(category="AND e.category = ?6" if category else "")


#: agent id, now, cutoff, gene, domain, limit, then the filters' values -> the named columns.
_SELECT = f"""
SELECT {{columns}} FROM agent_memory_entry e
WHERE e.agent = {_AGENT} AND {LIVE} AND {scope_sql("e.read_scope", "?4", "?5")} {{filters}}
ORDER BY e.update_order DESC LIMIT ?6
"""  # noqa: S608

#: The rows in the order in which the inner query gives them, which must not be sorted again: only
#: ids are sorted, so that no value is read before its row's turn has come.
_SORTED = """
SELECT {columns} FROM ({chosen}) chosen CROSS JOIN agent_memory_entry e ON e.id = chosen.id
"""


def select(filters: list[str], *, sort: bool) -> str:
    """The query, which gives key, meta and value.

    Args:
        filters: conditions whose one value each follows as ?7, ?8 and so on.
        sort: whether to find the rows first and sort them, or to walk along the update order.
    """
    columns = f"e.key, {COLUMNS}, e.value"
    conditions = "".join(
        f" AND {condition.format(f'?{number}')}" for number, condition in enumerate(filters, 7)
    )
    if not sort:
        return _SELECT.format(columns=columns, filters=conditions)
    chosen = _SELECT.format(columns="e.id", filters=conditions)
    return _SORTED.format(columns=columns, chosen=chosen)


#: agent id -> about how many rows the agent has: the length of its update sequence.
SPAN = f"""
SELECT (SELECT max(update_order) FROM agent_memory_entry WHERE agent = {_AGENT})
- (SELECT min(update_order) FROM agent_memory_entry WHERE agent = {_AGENT})
"""  # noqa: S608

#: agent id, first key, key after the last, limit -> how many rows, at most the limit.
COUNT_PREFIX = f"""
SELECT count(*) FROM (SELECT 1 FROM agent_memory_entry
WHERE agent = {_AGENT} AND key >= ?2 AND key < ?3 LIMIT ?4)
"""  # noqa: S608

BEGIN = "BEGIN IMMEDIATE"

#: -> store id, last change.
META = "SELECT store_id, last_change FROM agent_memory_meta"

#: agent id -> number, used, order.
OPEN_AGENT = "SELECT number, used, update_order FROM agent_memory WHERE agent_id = ?1"

#: agent id -> nothing.
NEW_AGENT = "INSERT INTO agent_memory (agent_id, used, update_order) VALUES (?1, 0, 0)"

#: agent id -> store id, last change, and number, used, order: null when it has no memory yet.
OPEN = """
SELECT m.store_id, m.last_change, a.number, a.used, a.update_order
FROM agent_memory_meta m LEFT JOIN agent_memory a ON a.agent_id = ?1
"""

#: number, now, cutoff -> due. On the way of every write, where EXPIRED would be dear: it sorts.
DUE_OF = f"SELECT {_due('?1', '?2', '?3')}"

#: number, key -> key, size, meta.
FIND = (
    f"SELECT e.key, e.size, {COLUMNS} FROM agent_memory_entry e WHERE e.agent = ?1 AND e.key = ?2"  # noqa: S608
)

#: number, now, cutoff, limit -> key, size, meta. Two branches, so that each has its index.
EXPIRED = f"""
SELECT e.key, e.size, {COLUMNS} FROM agent_memory_entry e WHERE e.id IN (
    SELECT id FROM agent_memory_entry WHERE agent = ?1 AND expires_at <= ?2
    UNION ALL
    SELECT id FROM agent_memory_entry
    WHERE ?3 IS NOT NULL AND agent = ?1 AND follows_agent = 1 AND updated_at <= ?3
    LIMIT ?4)
ORDER BY e.update_order
"""  # noqa: S608

#: number, category -> key, size, meta.
CANDIDATES = f"""
SELECT e.key, e.size, {COLUMNS} FROM agent_memory_entry e
WHERE e.agent = ?1 AND e.category = ?2 ORDER BY e.update_order
"""  # noqa: S608

#: number, order -> key, size, meta: the rows written after it, least recently updated first.
ROWS_AFTER = f"""
SELECT e.key, e.size, {COLUMNS} FROM agent_memory_entry e
WHERE e.agent = ?1 AND e.update_order > ?2 ORDER BY e.update_order
"""  # noqa: S608

#: agent number, key, category, size, creator, its domain, last gene, created, updated, the access
#: policy's three, follows, the retention policy's three, expiry, order, value -> nothing.
CREATE = """
INSERT INTO agent_memory_entry (
    agent, key, category, size, created_by, created_domain, last_accessed_by, created_at,
    updated_at, read_scope, write_scope, share_policy, follows_agent, max_retention_days,
    auto_delete, anonymization, expires_at, update_order, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

#: The same arguments, for a row that is there: never REPLACE, which would lose createdBy and
#: createdAt and count a row twice. Not an upsert either: it may fail half-way, for all that SQLite
#: knows, so each one gets a journal of its own: 64 KiB of fresh memory, four times the time.
UPDATE = """
UPDATE agent_memory_entry SET
    category = ?3, size = ?4, last_accessed_by = ?7, updated_at = ?9, read_scope = ?10,
    write_scope = ?11, share_policy = ?12, follows_agent = ?13, max_retention_days = ?14,
    auto_delete = ?15, anonymization = ?16, expires_at = ?17, update_order = ?18, value = ?19
WHERE agent = ?1 AND key = ?2
"""

#: agent id, cutoff, other cutoff -> live entries that follow the agent; how many of them are gone
#: under the other one. Read from the index of followers alone.
FOLLOWERS = """
SELECT count(*), count(CASE WHEN updated_at <= ?3 THEN 1 END) FROM agent_memory_entry
WHERE agent = (SELECT number FROM agent_memory WHERE agent_id = ?1)
  AND follows_agent = 1 AND ifnull(updated_at > ?2, 1)
"""

REMOVE = "DELETE FROM agent_memory_entry WHERE agent = ?1 AND key = ?2"
REMOVE_ROWS = "DELETE FROM agent_memory_entry WHERE agent = ?1"
REMOVE_AGENT = "DELETE FROM agent_memory WHERE number = ?1"
SAVE_AGENT = "UPDATE agent_memory SET used = ?2, update_order = ?3 WHERE number = ?1"
SAVE_CHANGE = "UPDATE agent_memory_meta SET last_change = ?1"
