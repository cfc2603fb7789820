"""The statements of the PostgreSQL store; the tables are in ``migrations``.

Placeholders are numbered as in the statements of SQLite, so that conditions which both stores need
are written once (``expired_sql``, ``scope_sql``).
"""

from __future__ import annotations

from rotifer_engine._access import scope_sql
from rotifer_engine._filter import MAX_ANSWER_BYTES
from rotifer_engine._retention import expired_sql

__all__ = ["COLUMNS", "PAGE_BYTES"]

#: A page of whole entries ends with the one that goes over so many bytes: an answer has no more.
PAGE_BYTES = MAX_ANSWER_BYTES

#: Everything of a row ``e`` but key, size, value: in the order in which rows are read.
COLUMNS = (
    "e.category, e.created_by, e.created_domain, e.last_accessed_by, e.created_at, e.updated_at, "
    "e.read_scope, e.write_scope, e.share_policy, e.follows_agent, e.max_retention_days, "
    "e.auto_delete, e.anonymization, e.update_order"
)

#: statement, lock, idle timeout in ms, durability -> store id, version. Set for the connection.
#: Who asks for durability may be given more than "on", but not less. The keepalives are the
#: server's: a machine that was unplugged does not keep its agents locked.
HELLO = """
SELECT s.store_id, (SELECT max(version) FROM rotifer.migration),
    set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
    set_config('idle_in_transaction_session_timeout', $3, false),
    set_config('tcp_keepalives_idle', '10', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('synchronous_commit', CASE
        WHEN $4 = 'off' OR current_setting('synchronous_commit') = 'off' THEN $4
        ELSE current_setting('synchronous_commit') END, false)
FROM rotifer.store s
"""

# The earliest instant is asked for, and compared after that: a condition with a time in it would be
# planned anew for each time, which costs more than the rest of the statement.
_FIRST_END = (
    "(SELECT min(expires_at) FROM rotifer.entry WHERE agent_id = $1 AND expires_at IS NOT NULL)"
)
_FIRST_FOLLOWER = (
    "(SELECT min(updated_at) FROM rotifer.entry WHERE agent_id = $1 AND follows_agent = 1)"
)
_DUE = f"coalesce({_FIRST_END} <= $2::bigint OR {_FIRST_FOLLOWER} <= $3::bigint, false)"
_DUE_BY_ITSELF = f"coalesce({_FIRST_END} <= $2::bigint, false)"

#: Whether the row ``e`` is there, for anyone who calls; $2 is the time and $3 the cut-off.
LIVE = f"NOT {expired_sql('e', '$2', '$3')}"

_READ = f"""
SELECT {{due}}, {LIVE}, {COLUMNS}, e.value
FROM rotifer.entry e WHERE e.agent_id = $1::text AND e.key = $4::bytea
"""  # noqa: S608 - made of our own words only, here and below

#: agent id, now, cutoff, key -> due, live, meta, value; no row where there is no such key.
READ = _READ.format(due=_DUE)
#: The same where the cut-off is null.
READ_UNLIMITED = _READ.format(due=_DUE_BY_ITSELF)

#: gene, agent id, key, order -> nothing. It need not wait for the disk, which the transaction that
#: it is asks for itself.
TOUCH = """
UPDATE rotifer.entry SET last_accessed_by = $1
FROM (SELECT set_config('synchronous_commit', 'off', true) AS waits) relaxed
WHERE agent_id = $2 AND key = $3 AND update_order = $4 AND relaxed.waits = 'off'
"""

#: agent id, now, cutoff -> due.
DUE = f"SELECT {_DUE}"

#: agent id, now, cutoff -> bytes of live entries.
USAGE = f"""
SELECT a.used - CASE WHEN {_DUE} THEN (
    SELECT coalesce(sum(e.size), 0)::bigint FROM rotifer.entry e
    WHERE e.agent_id = $1 AND {expired_sql("e", "$2", "$3")}) ELSE 0 END
FROM rotifer.agent a WHERE a.agent_id = $1
"""  # noqa: S608

