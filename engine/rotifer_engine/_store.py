"""What a store must be able to do: small, so that there can be more than one (design §6).

A store keeps rows and order and counts bytes. It decides nothing: who may do what, what is evicted
and what is refused is decided by :class:`rotifer_engine.AgentMemory`, over plain values.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from rotifer_engine._access import Caller
from rotifer_engine._entry import Entry, EntrySummary
from rotifer_engine._filter import Selection
from rotifer_engine._retention import Moment

__all__ = ["Change", "Row", "Snapshot", "Store", "Transaction"]


class Store(Protocol):
    """Where the memories of all agents of a project are kept."""

    def read(self, agent_id: str, key: str, moment: Moment) -> tuple[Entry | None, bool]:
        """The live entry with this key, and whether anything of the agent is due to be purged."""
        ...  # pragma: no cover

    def touch(self, agent_id: str, entry: Entry, gene_id: str) -> None:
        """Set who last accessed the entry, if it is still the same version of it."""
        ...  # pragma: no cover

    def has_expired(self, agent_id: str, moment: Moment) -> bool:
        """Whether anything of this agent is due to be purged."""
        ...  # pragma: no cover

    def select(
        self, agent_id: str, caller: Caller, selection: Selection, moment: Moment
    ) -> Generator[Entry, None, None]:
        """Live entries that the caller may read, most recently updated first, one at a time."""
        ...  # pragma: no cover

    def page(
        self, agent_id: str, category: str | None, after: str | None, limit: int, moment: Moment
    ) -> list[EntrySummary]:
        """Live entries in the order of their keys' bytes, from after a key on."""
        ...  # pragma: no cover

    def usage(self, agent_id: str, moment: Moment) -> int:
        """Bytes of the keys and values of all live entries."""
        ...  # pragma: no cover

    def followers(self, agent_id: str, cutoff: int | None, other: int | None) -> tuple[int, int]:
        """Live entries that follow the agent, and how many of them another cut-off would end."""
        ...  # pragma: no cover

    def snapshot(self) -> Snapshot:
        """The store as it is at this moment, to be closed; writers go on meanwhile."""
        ...  # pragma: no cover

    def begin(self, agent_id: str) -> Transaction:
        """Begin to write: from here to the end nobody else can write to this agent's memory."""
        ...  # pragma: no cover

    def scrub(self) -> bool:
        """Leave nothing of deleted values on the disk; whether that was possible now."""
        ...  # pragma: no cover

    def close(self) -> None:
        """Close everything that is open."""
        ...  # pragma: no cover


class Row(NamedTuple):
    """A row as it is kept, for a check: nothing about it is taken for granted."""

    key: bytes
    size: int
    value_size: int
    category: str
    created_by: str
    created_domain: str | None
    last_accessed_by: str
    updated_at: int
    follows_agent: int
    max_retention_days: int | None
    expires_at: int | None
    order: int


class Snapshot(Protocol):
    """A store as it was at one moment.

    Args:
        store_id: the store's own id.
    """

    store_id: str

    def last_change(self, agent_id: str) -> str | None:
        """The id of the last change that was committed; None when none was.

        Args:
            agent_id: whose, where the store knows it for each agent; else it is that of any.
        """
        ...  # pragma: no cover

    def lines(self, agent_id: str) -> Iterator[tuple[int, str]]:
        """The agent's audit lines with their numbers, where the store keeps them; else none."""
        ...  # pragma: no cover

    def counted(self, agent_id: str) -> tuple[int, int]:
        """What the store has counted: the agent's bytes, and its update sequence."""
        ...  # pragma: no cover

    def rows(self, agent_id: str) -> Iterator[Row]:
        """All rows of an agent, expired ones too, least recently updated first."""
        ...  # pragma: no cover

    def layer_sizes(self) -> Iterator[tuple[str, int]]:
        """Entry id and size of all rows of the layers, where their lines are in the agents' log."""
        ...  # pragma: no cover

    def entries(self, agent_id: str, categories: Sequence[str], moment: Moment) -> Iterator[Entry]:
        """Live entries of these categories, least recently updated first, one at a time."""
        ...  # pragma: no cover

    def faults(self, limit: int) -> Iterator[str]:
        """What is wrong with the store as a file, at most so many of each kind."""
        ...  # pragma: no cover

    def close(self) -> None:
        """Let the moment go."""
        ...  # pragma: no cover

    def __enter__(self) -> Self: ...  # pragma: no cover

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        ...  # pragma: no cover


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


class Transaction(Change, Protocol):
    """One write to one agent's memory; rolled back unless it was committed.

    Args:
        last_change: of any agent or of this one, as the store has it.
        used: bytes of the keys and values of all rows.
        order: the agent's update sequence, the same as that of the last written row.
    """

    used: int
    order: int

    def rest(self) -> None:
        """May be kept open for as long as another store is busy."""
        ...  # pragma: no cover

    def find(self, key: str) -> EntrySummary | None:
        """The row with this key."""
        ...  # pragma: no cover

    def expired(self, moment: Moment, limit: int) -> Sequence[EntrySummary]:
        """Rows that are due to be purged, at most so many."""
        ...  # pragma: no cover

    def candidates(self, category: str) -> Iterator[EntrySummary]:
        """Rows of a category, least recently updated first, one at a time."""
        ...  # pragma: no cover

    def put(self, entry: Entry, replaced: EntrySummary | None) -> None:
        """Insert the entry, or replace the row with its key; counts its bytes and its order."""
        ...  # pragma: no cover

    def remove(self, row: EntrySummary) -> None:
        """Delete a row; counts its bytes."""
        ...  # pragma: no cover

    def rows_after(self, order: int) -> Iterator[EntrySummary]:
        """Rows written after this number of the update sequence, in its order, one at a time."""
        ...  # pragma: no cover

    def remove_all(self) -> None:
        """Delete all rows of the agent, and what was counted of it."""
        ...  # pragma: no cover
