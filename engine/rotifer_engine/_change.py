"""Making a change: its lines, then the commit, then what to say when that failed (memory §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rotifer_engine._audit import new_change_id
from rotifer_engine.errors import AgentMemoryError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from rotifer_engine._audit import Audit, Line
    from rotifer_engine._store import Change

__all__ = ["commit_change"]


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