#: agent id, now, cutoff, after key, limit, category -> key, size, meta.
_PAGE = f"""
SELECT e.key, e.size, {COLUMNS} FROM rotifer.entry e
WHERE e.agent_id = $1 AND e.key > $4 AND {LIVE} {{category}}
ORDER BY e.key LIMIT $5
"""  # noqa: S608


def page(*, category: bool) -> str:
    """Live entries by key; with the category as the sixth argument."""
    return _PAGE.format(category="AND e.category = $6" if category else "")


#: Whole entries, in an order, until they are over the size of a page: what nobody will take is
#: not sent. The last one may make it larger, so there is always one.
_WHOLE = f"""
SELECT e.key, {COLUMNS}, e.value FROM (
    SELECT chosen.*, sum(size) OVER (
        ORDER BY update_order {{way}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (SELECT e.* FROM rotifer.entry e WHERE e.agent_id = $1 AND {LIVE} AND {{conditions}}
        ORDER BY e.update_order {{way}} LIMIT {{limit}}) chosen) e
WHERE coalesce(e.before, 0) <= {PAGE_BYTES} ORDER BY e.update_order {{way}}
"""  # noqa: S608

#: agent id, now, cutoff, categories, after order, limit -> key, meta, value.
ENTRIES = _WHOLE.format(
    way="ASC", conditions="e.category = ANY($4::text[]) AND e.update_order > $5", limit="$6"
)


def select(filters: list[str]) -> str:
    """The query: agent id, now, cutoff, gene, domain, limit, values -> key, meta, value.

    Args:
        filters: conditions whose one value each follows as $7, $8 and so on.
    """
    conditions = [scope_sql("e.read_scope", "$4", "$5")]
    conditions += [text.format(f"${number}") for number, text in enumerate(filters, 7)]
    return _WHOLE.format(way="DESC", conditions=" AND ".join(conditions), limit="$6")


BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

#: agent id -> used, order, audit order, last change; locks the agent for all other writers.
LOCK = """
SELECT used, update_order, audit_order, last_change FROM rotifer.agent
WHERE agent_id = $1 FOR UPDATE
"""

#: agent id -> nothing; waits for another who makes the same agent.
NEW_AGENT = """
INSERT INTO rotifer.agent (agent_id, used, update_order, audit_order) VALUES ($1, 0, 0, 0)
ON CONFLICT (agent_id) DO NOTHING
"""

#: agent id -> the earliest instant of expiry, the earliest update of an entry that follows the
#: agent. Asked with the lock, before it is known what time it is, so that the clock is read last.
EARLIEST = f"SELECT {_FIRST_END}, {_FIRST_FOLLOWER}"

#: agent id, key -> key, size, meta.
FIND = f"""
SELECT e.key, e.size, {COLUMNS} FROM rotifer.entry e WHERE e.agent_id = $1 AND e.key = $2
"""  # noqa: S608

#: agent id, now, cutoff, limit -> key, size, meta. Two branches, so that each has its index.
EXPIRED = f"""
SELECT e.key, e.size, {COLUMNS} FROM rotifer.entry e
WHERE e.agent_id = $1 AND e.key IN (
    SELECT key FROM (
        SELECT key FROM rotifer.entry WHERE agent_id = $1 AND expires_at <= $2
        UNION ALL
        SELECT key FROM rotifer.entry WHERE $3::bigint IS NOT NULL AND agent_id = $1
            AND follows_agent = 1 AND updated_at <= $3) due LIMIT $4)
ORDER BY e.update_order
"""  # noqa: S608

#: agent id, after order, limit, category -> key, size, meta.
CANDIDATES = f"""
SELECT e.key, e.size, {COLUMNS} FROM rotifer.entry e
WHERE e.agent_id = $1 AND e.update_order > $2 AND e.category = $4
ORDER BY e.update_order LIMIT $3
"""  # noqa: S608

