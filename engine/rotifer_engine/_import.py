"""Taking an export into a memory: all of it or nothing, and nothing is evicted for it.

The entries come after those that are there, in the order of the file: they are the most recently
updated ones **[ours]**. Creator, times and policies are the file's; the quota and the data policy
are those of the agent that takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine._audit import Record
from rotifer_engine._deployer import DEPLOYER
from rotifer_engine._ledger import Asked, Ledger
from rotifer_engine._policy import broken_data_policy
from rotifer_engine._retention import Moment, is_expired
from rotifer_engine._transfer import read_entries
from rotifer_engine.errors import AccessDenied, InvalidInput, QuotaExceeded

if TYPE_CHECKING:
    from typing import BinaryIO

    from rotifer_engine._entry import Entry, EntrySummary
    from rotifer_engine._policy import RetentionPolicy
    from rotifer_engine._store import Transaction

__all__ = ["Imported", "import_entries"]


class Imported(NamedTuple):
    """What became of the entries of a file.

    Args:
        created: how many are new.
        replaced: how many took the place of an entry with their key.
        expired: how many were left out, because their time was over.
        size: bytes of the keys and values that were taken.
    """

    created: int
    replaced: int
    expired: int
    size: int


def import_entries(
    ledger: Ledger,
    file: BinaryIO,
    *,
    replace: bool,
    quota_bytes: int,
    data_policy: RetentionPolicy,
    moment: Callable[[], Moment],
) -> Imported:
    """Take all entries of a file, in one transaction; see ``AgentMemory.import_from``."""
    tx, now = ledger.begin(DEPLOYER, "import", moment)
    with tx:
        work = _Work(ledger, tx, replace=replace, data_policy=data_policy)
        for number, entry in read_entries(file, ledger.agent_id):
            if is_expired(entry.updated_at, entry.retention_policy, now):
                work.expired += 1
            elif work.size + entry.size > quota_bytes:
                work.size += entry.size  # too much already: only the figure is wanted
            else:
                work.take(number, entry)
        after = work.used_before - work.freed + work.size
        if after > quota_bytes:
            ledger.refuse(tx, _refusal(ledger.agent_id, work.size))
            raise QuotaExceeded(
                f"the file's entries are {work.size:,} bytes (keys and values) and would bring "
                f"the memory to {after:,} bytes; the quota is {quota_bytes:,}, and nothing is "
                "evicted for an import: delete entries, or raise the quota "
                "(rotifer agent set --memory-quota)"
            )
        if work.replacing:
            ledger.commit(tx, work.records())
    replaced = sum(work.replacing)
    if replaced:
        ledger.store.scrub()
    return Imported(len(work.replacing) - replaced, replaced, work.expired, work.size)


class _Work:
    """An import under way."""

    def __init__(
        self, ledger: Ledger, tx: Transaction, *, replace: bool, data_policy: RetentionPolicy
    ) -> None:
        self._ledger = ledger
        self._tx = tx
        self._replace = replace
        self._data_policy = data_policy
        self._first = tx.order
        self.used_before = tx.used
        self.size = self.freed = self.expired = 0
        #: For each entry taken, in order, whether it replaced one: a byte each, not a key each.
        self.replacing = bytearray()

    def take(self, number: int, entry: Entry) -> None:
        """Put one entry, unless a rule forbids it."""
        stored = self._tx.find(entry.key)
        if stored is not None:
            self._judge_stored(number, stored)
            # Not an update: creator and time of creation are the file's.
            self._tx.remove(stored)
            self.freed += stored.size
        reason = broken_data_policy(entry.access_policy, entry.retention_policy, self._data_policy)
        if reason is not None:
            self._deny(number, entry, reason)
        self._tx.put(entry._replace(order=self._tx.order + 1), None)
        self.size += entry.size
        self.replacing.append(stored is not None)

    def _judge_stored(self, number: int, stored: EntrySummary) -> None:
        if stored.order > self._first:
            raise InvalidInput(f"line {number:,}: the key {stored.key!a} stands in the file twice")
        if not self._replace:
            raise InvalidInput(
                f"line {number:,}: there is an entry with the key {stored.key!a} already: delete "
                "it, or import with --replace, which replaces entries of the same key"
            )

    def _deny(self, number: int, entry: Entry, reason: str) -> None:
        asked = Asked(entry.key, entry.category, entry.size)
        try:
            self._ledger.deny(DEPLOYER, "import", reason, asked, within=self._tx)
        except AccessDenied as error:
            raise AccessDenied(
                f"line {number:,}: {error.message}: change the entry's policy in the file, or the "
                "agent's data policy (rotifer agent set --data-policy)"
            ) from None

    def records(self) -> Iterator[Record]:
        """The lines of the import, read back from the transaction one at a time."""
        for row in self._tx.rows_after(self._first):
            replaced = self.replacing[row.order - self._first - 1]
            action = "memory.update" if replaced else "memory.create"
            yield self._ledger.record(action, DEPLOYER, "import", row)


def _refusal(agent_id: str, size: int) -> Record:
    return Record(
        "memory.quota_exceeded", agent_id, DEPLOYER.gene_id, operation="import", size=size
    )
