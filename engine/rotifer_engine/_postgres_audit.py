"""The audit log as rows of a PostgreSQL store, written in the transaction of each change.

A line and its change are there together or not at all, so there is nothing to settle. Each agent's
lines are numbered under the lock on its row: their order is the order of the commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, cast

from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._time import format_time

if TYPE_CHECKING:
    from rotifer_engine._audit import Line, Locked
    from rotifer_engine._postgres import PostgresStore
    from rotifer_engine._store import Snapshot
    from rotifer_engine._trail import RowTrail

__all__ = ["PostgresAudit", "Recording"]

_BATCH = 500  # a million records of an import need no room


class Recording(Protocol):
    """What a transaction needs for its lines to be rows."""

    def record(self, change_id: str, lines: list[str]) -> None:
        """Write lines that are there with the change or not at all."""
        ...  # pragma: no cover

    def refuse(self, change_id: str, lines: list[str]) -> None:
        """Give up what was changed, and commit these lines under the same lock."""
        ...  # pragma: no cover


class PostgresAudit:
    """The lines of a store's agents; see :class:`rotifer_engine.Audit`.

    Args:
        store: whose transactions they are written in.
        clock: gives each line its time.
    """

    settles = False

    def __init__(self, store: PostgresStore, *, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()

    @property
    def path(self) -> str:
        """Where they are, for people."""
        return self._store.place

    def append(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Write the lines of a change in its transaction."""
        recording = cast("Recording", tx)
        for batch in self._batches(records, change_id):
            recording.record(change_id, batch)

    def refuse(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Give up what the transaction changed, and commit the lines of the refusal."""
        for batch in self._batches(records, change_id):
            cast("Recording", tx).refuse(change_id, batch)

    def _batches(self, records: Iterable[Line], change_id: str) -> Iterator[list[str]]:
        ts = format_time(self._clock.now_ms())
        batch: list[str] = []
        for record in records:
            batch.append(record.to_line(ts, change_id))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def reader(self, agent_id: str, snapshot: Snapshot) -> _Reader:
        """The agent's lines at the moment of the snapshot."""
        return _Reader(agent_id, snapshot)

    def trail(self, agent_id: str) -> RowTrail:
        """The agent's lines, and those to come."""
        from rotifer_engine._trail import RowTrail

        return RowTrail(self._store, agent_id)

    def close(self) -> None:
        """Nothing of its own is open."""


class _Reader:
    """Lines of a snapshot, as a file of lines is read."""

    def __init__(self, agent_id: str, snapshot: Snapshot) -> None:
        self._agent_id = agent_id
        self._snapshot = snapshot

    def numbered(self) -> Iterator[tuple[int, bytes | None]]:
        """Each line with its number."""
        for number, line in self._snapshot.lines(self._agent_id):
            yield number, line.encode()

    def close(self) -> None:
        """The snapshot is closed by whoever took it."""