#: agent id, after order, limit -> key, size, meta: the rows written after it.
ROWS_AFTER = f"""
SELECT e.key, e.size, {COLUMNS} FROM rotifer.entry e
WHERE e.agent_id = $1 AND e.update_order > $2 ORDER BY e.update_order LIMIT $3
"""  # noqa: S608

_WRITTEN = (
    "agent_id, key, category, size, created_by, created_domain, last_accessed_by, created_at, "
    "updated_at, read_scope, write_scope, share_policy, follows_agent, max_retention_days, "
    "auto_delete, anonymization, expires_at, update_order, value"
)
_FIXED = ("agent_id", "key", "created_by", "created_domain", "created_at")

#: Creator and time of creation stay when a row is replaced.
PUT = (
    f"INSERT INTO rotifer.entry ({_WRITTEN}) VALUES ("  # noqa: S608
    + ", ".join(f"${number}" for number in range(1, _WRITTEN.count(",") + 2))
    + ") ON CONFLICT (agent_id, key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _WRITTEN.split(", ") if name not in _FIXED)
)

#: agent id, cutoff, other cutoff -> live entries that follow the agent; how many of them are gone
#: under the other one.
FOLLOWERS = """
SELECT count(*), count(CASE WHEN updated_at <= $3::bigint THEN 1 END) FROM rotifer.entry
WHERE agent_id = $1 AND follows_agent = 1 AND coalesce(updated_at > $2::bigint, true)
"""

REMOVE = "DELETE FROM rotifer.entry WHERE agent_id = $1 AND key = $2"
REMOVE_ROWS = "DELETE FROM rotifer.entry WHERE agent_id = $1"

#: agent id, used, order, audit order, last change.
SAVE_AGENT = """
UPDATE rotifer.agent SET used = $2, update_order = $3, audit_order = $4, last_change = $5
WHERE agent_id = $1
"""

#: agent id, audit order before, change id, lines -> nothing.
RECORD = """
INSERT INTO rotifer.audit (agent_id, audit_order, change_id, line)
SELECT $1, $2 + number, $3, line FROM unnest($4::text[]) WITH ORDINALITY AS told (line, number)
"""

#: agent id, audit order, change id -> a row when that change was made.
MADE = "SELECT 1 FROM rotifer.audit WHERE agent_id = $1 AND audit_order = $2 AND change_id = $3"

#: agent id, after audit order, limit -> audit order, line.
LINES = """
SELECT audit_order, line FROM rotifer.audit
WHERE agent_id = $1 AND audit_order > $2 ORDER BY audit_order LIMIT $3
"""

SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: A reader may be slow, and keeps nobody waiting.
PATIENT = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"

#: agent id -> used, order, last change.
COUNTED = "SELECT used, update_order, last_change FROM rotifer.agent WHERE agent_id = $1"

#: agent id, after order, after key, limit -> what Row has.
ROWS = """
SELECT e.key, e.size, octet_length(e.value)::bigint, e.category, e.created_by, e.created_domain,
    e.last_accessed_by, e.updated_at, e.follows_agent, e.max_retention_days, e.expires_at,
    e.update_order
FROM rotifer.entry e WHERE e.agent_id = $1 AND (e.update_order, e.key) > ($2, $3)
ORDER BY e.update_order, e.key LIMIT $4
"""

#: -> kind, name, whether it is whole: what stands in the schema.
OBJECTS = """
SELECT CASE c.relkind WHEN 'i' THEN 'index' ELSE 'table' END, c.relname::text,
    coalesce(i.indisvalid AND i.indisready, true)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
WHERE n.nspname = 'rotifer' AND c.relkind IN ('r', 'p', 'i')
"""

#: -> name, table: what changes what happens to the tables.
TRIGGERS = """
SELECT t.tgname::text, c.relname::text FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'rotifer' AND NOT t.tgisinternal
"""
