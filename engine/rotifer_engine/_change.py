"""Making a change: its lines, then the commit, then what to say when that failed (memory §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rotifer_engine._audit import new_change_id
from rotifer_engine.errors import AgentMemoryError

if TYPE_CHECKING:
    from rotifer_engine._audit import Audit, Line

__all__ = ["Change", "commit_change"]


class Change(Protocol):
    """A transaction that holds its store's write lock.

    Args:
        store_id: the store's own id, with which the ids of its changes begin.
        last_change: the id of the last change that the store committed; None when it has none.
    """

    store_id: str
    last_change: str | None

    def commit(self, change_id: str) -> None:
        """Make it so, durably, and remember the change id."""
        ...  # pragma: no cover

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write; again does nothing."""
        ...  # pragma: no cover

    def __enter__(self) -> Self: ...  # pragma: no cover

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...  # pragma: no cover


def commit_change(
    audit: Audit,
    begin: Callable[[], Change],
    tx: Change,
    records: Iterable[Line],
    last: Callable[[], None] | None = None,
) -> None:
    """Write the lines, then make the change: no line, no change.

    Args:
        audit: where the lines go.
        begin: another transaction of the same store, to say that this one was not made.
        tx: the transaction.
        records: its lines; they may be read from it one at a time.
        last: what is still to be done in it when the lines have been written.

    Raises:
        StorageError: either failed; what became of the change is in the log by the next
            recorded action.
    """
    change_id = new_change_id(tx.store_id)
    audit.append(tx, records, change_id=change_id)
    try:
        if last is not None:
            last()
        tx.commit(change_id)
    except AgentMemoryError:
        tx.rollback()
        _settle(audit, begin)
        raise


def _settle(audit: Audit, begin: Callable[[], Change]) -> None:
    """Say in the log that the last change was not made; if not now, the next append does."""
    if not audit.settles:
        return
    try:
        with begin() as tx:
            audit.append(tx, (), change_id=new_change_id(tx.store_id))
    except AgentMemoryError:
        return
