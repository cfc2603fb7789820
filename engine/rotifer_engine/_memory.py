"""The memory of one agent: the rules, and the only thing that decides by them (design §6)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._access import Caller, allows, refused_identity
from rotifer_engine._category import EVICTION_ORDER
from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._deployer import DeployerView, not_found
from rotifer_engine._entry import Entry, EntrySummary
from rotifer_engine._filter import MAX_ANSWER_BYTES, parse_filter
from rotifer_engine._input import check_category, check_key
from rotifer_engine._ledger import Asked, Ledger
from rotifer_engine._policy import DEFAULT_DATA_POLICY, RetentionPolicy
from rotifer_engine._quota import DEFAULT_QUOTA_BYTES, plan_eviction
from rotifer_engine._writing import Wish, Write, checked_wish, entry_after, why_not_write
from rotifer_engine.errors import (
    AgentMemoryError,
    EntryNotFound,
    InvalidInput,
    QuotaExceeded,
)

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import NoReturn

    from rotifer_engine._audit import Audit, Record
    from rotifer_engine._retention import Moment
    from rotifer_engine._store import Store, Transaction
    from rotifer_engine._telemetry import Telemetry

__all__ = ["AgentMemory"]


class AgentMemory(DeployerView):
    """One agent's memory: the four calls of genes, and what the deployer may do with it.

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

    Raises:
        InvalidInput: the agent's id is empty, or has a NUL, which parts it from the key in an
            entry's id.
    """

    def __init__(
        self,
        store: Store,
        agent_id: str,
        *,
        quota_bytes: int = DEFAULT_QUOTA_BYTES,
        data_policy: RetentionPolicy = DEFAULT_DATA_POLICY,
        audit: Audit,
        telemetry: Telemetry,
        clock: Clock | None = None,
    ) -> None:
        if not agent_id or "\0" in agent_id:
            raise InvalidInput("an agent's id is not empty and has no NUL character")
        super().__init__(
            Ledger(agent_id, store, audit, telemetry),
            quota_bytes=quota_bytes,
            data_policy=data_policy,
            clock=clock or SystemClock(),
        )

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
        refused = refused_identity(caller)
        if refused is not None:
            self._ledger.deny(caller, "read", refused, Asked(key))
        moment = self._moment()
        entry, due = self._store.read(self.agent_id, key, moment)
        if due:
            self._ledger.purge(caller, "read", moment)
        if entry is None:
            return None
        access = entry.access_policy
        if not allows(access.read_scope, entry.created_by, entry.created_domain, caller):
            reason = f"readScope is {access.read_scope}"
            self._ledger.deny(caller, "read", reason, Asked(key, entry.category, entry.size))
        if not isinstance(category, Absent) and category != entry.category:
            return None
        if entry.last_accessed_by != caller.gene_id:
            assert caller.gene_id is not None
            self._store.touch(self.agent_id, entry, caller.gene_id)
            entry = entry._replace(last_accessed_by=caller.gene_id)
        return entry

    def write(  # noqa: PLR0917 - the order of the memory page's writeMemory
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
        wish = checked_wish(key, value, category, access_policy, retention_policy)
        asked = Asked(wish.key, wish.category, wish.size)
        refused = refused_identity(caller)
        if refused is not None:
            self._ledger.deny(caller, "write", refused, asked)
        tx, moment = self._ledger.begin(caller, "write", self._moment)
        with tx:
            stored = tx.find(wish.key)
            refused = why_not_write(caller, stored, wish, self.data_policy)
            if refused is not None:
                self._ledger.deny(caller, "write", refused, asked, within=tx)
            entry = self._entry_after(tx, caller, stored, wish, moment)
            evicted = self._make_room(tx, caller, entry, stored)
            self._ledger.commit(tx, self._put(tx, caller, entry, stored, evicted))
        return entry

    def write_each(self, wanted: Sequence[Write]) -> list[Entry | AgentMemoryError]:
        """Write several entries, in one transaction as far as nothing is refused.

        What waits for the disk is waited for once, so many that write at the same time wait little
        longer than one does. It is as if they had written one after the other: each is judged for
        itself, and one that is refused is judged again, and recorded, after those that are not.

        Args:
            wanted: the arguments of as many calls of :meth:`write`.

        Returns:
            For each, in order, the entry as it is stored, or what :meth:`write` would have raised.
        """
        outcome: list[Entry | AgentMemoryError | None] = [None] * len(wanted)
        wishes: list[tuple[int, Caller, Wish]] = []
        for number, (caller, *arguments) in enumerate(wanted):
            try:
                wish = checked_wish(*arguments)
            except InvalidInput as error:
                outcome[number] = error
            else:
                if refused_identity(caller) is None:
                    wishes.append((number, caller, wish))
        try:
            for number, entry in self._write_together(wishes):
                outcome[number] = entry
        except AgentMemoryError as error:  # none of them was made
            for number, _, _ in wishes:
                outcome[number] = error
        for number, one in enumerate(wanted):
            if outcome[number] is None:
                try:
                    outcome[number] = self.write(*one)
                except AgentMemoryError as error:
                    outcome[number] = error
        return [found for found in outcome if found is not None]

    def _write_together(
        self, wishes: Sequence[tuple[int, Caller, Wish]]
    ) -> list[tuple[int, Entry]]:
        """Make those of the changes that nothing is against, all of them or none."""
        made: list[tuple[int, Entry]] = []
        if not wishes:
            return made
        records: list[Record] = []
        tx, moment = self._ledger.begin(wishes[0][1], "write", self._moment)
        with tx:
            for number, caller, wish in wishes:
                stored = tx.find(wish.key)
                if why_not_write(caller, stored, wish, self.data_policy) is not None:
                    continue
                entry = self._entry_after(tx, caller, stored, wish, moment)
                _, evicted = self._room_for(tx, entry, stored)
                if evicted is not None:
                    records += self._put(tx, caller, entry, stored, evicted)
                    made.append((number, entry))
            if made:
                self._ledger.commit(tx, records)
        return made

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
        refused = refused_identity(caller)
        if refused is not None:
            self._ledger.deny(caller, "query", refused, Asked())
        moment = self._moment()
        if self._store.has_expired(self.agent_id, moment):
            self._ledger.purge(caller, "query", moment)
        answer: list[Entry] = []
        total = 0
        entries = self._store.select(self.agent_id, caller, selection, moment)
        try:
            for entry in entries:
                total += entry.size
                if total > MAX_ANSWER_BYTES:
                    raise InvalidInput(
                        f"the first {len(answer) + 1:,} entries of the answer have {total:,} bytes "
                        f"of keys and values; the limit is {MAX_ANSWER_BYTES:,}: lower limit or "
                        "narrow the filter"
                    )
                answer.append(entry)
        finally:
            entries.close()  # or the error would keep the read of the store open
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
        refused = refused_identity(caller)
        if refused is not None:
            self._ledger.deny(caller, "delete", refused, Asked(key))
        tx, _ = self._ledger.begin(caller, "delete", self._moment)
        with tx:
            stored = tx.find(key)
            if stored is None:
                raise EntryNotFound(not_found(key))
            access = stored.access_policy
            if not allows(access.write_scope, stored.created_by, stored.created_domain, caller):
                reason = f"writeScope is {access.write_scope}"
                asked = Asked(key, stored.category, stored.size)
                self._ledger.deny(caller, "delete", reason, asked, within=tx)
            tx.remove(stored)
            self._ledger.commit(
                tx, [self._ledger.record("memory.delete", caller, "delete", stored)]
            )

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
        self._ledger.deny(caller, op, reason, Asked(key))

    # ---- what the calls share

    def _entry_after(
        self,
        tx: Transaction,
        caller: Caller,
        stored: EntrySummary | None,
        wish: Wish,
        moment: Moment,
    ) -> Entry:
        """The entry as the wish has it."""
        gene_id = caller.gene_id
        assert gene_id is not None
        return entry_after(
            self.agent_id,
            gene_id,
            caller.domain,
            stored,
            wish,
            now=moment.now,
            order=tx.order + 1,
        )

    def _put(
        self,
        tx: Transaction,
        caller: Caller,
        entry: Entry,
        stored: EntrySummary | None,
        evicted: Iterable[EntrySummary],
    ) -> list[Record]:
        """Put the entry in the place of what goes; the lines that say so."""
        for row in evicted:
            tx.remove(row)
        tx.put(entry, stored)
        action = "memory.create" if stored is None else "memory.update"
        return [
            *(self._ledger.record("memory.evict", caller, "write", row) for row in evicted),
            self._ledger.record(action, caller, "write", entry),
        ]

    def _make_room(
        self, tx: Transaction, caller: Caller, entry: Entry, stored: EntrySummary | None
    ) -> list[EntrySummary]:
        """What must go for the entry to fit; refused when there is no room."""
        after, evicted = self._room_for(tx, entry, stored)
        if evicted is None:
            record = self._ledger.record("memory.quota_exceeded", caller, "write", entry)
            self._ledger.refuse(tx, record)
            raise QuotaExceeded(
                f"the entry is {entry.size:,} bytes (key and value) and would bring the memory to "
                f"{after:,} bytes; the quota is {self.quota_bytes:,}, and evicting cannot make "
                "enough room: delete entries or raise the quota"
            )
        return evicted

    def _room_for(
        self, tx: Transaction, entry: Entry, stored: EntrySummary | None
    ) -> tuple[int, list[EntrySummary] | None]:
        """The usage with the entry, and what must go for it; decided before anything is removed."""
        size = entry.size
        after = tx.used - (0 if stored is None else stored.size) + size
        excess = after - self.quota_bytes
        if size > self.quota_bytes:
            return after, None
        return after, plan_eviction(
            excess,
            (
                (row, row.size)
                for row in itertools.chain.from_iterable(map(tx.candidates, EVICTION_ORDER))
                if row.key != entry.key
            ),
        )
