"""Carrying an agent's memory from one store to another: whole, or not at all.

The source is locked from beginning to end. The copy is committed, read back and compared before
anything of the source goes; so whenever it is interrupted, one whole memory is there at least, and
a second attempt finds out how far the first one came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine._audit import Record
from rotifer_engine._category import CATEGORIES
from rotifer_engine._deployer import DEPLOYER
from rotifer_engine.errors import InvalidInput, StorageError

if TYPE_CHECKING:
    from rotifer_engine._entry import Entry
    from rotifer_engine._ledger import Ledger
    from rotifer_engine._retention import Moment
    from rotifer_engine._store import Snapshot, Transaction

__all__ = ["Moved", "move_entries"]


class Moved(NamedTuple):
    """What became of a memory that was to be moved.

    Args:
        entries: how many are in the other store now.
        size: bytes of their keys and values.
        before: whether they were there already, and this store had none.
        clean: whether the values are in none of this store's files any more.
    """

    entries: int
    size: int
    before: bool
    clean: bool


class _Difference(NamedTuple):
    """How two stores differ in an agent.

    Args:
        entries: in more than who last accessed an entry.
        anything: in anything.
    """

    entries: bool
    anything: bool


def move_entries(
    source: Ledger, target: Ledger, *, replace: bool, moment: Callable[[], Moment]
) -> Moved:
    """Move everything of an agent; see ``AgentMemory.move_to``."""
    _refuse_same_store(source, target)
    with _begin(source, moment) as (tx, now):
        with source.store.snapshot() as here:
            used, order = here.counted(source.agent_id)
            count = sum(1 for _ in tx.rows_after(0))
            if not count:
                return _nothing_to_move(target, now)
            with _begin(target, lambda: now) as (into, _):
                with target.store.snapshot() as there:
                    empty = next(into.rows_after(0), None) is None
                    found = _difference(here, there, source.agent_id, now)
                if not empty and found.entries and not replace:
                    raise InvalidInput(
                        "the other store has entries of this agent that are not those of this one: "
                        "look at both, then delete there what is not wanted, or move with "
                        "--replace, which deletes them all"
                    )
                if empty or found.anything:
                    entries = here.entries(source.agent_id, list(CATEGORIES), now)
                    _copy(target, into, entries, order)
            with target.store.snapshot() as there:
                if _difference(here, there, source.agent_id, now).anything:
                    raise StorageError(
                        "the copy is not the same as what was copied; nothing was removed: look "
                        "whether something writes to the other store, then move again"
                    )
        source.commit(tx, _removals(source, tx), last=tx.remove_all)
    return Moved(count, used, before=False, clean=source.store.scrub())


class _begin:  # noqa: N801 - used as a function
    """A transaction that may rest while the other store is read or written."""

    def __init__(self, ledger: Ledger, moment: Callable[[], Moment]) -> None:
        self._tx, self._moment = ledger.begin(DEPLOYER, "move", moment)

    def __enter__(self) -> tuple[Transaction, Moment]:
        self._tx.rest()
        return self._tx, self._moment

    def __exit__(self, *raised: object) -> None:
        self._tx.rollback()


def _refuse_same_store(source: Ledger, target: Ledger) -> None:
    with source.store.snapshot() as here, target.store.snapshot() as there:
        if here.store_id == there.store_id:
            raise InvalidInput("the other store is the one that the memory is in")


def _nothing_to_move(target: Ledger, now: Moment) -> Moved:
    entries = size = 0
    with target.store.snapshot() as there:
        for entry in there.entries(target.agent_id, list(CATEGORIES), now):
            entries += 1
            size += entry.size
    return Moved(entries, size, before=True, clean=True)


def _difference(here: Snapshot, there: Snapshot, agent_id: str, now: Moment) -> _Difference:
    categories = list(CATEGORIES)
    touched = here.counted(agent_id) != there.counted(agent_id)
    for one, other in zip_longest(
        here.entries(agent_id, categories, now), there.entries(agent_id, categories, now)
    ):
        if one == other:
            continue
        if one is None or other is None:
            return _Difference(entries=True, anything=True)
        touched = True
        if one._replace(last_accessed_by=other.last_accessed_by) != other:
            return _Difference(entries=True, anything=True)
    return _Difference(entries=False, anything=touched)


def _copy(target: Ledger, into: Transaction, entries: Iterator[Entry], order: int) -> None:
    """Let the other store have these entries, and nothing else of the agent."""
    removed = [target.record("memory.delete", DEPLOYER, "move", row) for row in into.rows_after(0)]
    if removed or into.order:
        into.remove_all()
    for entry in entries:
        into.put(entry, None)
    into.order = order  # it may be beyond the last row's

    def records() -> Iterator[Record]:
        yield from removed
        for row in into.rows_after(0):
            yield target.record("memory.create", DEPLOYER, "move", row)

    target.commit(into, records())


def _removals(source: Ledger, tx: Transaction) -> Iterator[Record]:
    for row in tx.rows_after(0):
        yield source.record("memory.delete", DEPLOYER, "move", row)
    yield Record("memory.erase", source.agent_id, DEPLOYER.gene_id, operation="move")
