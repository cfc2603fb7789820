"""Transactions and their records: no change without its line, no refusal without one (memory §9).

The order is always the same. The store's write lock is taken; what has expired is purged; the
lines are written and are on the disk; only then is the change committed. A refusal is recorded
under the same lock, so that it stands in the log where it stands among the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rotifer_engine._access import Caller
from rotifer_engine._audit import Record, new_change_id
from rotifer_engine._change import commit_change
from rotifer_engine._entry import Entry, EntrySummary, entry_id
from rotifer_engine.errors import AccessDenied
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import NoReturn

    from rotifer_engine._audit import Audit
    from rotifer_engine._retention import Moment
    from rotifer_engine._store import Store, Transaction
    from rotifer_engine._telemetry import Telemetry

__all__ = ["Asked", "Ledger"]

_PURGE_BATCH = 1_000


class Asked(NamedTuple):
    """Which entry a refused call was about.

    Args:
        key: its key; None for a query.
        category: its category, or the one that a write asked for.
        size: its size, or the one that a write asked for.
    """

    key: str | None = None
    category: str | None = None
    size: int | None = None


class Ledger:
    """One agent's store and records, used together so that they agree.

    Args:
        agent_id: the agent.
        store: where its entries are.
        audit: where every change and every refusal is written.
        telemetry: where denied accesses are written too.
    """

    def __init__(self, agent_id: str, store: Store, audit: Audit, telemetry: Telemetry) -> None:
        self.agent_id = agent_id
        self.store = store
        self.audit = audit
        self._telemetry = telemetry

    def begin(
        self, caller: Caller, operation: str, moment: Callable[[], Moment]
    ) -> tuple[Transaction, Moment]:
        """A transaction that sees live entries only, and the moment at which it has the lock.

        What has expired is purged by transactions of its own before it: it is gone whatever
        becomes of the call, and its lines must not share the fate of the call's.

        Args:
            caller: whose call it is.
            operation: which call.
            moment: asked once the lock is held, so that times rise with the update order.
        """
        while True:
            tx = self.store.begin(self.agent_id)
            try:
                now = moment()
                expired = tx.expired(now, _PURGE_BATCH)
                if not expired:
                    return tx, now
                for row in expired:
                    tx.remove(row)
                self.commit(
                    tx, [self.record("memory.expire", caller, operation, row) for row in expired]
                )
            except BaseException:
                tx.rollback()
                raise
            tx.rollback()

    def purge(self, caller: Caller, operation: str, moment: Moment) -> None:
        """Remove what has expired, one line each."""
        tx, _ = self.begin(caller, operation, lambda: moment)
        tx.rollback()

    def record(
        self, action: str, caller: Caller, operation: str, row: Entry | EntrySummary
    ) -> Record:
        """The record of something that happens to an entry."""
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

    def refuse(self, tx: Transaction, record: Record) -> None:
        """Write the line of a refusal; what the transaction changed until here is given up."""
        self.audit.refuse(tx, [record], change_id=new_change_id(tx.store_id))

    def commit(
        self,
        tx: Transaction,
        records: Iterable[Record],
        last: Callable[[], None] | None = None,
    ) -> None:
        """Write the lines, then make the change: no line, no change.

        Args:
            tx: the transaction.
            records: its lines; they may be read from it one at a time.
            last: what is still to be done in it when the lines have been written.

        Raises:
            StorageError: either failed; what became of the change is in the log by the next
                recorded action.
        """
        commit_change(self.audit, lambda: self.store.begin(self.agent_id), tx, records, last)

    def deny(
        self,
        caller: Caller,
        operation: str,
        reason: str,
        asked: Asked,
        within: Transaction | None = None,
    ) -> NoReturn:
        """Record a denied access in both files, then raise it.

        Args:
            caller: who asked.
            operation: what for.
            reason: why not.
            asked: for which entry.
            within: the transaction that is under way, which holds the write lock.

        Raises:
            AccessDenied: always, unless
            StorageError: the audit log could not be written.
        """
        if within is None:
            with self.store.begin(self.agent_id) as tx:
                self.deny(caller, operation, reason, asked, within=tx)
        key = asked.key
        identity = None if key is None else entry_id(self.agent_id, key.encode())
        record = Record(
            "memory.denied",
            self.agent_id,
            caller.gene_id,
            caller.domain,
            operation,
            identity,
            *asked,
            reason,
        )
        self.refuse(within, record)
        self._telemetry.denied(
            agent_id=self.agent_id,
            gene_id=caller.gene_id,
            gene_domain=caller.domain,
            operation=operation,
            entry_id=identity,
        )
        what = operation if key is None else f"{operation} of {key!a}"
        raise AccessDenied(f"{what}: {reason}")
