"""What the deployer may do with an agent's memory, bound by no entry's policy (memory §10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._access import Caller
from rotifer_engine._input import check_category, check_key
from rotifer_engine._retention import Moment, moment_of
from rotifer_engine.errors import EntryNotFound

if TYPE_CHECKING:
    from rotifer_engine._clock import Clock
    from rotifer_engine._entry import EntrySummary
    from rotifer_engine._ledger import Ledger
    from rotifer_engine._policy import RetentionPolicy

__all__ = ["DEPLOYER", "DeployerView", "not_found"]

#: Who acts from the command line: the owner of the agent.
DEPLOYER = Caller("deployer", None)

_PAGE = 500


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


def not_found(key: str) -> str:
    """The message for a key that is not there."""
    return f"there is no entry with the key {key!a}"


def _optional_category(category: object) -> str | None:
    if category is None or isinstance(category, Absent):
        return None
    return check_category(category)
