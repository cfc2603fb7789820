"""What the deployer may do with an agent's memory, bound by no entry's policy (memory §10)."""

from __future__ import annotations

from collections.abc import Iterator

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._access import Caller
from rotifer_engine._audit import Record
from rotifer_engine._input import check_category, check_key
from rotifer_engine._retention import Moment, moment_of
from rotifer_engine.errors import EntryNotFound
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import BinaryIO

    from rotifer_engine._check import Report
    from rotifer_engine._clock import Clock
    from rotifer_engine._entry import EntrySummary
    from rotifer_engine._import import Imported
    from rotifer_engine._ledger import Ledger
    from rotifer_engine._move import Moved
    from rotifer_engine._policy import RetentionPolicy
    from rotifer_engine._trail import Trail
    from rotifer_engine._transfer import Exported

__all__ = ["DEPLOYER", "DeployerView", "Erased", "not_found"]

#: Who acts from the command line: the owner of the agent.
DEPLOYER = Caller("deployer", None)

_PAGE = 500


class Erased(NamedTuple):
    """What became of a memory that was erased.

    Args:
        entries: how many entries it had.
        clean: whether the deleted values are in none of the store's files any more; False while
            another process uses them.
    """

    entries: int
    clean: bool


class DeployerView:
    """The part of :class:`rotifer_engine.AgentMemory` that is for the agent's owner.

    Args:
        ledger: the agent's store and records.
        quota_bytes: how many bytes of keys and values it may hold.
        data_policy: the agent's data policy.
        clock: gives the time.
    """

    def __init__(
        self, ledger: Ledger, *, quota_bytes: int, data_policy: RetentionPolicy, clock: Clock
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._clock = clock
        self.agent_id = ledger.agent_id
        self.quota_bytes = quota_bytes
        self.data_policy = data_policy

    def _moment(self) -> Moment:
        return moment_of(self._clock.now_ms(), self.data_policy)

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
            self._ledger.purge(DEPLOYER, "list", moment)
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
        tx, _ = self._ledger.begin(DEPLOYER, "delete", self._moment)
        with tx:
            stored = tx.find(key)
            if stored is None:
                raise EntryNotFound(not_found(key))
            tx.remove(stored)
            self._ledger.commit(
                tx, [self._ledger.record("memory.delete", DEPLOYER, "delete", stored)]
            )
        self._store.scrub()
        return 1

    def delete_category(self, category: object) -> int:
        """Delete all entries of a category as the deployer; how many that were.

        Raises:
            InvalidInput: an unknown category.
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        kind = check_category(category)
        tx, _ = self._ledger.begin(DEPLOYER, "delete", self._moment)
        with tx:
            rows = list(tx.candidates(kind))
            if not rows:
                return 0
            for row in rows:
                tx.remove(row)
            self._ledger.commit(
                tx, (self._ledger.record("memory.delete", DEPLOYER, "delete", row) for row in rows)
            )
        self._store.scrub()
        return len(rows)

    def erase(self) -> Erased:
        """Delete everything as the deployer, for good; again does nothing but look to the files.

        Raises:
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        tx, _ = self._ledger.begin(DEPLOYER, "erase", self._moment)
        entries = 0

        def records() -> Iterator[Record]:
            nonlocal entries
            for row in tx.rows_after(0):
                entries += 1
                yield self._ledger.record("memory.delete", DEPLOYER, "erase", row)
            yield Record("memory.erase", self.agent_id, DEPLOYER.gene_id, operation="erase")

        with tx:
            if tx.order:  # it rises with the first entry
                self._ledger.commit(tx, records(), last=tx.remove_all)
        return Erased(entries, self._store.scrub())

    # ---- moving, looking after

    def export_to(self, file: BinaryIO, *, with_cache: bool = False) -> Exported:
        """Write all live entries into a file that :meth:`import_from` reads (memory §11).

        Those of one moment, least recently updated first. It changes and records nothing.

        Args:
            file: open for writing bytes; not closed.
            with_cache: also the category CACHE, which may be left behind.

        Raises:
            StorageError: the store failed; what was written is not whole.
        """
        from rotifer_engine._transfer import write_entries

        moment = self._moment()
        with self._store.snapshot() as snapshot:
            return write_entries(file, snapshot, self.agent_id, moment, with_cache=with_cache)

    def import_from(self, file: BinaryIO, *, replace: bool = False) -> Imported:
        """Take all entries of an export, or none of them; nothing is evicted for it (memory §11).

        Other writers wait until it is done. Entries whose time is over are left out.

        Args:
            file: open for reading bytes; not closed.
            replace: an entry of the file takes the place of one with its key, as a whole; without
                it, a key that is there already refuses the import.

        Raises:
            InvalidInput: a line breaks a rule, or its key is there already; the message has the
                line's number.
            AccessDenied: the agent's data policy forbids an entry.
            QuotaExceeded: the entries would not fit.
            StorageError: the store or the audit log failed.
        """
        from rotifer_engine._import import import_entries

        return import_entries(
            self._ledger,
            file,
            replace=replace,
            quota_bytes=self.quota_bytes,
            data_policy=self.data_policy,
            moment=self._moment,
        )

    def move_to(self, other: DeployerView, *, replace: bool = False) -> Moved:
        """Carry everything to the same agent's memory in another store (memory §11).

        Ids, creators, times, policies, update order and usage stay; the records of the past do
        not go along. Writers of this store wait until it is done, then find an empty memory.
        Where it was interrupted, calling it again finishes it.

        Args:
            other: the memory of the agent in the other store.
            replace: delete what the other store has of the agent, and is not the same.

        Raises:
            InvalidInput: the other store is this one, or has entries that are not the same.
            StorageError: a store or an audit log failed; one of the two has everything still.
        """
        from rotifer_engine._move import move_entries

        return move_entries(self._ledger, other._ledger, replace=replace, moment=self._moment)

    def check(self) -> Report:
        """Look for what should not be in the database, in the entries and in the audit log.

        It changes nothing. A store that cannot be read is a finding, not an error.
        """
        from rotifer_engine._check import check_memory

        return check_memory(self._ledger)

    def trail(self) -> Trail:
        """The audit log's lines about this agent, and those to come; to be closed.

        From a file, only what is in it as it is named now: not what was rotated away.
        """
        return self._ledger.audit.trail(self.agent_id)

    def followers(self, data_policy: RetentionPolicy) -> tuple[int, int]:
        """Live entries that follow the agent, and how many of them are gone under another policy.

        Args:
            data_policy: the policy that the agent may get.
        """
        now, cutoff = self._moment()
        return self._store.followers(self.agent_id, cutoff, moment_of(now, data_policy).cutoff)


def not_found(key: str) -> str:
    """The message for a key that is not there."""
    return f"there is no entry with the key {key!a}"


def _optional_category(category: object) -> str | None:
    if category is None or isinstance(category, Absent):
        return None
    return check_category(category)
