"""The memory of one agent: the rules, and the only thing that decides by them (design §6)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NoReturn

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._access import Caller, allows, refused_identity
from rotifer_engine._audit import AuditLog, Record, new_change_id
from rotifer_engine._category import EVICTION_ORDER
from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._entry import Entry, EntrySummary, entry_id
from rotifer_engine._filter import MAX_ANSWER_BYTES, parse_filter
from rotifer_engine._input import check_category, check_key, check_value
from rotifer_engine._policy import (
    DEFAULT_ACCESS,
    DEFAULT_DATA_POLICY,
    AccessPolicy,
    RetentionPolicy,
    broken_data_policy,
)
from rotifer_engine._quota import DEFAULT_QUOTA_BYTES, plan_eviction
from rotifer_engine._retention import cutoff
from rotifer_engine._store import Moment, Store, Transaction
from rotifer_engine._telemetry import Telemetry
from rotifer_engine.errors import (
    AccessDenied,
    AgentMemoryError,
    EntryNotFound,
    InvalidInput,
    QuotaExceeded,
)

__all__ = ["DEPLOYER", "AgentMemory"]

#: Who deletes from the command line: the owner of the agent, bound by no entry's policy.
DEPLOYER = Caller("deployer", None)

_PURGE_BATCH = 1_000
_PAGE = 500


class AgentMemory:
    """One agent's memory: the four calls of genes, and the deployer's list and delete.

    It holds no state of its own, so threads may share it, and every process that opens the same
    store sees the same memory.

    Args:
        store: where entries are kept.
        agent_id: the agent's id.
        quota_bytes: how many bytes of keys and values it may hold.
        data_policy: the agent's data policy.
        audit: where every change and every refusal is written.
        telemetry: where denied accesses are written too.
        clock: gives the time.
    """

    def __init__(
        self,
        store: Store,
        agent_id: str,
        *,
        quota_bytes: int = DEFAULT_QUOTA_BYTES,
        data_policy: RetentionPolicy = DEFAULT_DATA_POLICY,
        audit: AuditLog,
        telemetry: Telemetry,
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self.agent_id = agent_id
        self.quota_bytes = quota_bytes
        self.data_policy = data_policy
        self._audit = audit
        self._telemetry = telemetry
        self._clock = clock or SystemClock()

    # ---- the four calls (memory §5)

    def read(self, caller: Caller, key: object, category: object = ABSENT) -> Entry | None:
        """The entry with this key, or None when there is none, or none of this category.

        Raises:
            InvalidInput: bad key or category.
            AccessDenied: the entry is there and this gene may not read it.
            StorageError: the store or the audit log failed.
        """
        check_key(key)
        assert isinstance(key, str)
        if not isinstance(category, Absent):
            check_category(category)
        self._identify(caller, "read", key)
        moment = self._moment()
        found = self._store.read(self.agent_id, key, moment)
        if found.expired:
            self._purge(caller, "read", moment)
        entry = found.entry
        if entry is None:
            return None
        access = entry.access_policy
        if not allows(access.read_scope, entry.created_by, entry.created_domain, caller):
            self._deny(caller, "read", f"readScope is {access.read_scope}", key, entry.category)
        if not isinstance(category, Absent) and category != entry.category:
            return None
        if entry.last_accessed_by != caller.gene_id:
            assert caller.gene_id is not None
            self._store.touch(self.agent_id, entry, caller.gene_id)
            entry = entry._replace(last_accessed_by=caller.gene_id)
        return entry

    def write(
        self,
        caller: Caller,
        key: object,
        value: object,
        category: object,
        access_policy: object = ABSENT,
        retention_policy: object = ABSENT,
    ) -> Entry:
        """Create the entry, or replace its value and category; the entry as it is stored.

        Args:
            caller: who writes.
            key: the entry's name.
            value: bytes, at most 1,048,576.
            category: one of the four.
            access_policy: absent: the defaults, or what is stored.
            retention_policy: absent: the same; None: follow the agent's data policy.

        Raises:
            InvalidInput: bad key, value, category or policy.
            AccessDenied: this gene may not write the entry, or not change its policy, or the
                agent's data policy forbids it; nothing is written.
            QuotaExceeded: no room even after eviction; nothing is written and nothing removed.
            StorageError: the store or the audit log failed; nothing is written.
        """
        encoded = check_key(key)
        assert isinstance(key, str)
        content = check_value(value)
        kind = check_category(category)
        access = None if isinstance(access_policy, Absent) else AccessPolicy.parse(access_policy)
        retention: RetentionPolicy | Absent | None = ABSENT
        if retention_policy is None:
            retention = None
        elif not isinstance(retention_policy, Absent):
            retention = RetentionPolicy.parse(retention_policy)
        size = len(encoded) + len(content)
        self._identify(caller, "write", key, kind, size)
        assert caller.gene_id is not None
        moment = self._moment()
        with self._begin(caller, "write", moment) as tx:
            stored = tx.find(key)
            reason = _why_not_write(caller, stored, access, retention, self.data_policy)
            if reason is not None:
                self._deny_within(tx, caller, "write", reason, key, kind, size)
            if stored is None:
                entry = Entry(
                    entry_id(self.agent_id, encoded),
                    kind,
                    key,
                    content,
                    caller.gene_id,
                    caller.domain,
                    caller.gene_id,
                    moment.now,
                    moment.now,
                    access or DEFAULT_ACCESS,
                    None if isinstance(retention, Absent) else retention,
                    tx.order + 1,
                )
            else:
                entry = Entry(
                    stored.entry_id,
                    kind,
                    key,
                    content,
                    stored.created_by,
                    stored.created_domain,
                    caller.gene_id,
                    stored.created_at,
                    moment.now,
                    access or stored.access_policy,
                    stored.retention_policy if isinstance(retention, Absent) else retention,
                    tx.order + 1,
                )
            evicted = self._make_room(tx, caller, entry, stored)
            for row in evicted:
                tx.remove(row)
            tx.put(entry, stored)
            action = "memory.create" if stored is None else "memory.update"
            self._commit(
                tx,
                [
                    *(self._record("memory.evict", caller, "write", row) for row in evicted),
                    self._record(action, caller, "write", entry),
                ],
            )
        return entry

    def query(self, caller: Caller, filter: object = ABSENT) -> list[Entry]:  # noqa: A002 - the call's word
        """The entries this gene may read that meet every filter, most recently updated first.

        Args:
            caller: who asks.
            filter: a mapping with any of ``category``, ``keyPrefix``, ``since``, ``until``,
                ``limit``; absent: everything, at most 100.

        Raises:
            InvalidInput: a bad filter, or keys and values of the answer over 4 MiB.
            AccessDenied: the caller has no v2 id.
            StorageError: the store or the audit log failed.
        """
        selection = parse_filter(filter)
        self._identify(caller, "query")
        moment = self._moment()
        if self._store.has_expired(self.agent_id, moment):
            self._purge(caller, "query", moment)
        answer: list[Entry] = []
        total = 0
        for entry in self._store.select(self.agent_id, caller, selection, moment):
            total += entry.size
            if total > MAX_ANSWER_BYTES:
                raise InvalidInput(
                    f"the answer's keys and values are {total:,} bytes or more after "
                    f"{len(answer) + 1:,} entries; the limit is {MAX_ANSWER_BYTES:,}: lower "
                    "limit or narrow the filter"
                )
            answer.append(entry)
        return answer

    def delete(self, caller: Caller, key: object) -> None:
        """Delete the entry.

        Raises:
            InvalidInput: bad key.
            EntryNotFound: there is no such live entry.
            AccessDenied: this gene may not write the entry.
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        check_key(key)
        assert isinstance(key, str)
        self._identify(caller, "delete", key)
        with self._begin(caller, "delete", self._moment()) as tx:
            stored = tx.find(key)
            if stored is None:
                raise EntryNotFound(_not_found(key))
            access = stored.access_policy
            if not allows(access.write_scope, stored.created_by, stored.created_domain, caller):
                reason = f"writeScope is {access.write_scope}"
                self._deny_within(tx, caller, "delete", reason, key, stored.category, stored.size)
            tx.remove(stored)
            self._commit(tx, [self._record("memory.delete", caller, "delete", stored)])

    def deny(
        self, caller: Caller, op: str, key: object = None, reason: str = "not allowed"
    ) -> NoReturn:
        """Record a denied access and raise it: for a handle used outside its run.

        Args:
            caller: who called, as far as the door knows.
            op: ``read``, ``write``, ``query`` or ``delete``.
            key: the key it asked for; recorded only if it is a valid one.
            reason: what the gene is told.

        Raises:
            AccessDenied: always, unless
            StorageError: the audit log could not be written.
        """
        try:
            check_key(key)
        except InvalidInput:
            key = None
        assert key is None or isinstance(key, str)
        self._deny(caller, op, reason, key)

    # ---- the deployer's view (memory §10)

    def list(self, category: object = ABSENT) -> Iterator[EntrySummary]:
        """Every live entry in the order of the keys' bytes, without values, one at a time.

        Args:
            category: only this one; absent or None: all.

        Raises:
            InvalidInput: an unknown category.
            StorageError: the store or the audit log failed.
        """
        kind = _optional_category(category)
        moment = self._moment()
        if self._store.has_expired(self.agent_id, moment):
            self._purge(DEPLOYER, "list", moment)
        return self._pages(kind, moment)

    def _pages(self, category: str | None, moment: Moment) -> Iterator[EntrySummary]:
        after: str | None = None
        while page := self._store.page(self.agent_id, category, after, _PAGE, moment):
            yield from page
            after = page[-1].key

    def usage(self) -> int:
        """Bytes of the keys and values of all live entries (memory §6)."""
        return self._store.usage(self.agent_id, self._moment())

    def delete_key(self, key: object) -> int:
        """Delete one entry as the deployer, whatever its policy; how many that were: 1.

        Raises:
            InvalidInput: bad key.
            EntryNotFound: there is no such live entry.
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        check_key(key)
        assert isinstance(key, str)
        with self._begin(DEPLOYER, "delete", self._moment()) as tx:
            stored = tx.find(key)
            if stored is None:
                raise EntryNotFound(_not_found(key))
            tx.remove(stored)
            self._commit(tx, [self._record("memory.delete", DEPLOYER, "delete", stored)])
        self._store.scrub()
        return 1

    def delete_category(self, category: object) -> int:
        """Delete all entries of a category as the deployer; how many that were.

        Raises:
            InvalidInput: an unknown category.
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        kind = check_category(category)
        with self._begin(DEPLOYER, "delete", self._moment()) as tx:
            rows = list(tx.candidates(kind))
            if not rows:
                return 0
            for row in rows:
                tx.remove(row)
            self._commit(
                tx, (self._record("memory.delete", DEPLOYER, "delete", row) for row in rows)
            )
        self._store.scrub()
        return len(rows)

    # ---- what the calls share

    def _moment(self) -> Moment:
        now = self._clock.now_ms()
        return Moment(now, cutoff(now, self.data_policy))

    def _record(
        self, action: str, caller: Caller, operation: str, row: Entry | EntrySummary
    ) -> Record:
        return Record(
            action,
            self.agent_id,
            caller.gene_id,
            caller.domain,
            operation,
            row.entry_id,
            row.key,
            row.category,
            row.size,
        )

    def _begin(self, caller: Caller, operation: str, moment: Moment) -> Transaction:
        """A transaction that sees live entries only.

        What has expired is purged by transactions of their own before it: it is gone whatever
        becomes of the call, and its lines must not share the fate of the call's.
        """
        while True:
            tx = self._store.begin(self.agent_id)
            try:
                expired = tx.expired(moment, _PURGE_BATCH)
                if not expired:
                    return tx
                for row in expired:
                    tx.remove(row)
                self._commit(
                    tx, [self._record("memory.expire", caller, operation, row) for row in expired]
                )
            except BaseException:
                tx.__exit__(None, None, None)
                raise
            tx.__exit__(None, None, None)

    def _purge(self, caller: Caller, operation: str, moment: Moment) -> None:
        with self._begin(caller, operation, moment):
            pass

    def _make_room(
        self, tx: Transaction, caller: Caller, entry: Entry, stored: EntrySummary | None
    ) -> Iterable[EntrySummary]:
        """What must go for the entry to fit; decided in full before anything is removed."""
        size = entry.size
        after = tx.used - (0 if stored is None else stored.size) + size
        excess = after - self.quota_bytes
        evicted = None
        if size <= self.quota_bytes:
            evicted = plan_eviction(
                excess,
                (
                    (row, row.size)
                    for row in itertools.chain.from_iterable(map(tx.candidates, EVICTION_ORDER))
                    if row.key != entry.key
                ),
            )
        if evicted is None:
            record = self._record("memory.quota_exceeded", caller, "write", entry)
            self._append(tx, [record])
            raise QuotaExceeded(
                f"the entry is {size:,} bytes (key and value) and would bring the memory to "
                f"{after:,} bytes; the quota is {self.quota_bytes:,}, and evicting cannot make "
                "enough room: delete entries or raise the quota"
            )
        return evicted

    def _append(self, tx: Transaction, records: Iterable[Record]) -> str:
        change_id = new_change_id(tx.store_id)
        self._audit.append(records, change_id=change_id, last_change=tx.last_change)
        return change_id

    def _commit(self, tx: Transaction, records: Iterable[Record]) -> None:
        """Write the lines, then make the change: no line, no change (memory §9)."""
        change_id = self._append(tx, records)
        try:
            tx.commit(change_id)
        except AgentMemoryError:
            tx.__exit__(None, None, None)
            self._settle()
            raise

    def _settle(self) -> None:
        """Say in the log that the last change was not made; if not now, the next append does."""
        try:
            with self._store.begin(self.agent_id) as tx:
                self._append(tx, ())
        except AgentMemoryError:
            return

    # ---- refusals

    def _identify(
        self,
        caller: Caller,
        operation: str,
        key: str | None = None,
        category: str | None = None,
        size: int | None = None,
    ) -> None:
        reason = refused_identity(caller)
        if reason is not None:
            self._deny(caller, operation, reason, key, category, size)

    def _deny(
        self,
        caller: Caller,
        operation: str,
        reason: str,
        key: str | None = None,
        category: str | None = None,
        size: int | None = None,
    ) -> NoReturn:
        with self._store.begin(self.agent_id) as tx:
            self._deny_within(tx, caller, operation, reason, key, category, size)

    def _deny_within(
        self,
        tx: Transaction,
        caller: Caller,
        operation: str,
        reason: str,
        key: str | None,
        category: str | None,
        size: int | None,
    ) -> NoReturn:
        """Record a refusal under the write lock, so that it stands in the order of the changes."""
        identity = None if key is None else entry_id(self.agent_id, key.encode())
        record = Record(
            "memory.denied",
            self.agent_id,
            caller.gene_id,
            caller.domain,
            operation,
            identity,
            key,
            category,
            size,
            reason,
        )
        self._append(tx, [record])
        self._telemetry.denied(
            agent_id=self.agent_id,
            gene_id=caller.gene_id,
            gene_domain=caller.domain,
            operation=operation,
            entry_id=identity,
        )
        raise AccessDenied(f"{operation}{'' if key is None else f' of {ascii(key)}'}: {reason}")


def _not_found(key: str) -> str:
    return f"there is no entry with the key {ascii(key)}"


def _optional_category(category: object) -> str | None:
    if category is None or isinstance(category, Absent):
        return None
    return check_category(category)


def _why_not_write(
    caller: Caller,
    stored: EntrySummary | None,
    access: AccessPolicy | None,
    retention: RetentionPolicy | Absent | None,
    data: RetentionPolicy,
) -> str | None:
    """Why this write is denied; None when it is not (memory §4, §5).

    A policy equal to the stored one is no change, so it is judged neither against the creator
    rule nor anew against the data policy.
    """
    if stored is not None:
        scope = stored.access_policy.write_scope
        if not allows(scope, stored.created_by, stored.created_domain, caller):
            return f"writeScope is {scope}"
        if access == stored.access_policy:
            access = None
        if retention == stored.retention_policy:
            retention = ABSENT
        changes = access is not None or not isinstance(retention, Absent)
        if changes and caller.gene_id != stored.created_by:
            return "only the gene that created the entry may change its policies"
    return broken_data_policy(access, None if isinstance(retention, Absent) else retention, data)
