"""Deliberate faults in the engine's rules: each must be found by the engine's tests."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAULTS", "Fault"]


class Fault(NamedTuple):
    """One place made wrong.

    Args:
        rule: what is broken by it, and where the rule stands.
        module: the file of the engine.
        text: what stands there, exactly once.
        replacement: what is put there.
        tests: the tests that are asked first; if they find nothing, all are asked.
    """

    rule: str
    module: str
    text: str
    replacement: str
    tests: str


FAULTS = (
    # ---- eviction and quota (memory §3, §6)
    Fault(
        "CONTEXT goes before PATTERN (§3)",
        "_category.py",
        '"PATTERN": Category(2,',
        '"PATTERN": Category(4,',
        "test_eviction",
    ),
    Fault(
        "PREFERENCE is evicted when nothing else is left (§3)",
        "_category.py",
        '"PREFERENCE": Category(None,',
        '"PREFERENCE": Category(4,',
        "test_eviction",
    ),
    Fault(
        "the most recently updated goes first (§3)",
        "_sqlite_text.py",
        "WHERE e.agent = ?1 AND e.category = ?2 ORDER BY e.update_order",
        "WHERE e.agent = ?1 AND e.category = ?2 ORDER BY e.update_order DESC",
        "test_eviction",
    ),
    Fault(
        "eviction goes by the clock, not by the update sequence (§3)",
        "_sqlite_text.py",
        "WHERE e.agent = ?1 AND e.category = ?2 ORDER BY e.update_order",
        "WHERE e.agent = ?1 AND e.category = ?2 ORDER BY e.updated_at, e.key",
        "test_eviction",
    ),
    Fault(
        "one more is evicted when it fits exactly (§6)",
        "_quota.py",
        "        if excess <= 0:\n            return chosen",
        "        if excess < 0:\n            return chosen",
        "test_quota test_eviction",
    ),
    Fault(
        "the entry being written is evicted (§6)",
        "_memory.py",
        "if row.key != entry.key",
        "if row",
        "test_eviction",
    ),
    Fault(
        "one byte over the quota is let in (§6)",
        "_memory.py",
        "excess = after - self.quota_bytes",
        "excess = after - self.quota_bytes - 1",
        "test_eviction",
    ),
    Fault(
        "replacing does not count the old size as free (§6)",
        "_memory.py",
        "after = tx.used - (0 if stored is None else stored.size) + size",
        "after = tx.used + size",
        "test_eviction",
    ),
    Fault(
        "keys do not count (§6)",
        "_entry.py",
        "return len(self.key.encode()) + len(self.value)",
        "return len(self.value)",
        "test_entry",
    ),
    Fault(
        "the counter drifts when an entry is replaced (§6)",
        "_sqlite.py",
        "self.used += entry.size - (0 if replaced is None else replaced.size)",
        "self.used += entry.size",
        "test_sqlite",
    ),
    Fault(
        "the quota is checked outside the transaction that writes (§6)",
        "_sqlite_text.py",
        'BEGIN = "BEGIN IMMEDIATE"',
        'BEGIN = "BEGIN DEFERRED"',
        "test_history",
    ),
    Fault(
        "a quota refusal is not recorded (§6)",
        "_memory.py",
        "            self._ledger.refuse(tx, record)\n",
        "",
        "test_eviction test_audit",
    ),
    # ---- retention (memory §7)
    Fault(
        "an entry with a policy of its own is still there at the instant (§7)",
        "_retention.py",
        "coalesce({row}.expires_at <= {now}, 1 = 0)",
        "coalesce({row}.expires_at < {now}, 1 = 0)",
        "test_retention",
    ),
    Fault(
        "an entry that follows the agent is still there at the instant (§7)",
        "_retention.py",
        "coalesce({row}.updated_at <= {cut}, 1 = 0)",
        "coalesce({row}.updated_at < {cut}, 1 = 0)",
        "test_retention",
    ),
    Fault(
        "rewriting does not restart the time (§7)",
        "_sqlite.py",
        "own_expiry(entry.updated_at, retention)",
        "own_expiry(entry.created_at, retention)",
        "test_retention",
    ),
    Fault(
        "a query does not purge (§7)",
        "_memory.py",
        "        if self._store.has_expired(self.agent_id, moment):\n"
        '            self._ledger.purge(caller, "query", moment)\n',
        "",
        "test_retention",
    ),
    Fault(
        "a read does not purge (§7)",
        "_memory.py",
        "        if due:\n",
        "        if due and entry is None:\n",
        "test_retention test_model",
    ),
    Fault(
        "a read gives an expired entry (§7)",
        "_sqlite.py",
        "if category is None or not live:",
        "if category is None:",
        "test_retention",
    ),
    Fault(
        "a query gives expired entries until they are purged (§7)",
        "_sqlite_text.py",
        'WHERE e.agent = {_AGENT} AND {LIVE} AND {scope_sql("e.read_scope", "?4", "?5")}',
        'WHERE e.agent = {_AGENT} AND {scope_sql("e.read_scope", "?4", "?5")}'
        " AND (?2 IS ?2 OR ?3 IS ?3)",
        "test_model",
    ),
    Fault(
        "expired entries count (§7)",
        "_sqlite_text.py",
        'SELECT a.used - CASE WHEN {_due("a.number", "?2", "?3")} THEN (',
        "SELECT a.used - CASE WHEN ?2 IS NULL THEN (",
        "test_retention",
    ),
    Fault(
        "an entry's own limit of null means to follow the agent (§7)",
        "_sqlite.py",
        "                retention is None,\n",
        "                retention is None or retention.max_retention_days is None,\n",
        "test_retention",
    ),
    # ---- access (memory §4)
    Fault(
        "no scope is checked on delete (§4)",
        "_memory.py",
        "if not allows(access.write_scope, stored.created_by, stored.created_domain, caller):",
        "if False:",
        "test_delete test_access",
    ),
    Fault(
        "delete asks for the right to read (§4)",
        "_memory.py",
        "if not allows(access.write_scope, stored.created_by, stored.created_domain, caller):",
        "if not allows(access.read_scope, stored.created_by, stored.created_domain, caller):",
        "test_delete test_access",
    ),
    Fault(
        "no scope is checked on read (§4)",
        "_memory.py",
        "if not allows(access.read_scope, entry.created_by, entry.created_domain, caller):",
        "if False:",
        "test_read test_access",
    ),
    Fault(
        "of writes that are made together none is judged (§4)",
        "_memory.py",
        "                if why_not_write(caller, stored, wish, self.data_policy) is not None:\n",
        "                if False:\n",
        "test_write_each",
    ),
    Fault(
        "no scope is checked on overwrite (§4)",
        "_writing.py",
        "if not allows(scope, stored.created_by, stored.created_domain, caller):",
        "if False:",
        "test_write test_access",
    ),
    Fault(
        "no domain is the same domain as no domain (§4)",
        "_access.py",
        "return created_domain is not None and created_domain == caller.domain",
        "return created_domain == caller.domain",
        "test_access",
    ),
    Fault(
        "the same in a query (§4)",
        "_access.py",
        'f"{rule.entry_fact} = {placeholder',
        'f"{rule.entry_fact} IS {placeholder',
        "test_access",
    ),
    Fault(
        "an identity that is none is let in (§4)",
        "_access.py",
        "if not is_v2_id(caller.gene_id):",
        "if not caller.gene_id:",
        "test_identity test_access",
    ),
    Fault(
        "another gene may change a policy (§5)",
        "_writing.py",
        "if changes and caller.gene_id != stored.created_by:",
        "if changes and caller.domain != stored.created_domain:",
        "test_policy test_write",
    ),
    Fault(
        "a policy equal to the stored one is a change (§5)",
        "_writing.py",
        "        if access == stored.access_policy:\n            access = None\n",
        "",
        "test_write test_policy",
    ),
    Fault(
        "DEPLOYER_CONFIGURED can be set (§4)",
        "_access.py",
        '"DEPLOYER_CONFIGURED": Scope(None, everyone=False, settable=False)',
        '"DEPLOYER_CONFIGURED": Scope(None, everyone=False, settable=True)',
        "test_policy test_write",
    ),
    Fault(
        "entries are shared without the agent's leave (§4)",
        "_policy.py",
        "if SHARE_POLICIES[access.share_policy] and not data.anonymization_supported:",
        "if False:",
        "test_policy test_write",
    ),
    Fault(
        "null is not longer than the agent allows (§4)",
        "_policy.py",
        "if asked is None or asked > data.max_retention_days:",
        "if asked is not None and asked > data.max_retention_days:",
        "test_policy test_write",
    ),
    Fault(
        "exactly as long as the agent allows is refused (§4)",
        "_policy.py",
        "if asked is None or asked > data.max_retention_days:",
        "if asked is None or asked >= data.max_retention_days:",
        "test_policy test_write",
    ),
    # ---- the four calls (memory §5)
    Fault(
        "the category is compared before access is judged (§5)",
        "_memory.py",
        "        access = entry.access_policy\n        if not allows(access.read_scope",
        "        if not isinstance(category, Absent) and category != entry.category:\n"
        "            return None\n"
        "        access = entry.access_policy\n        if not allows(access.read_scope",
        "test_read",
    ),
    Fault(
        "a denied read sets who last accessed the entry (§5)",
        "_memory.py",
        "        access = entry.access_policy\n        if not allows(access.read_scope",
        '        self._store.touch(self.agent_id, entry, caller.gene_id or "")\n'
        "        access = entry.access_policy\n        if not allows(access.read_scope",
        "test_read test_access",
    ),
    Fault(
        "a read does not set who last accessed the entry (§5)",
        "_memory.py",
        "            self._store.touch(self.agent_id, entry, caller.gene_id)\n",
        "",
        "test_read",
    ),
    Fault(
        "a retention policy of null is taken as absent (§5)",
        "_writing.py",
        "stored.retention_policy if isinstance(retention, Absent) else retention",
        "retention or stored.retention_policy",
        "test_write",
    ),
    Fault(
        "who replaces an entry becomes its creator (§5)",
        "_sqlite_text.py",
        "last_accessed_by = ?7, updated_at",
        "created_by = ?7, last_accessed_by = ?7, updated_at",
        "test_write",
    ),
    Fault(
        "replacing keeps the old category (§5)",
        "_sqlite_text.py",
        "    category = ?3, size = ?4,",
        "    size = ?4,",
        "test_write",
    ),
    Fault(
        "the limit is applied before access is judged (§5)",
        "_sqlite_text.py",
        "SELECT {{columns}} FROM agent_memory_entry e\nWHERE e.agent = {_AGENT} AND {LIVE} AND {scope",
        "SELECT {{columns}} FROM (SELECT * FROM agent_memory_entry\n"
        "WHERE agent = {_AGENT} ORDER BY update_order DESC LIMIT ?6) e\nWHERE {LIVE} AND {scope",
        "test_query",
    ),
    Fault(
        "a query is in the order of the clock (§5)",
        "_sqlite_text.py",
        "ORDER BY e.update_order DESC LIMIT ?6",
        "ORDER BY e.updated_at DESC LIMIT ?6",
        "test_query",
    ),
    Fault(
        "a prefix is a LIKE pattern (§5)",
        "_sqlite.py",
        '(key + " >= {}", first)',
        "(f\"CAST({key} AS TEXT) LIKE CAST({{}} AS TEXT) || '%'\", first)",
        "test_query test_vectors",
    ),
    Fault(
        "since leaves out its own instant (§5)",
        "_sqlite.py",
        '("e.updated_at >= {}", selection.since)',
        '("e.updated_at > {}", selection.since)',
        "test_query",
    ),
    Fault(
        "until takes its own instant in (§5)",
        "_sqlite.py",
        '("e.updated_at < {}", selection.until)',
        '("e.updated_at <= {}", selection.until)',
        "test_query",
    ),
    Fault(
        "an answer of exactly 4 MiB is refused (§5)",
        "_memory.py",
        "if total > MAX_ANSWER_BYTES:",
        "if total >= MAX_ANSWER_BYTES:",
        "test_query",
    ),
    Fault(
        "a limit is clamped (§5)",
        "_input.py",
        "    if not low <= value <= high:\n",
        "    if not low <= value <= high:\n        return min(max(value, low), high)\n    if value is None:\n",
        "test_input test_query",
    ),
    Fault(
        "an unknown field of a filter is passed over (§5)",
        "_filter.py",
        'check_fields(value, "filter", FILTER_FIELDS)',
        'check_fields(value, "filter", (*FILTER_FIELDS, *(value if isinstance(value, dict) else ())))',
        "test_query",
    ),
    # ---- what may be handed in (memory §2)
    Fault(
        "a key's limit counts characters (§2)",
        "_input.py",
        "if len(encoded) > MAX_KEY_BYTES:",
        "if len(key) > MAX_KEY_BYTES:",
        "test_input",
    ),
    Fault(
        "a lone surrogate is replaced (§2)",
        "_input.py",
        "        return text.encode()\n",
        '        return text.encode("utf-8", "replace")\n',
        "test_input",
    ),
    Fault(
        "base64 need not be canonical (§2)",
        "_input.py",
        "if binascii.b2a_base64(value, newline=False) != raw:",
        "if False:",
        "test_input",
    ),
    Fault(
        "an entry's id joins agent and key without a NUL (§2)",
        "_entry.py",
        'b"%b\\0%b"',
        'b"%b%b"',
        "test_entry",
    ),
    Fault(
        "second 60 is accepted anywhere (§5)",
        "_time.py",
        "if second == 60 and not _may_end_in_leap_second(minutes):",
        "if second > 60:",
        "test_time",
    ),
    # ---- what is recorded (memory §9)
    Fault(
        "the line is written after the commit (§9)",
        "_change.py",
        "    audit.append(tx, records, change_id=change_id)\n"
        "    try:\n"
        "        if last is not None:\n"
        "            last()\n"
        "        tx.commit(change_id)\n",
        "    try:\n"
        "        if last is not None:\n"
        "            last()\n"
        "        tx.commit(change_id)\n"
        "        audit.append(tx, records, change_id=change_id)\n",
        "test_audit",
    ),
    Fault(
        "the lines are not on the disk when the change is made (§9)",
        "_lines.py",
        "                if self._durable:\n",
        "                if not self._durable:\n",
        "test_audit",
    ),
    Fault(
        "the lock is given back before the line is written (§9)",
        "_lines.py",
        "            whole = -1  # bytes",
        "            self._files.unlock(fd)\n            whole = -1  # bytes",
        "test_lines test_audit",
    ),
    Fault(
        "a torn last line swallows the next one (§9)",
        "_lines.py",
        'torn = size > 0 and self._files.read_at(fd, size - 1, 1) != b"\\n"',
        "torn = False",
        "test_lines test_audit",
    ),
    Fault(
        "a write that fails leaves half a line (§9)",
        "_lines.py",
        "                    self._cut_half_line(fd, whole)\n",
        "                    pass\n",
        "test_lines",
    ),
    Fault(
        "half a line of a killed process is not told of (§9)",
        "_audit.py",
        "            if self._ends_torn(fd, size):\n",
        "            if False:\n",
        "test_audit test_check",
    ),
    Fault(
        "a change that was not made is not told (§9)",
        "_audit.py",
        "        if pending is None or pending == last_change:\n            return ()\n",
        "        return ()\n",
        "test_audit",
    ),
    Fault(
        "evictions are not recorded (§9)",
        "_memory.py",
        '*(self._ledger.record("memory.evict", caller, "write", row) for row in evicted),',
        "",
        "test_eviction test_audit",
    ),
    Fault(
        "expiry is not recorded (§9)",
        "_ledger.py",
        '[self.record("memory.expire", caller, operation, row) for row in expired]',
        "[]",
        "test_retention test_audit",
    ),
    Fault(
        "a denied access is not recorded (§9)",
        "_ledger.py",
        "        self.refuse(within, record)\n",
        "",
        "test_audit",
    ),
    Fault(
        "a commit does not remember its change id (§9)",
        "_sqlite.py",
        "        self._link.run(sql.SAVE_CHANGE, (change_id,))\n",
        "",
        "test_audit",
    ),
    Fault(
        "DO_NOT_TRACK does not turn telemetry off (§9)",
        "_telemetry.py",
        'return environ.get("DO_NOT_TRACK", "").strip().lower() in _TRACKING_ALLOWED',
        "return True",
        "test_telemetry",
    ),
    # ---- the store
    Fault(
        "a commit does not wait for the disk (§9)",
        "_sqlite_connection.py",
        "{'FULL' if durable else 'NORMAL'}",
        "{'NORMAL' if durable else 'NORMAL'}",
        "test_sqlite",
    ),
    Fault(
        "deleted values stay in the file (§10)",
        "_sqlite_connection.py",
        "PRAGMA secure_delete = ON",
        "PRAGMA secure_delete = OFF",
        "test_sqlite",
    ),
    Fault(
        "a newer format is taken as ours (§8)",
        "_sqlite_schema.py",
        "    if version > SCHEMA_VERSION:",
        "    if version > 99:",
        "test_sqlite",
    ),
    Fault(
        "a locked file is not waited for (§8)",
        "_sqlite_connection.py",
        "if not is_busy(error) or time.monotonic() >= deadline:",
        "if True:",
        "test_sqlite_connection",
    ),
    Fault(
        "a log is written through a symbolic link (§8)",
        "_files.py",
        "_CAREFUL = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK",
        "_CAREFUL = os.O_CLOEXEC | os.O_NONBLOCK",
        "test_files test_audit",
    ),
    # ---- the layers
    Fault(
        "what has no owner in agent scope is an agent's memory (layers §2)",
        "layers/_table.py",
        '"agent", True, True, True, "agent", "namespace"',
        '"agent", None, True, True, "agent", "namespace"',
        "layers/test_table",
    ),
    Fault(
        "a row of agent scope needs no namespace (layers §2)",
        "layers/_table.py",
        '        parts.append(Not(Is("namespace", "")))',
        "        parts.append(Every(()))",
        "layers/test_table",
    ),
    Fault(
        "code and SQL have different ideas of none (layers §2)",
        "layers/_condition.py",
        'return f"{row}.{field} = {_quoted(text)}"',
        'return f"{row}.{field} >= {_quoted(text)}"',
        "layers/test_table",
    ),
    Fault(
        "a prefix is judged by SQL without its end (layers §5)",
        "layers/_condition.py",
        'length({mark(name)}))"',
        'length({mark(name)}) - 1)"',
        "layers/test_visible",
    ),
    Fault(
        "without an actor everything is seen (layers §5)",
        "layers/_condition.py",
        'return asked[name] != "" and row[field] == asked[name]',
        'return asked[name] in ("", row[field])',
        "layers/test_visible",
    ),
    Fault(
        "what another wrote about himself is seen (layers §1)",
        "layers/_visible.py",
        '    "actor": _OWN,',
        '    "actor": Given("actor"),',
        "layers/test_visible",
    ),
    Fault(
        "an agent's room is seen from outside (layers §5)",
        "layers/_visible.py",
        'Every((_OWN, Not(Begins("namespace", AGENT_ROOM)))),',
        "_OWN,",
        "layers/test_visible",
    ),
    Fault(
        "a channel is open to nobody in particular (layers §5)",
        "layers/_visible.py",
        'Every((Given("actor"), Same("namespace", "channel")))',
        'Same("namespace", "channel")',
        "layers/test_visible",
    ),
    Fault(
        "the whole room of an agent is a channel (layers §5)",
        "layers/_visible.py",
        'Same("namespace", "channel")',
        'BeginsAsked("namespace", "room")',
        "layers/test_visible",
    ),
    Fault(
        "an agent whose name begins like another is inside it (layers §5)",
        "layers/_visible.py",
        'removeprefix(AGENT_NAME)}/"',
        'removeprefix(AGENT_NAME)}"',
        "layers/test_visible",
    ),
    Fault(
        "an unknown kind is seen everywhere (layers §4)",
        "layers/_visible.py",
        'Some((*(Is("kind", kind) for kind in DURABLE_KINDS), _IN_SESSION)),',
        'Some((Not(Is("kind", "scratch")), _IN_SESSION)),',
        "layers/test_visible layers/test_save",
    ),
    Fault(
        "strays are hidden from the counts (layers §2)",
        "layers/_visible.py",
        "Some((VISIBLE, STRAY))",
        "Some((VISIBLE,))",
        "layers/test_visible",
    ),
    Fault(
        "a channel's rows of mine are listed twice (layers §5)",
        "layers/_sql.py",
        " AND e.actor <> {self.mark('actor')}",
        "",
        "layers/test_visible",
    ),
    Fault(
        "a page is made of the oldest (layers §6)",
        "layers/_sql.py",
        "ORDER BY {newest} LIMIT {most}) part",
        "ORDER BY e.update_order LIMIT {most}) part",
        "layers/test_list",
    ),
    Fault(
        "the kind of a filter is not asked for (layers §6)",
        "layers/_sql.py",
        'for name in ("scope", "namespace", "kind")',
        'for name in ("scope", "namespace")',
        "layers/test_visible",
    ),
    Fault(
        "an actor in the metadata will do (layers §3)",
        "layers/_layers.py",
        "wanted = [(draft, require_actor(draft.layer, draft.actor)) for draft in drafts]",
        'wanted = [(d, d.actor or require_actor(d.layer, "x" * ("actor" in d.metadata))) for d in drafts]',
        "layers/test_save",
    ),
    Fault(
        "a consensus has an owner (layers §3)",
        "layers/_checks.py",
        "if rule.owner is False and actor:",
        "if rule.owner is None and actor:",
        "layers/test_save",
    ),
    Fault(
        "an ephemeral entry needs no session (layers §3)",
        "layers/_checks.py",
        "        if not KINDS[sort].durable:",
        "        if KINDS[sort].durable and runtime:",
        "layers/test_save",
    ),
    Fault(
        "one session replaces what only another sees (layers §6)",
        "layers/_checks.py",
        '        return self.session if bound else ""',
        '        return ""',
        "layers/test_save",
    ),
    Fault(
        "repeating a write makes it the newest (layers §6)",
        "layers/_layers.py",
        "    if stored is not None and entry == stored._replace(updated_at=now):\n        return stored, stored\n",
        "",
        "layers/test_save",
    ),
    Fault(
        "a new value under a key is a new creation (layers §6)",
        "layers/_layers.py",
        "now if stored is None else stored.created_at,",
        "now,",
        "layers/test_save",
    ),
    Fault(
        "a namespace on about_me is ignored by a clear (layers §6)",
        "layers/_checks.py",
        "    if not LAYERS[layer].namespaced:\n        if text:",
        '    if not LAYERS[layer].namespaced:\n        if text and layer == "unknown":',
        "layers/test_clear",
    ),
    Fault(
        "a clear takes all namespaces (layers §6)",
        "layers/_sql.py",
        "        if namespace is not None:\n            where +=",
        '        if namespace == "":\n            where +=',
        "layers/test_clear",
    ),
    Fault(
        "a clear is not recorded (layers, memory §9)",
        "layers/_layers.py",
        'tx, owner, (LayerRecord("memory.layer_delete", "clear", row) for row in rows)',
        'tx, owner, (LayerRecord("memory.layer_delete", "clear", row) for row in ())',
        "layers/test_clear",
    ),
    Fault(
        "a fact that is gone stays in the environment (layers §1)",
        "layers/_layers.py",
        "if row.entry_id not in kept]",
        "if row.entry_id in ()]",
        "layers/test_environment",
    ),
    Fault(
        "an old file keeps its version (layers)",
        "_sqlite_schema.py",
        "connection.execute(_UPGRADE, (SCHEMA_VERSION,))",
        "connection.execute(_UPGRADE, (version,))",
        "test_sqlite_schema",
    ),
)
