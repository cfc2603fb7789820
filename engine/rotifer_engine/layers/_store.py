"""What a store must be able to do for the layers: small, so that there can be more than one.

A store keeps rows and their order. It decides nothing: its conditions are those that
``_condition`` writes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple, Protocol

from rotifer_engine._store import Change
from rotifer_engine.layers._entry import LayerEntry
from rotifer_engine.layers._record import LayerRow
from rotifer_engine.layers._visible import Reader

__all__ = ["LayerStore", "LayerTransaction", "Query", "StoreWithLayers"]


class Query(NamedTuple):
    """Which of the rows that a reader sees are asked for; None where it does not matter."""

    layer: str | None = None
    scope: str | None = None
    namespace: str | None = None
    kind: str | None = None
    limit: int = 50
    offset: int = 0


class StoreWithLayers(Protocol):
    """A store of agents' memories that keeps the layers beside them."""

    def layers(self) -> LayerStore:
        """Where the layers are."""
        ...  # pragma: no cover


class LayerStore(Protocol):
    """Where the entries of all layers are kept."""

    def select(self, reader: Reader, query: Query) -> Generator[LayerEntry, None, None]:
        """The entries that the reader sees and the query asks for, newest first, one at a time."""
        ...  # pragma: no cover

    def strays(self, limit: int, offset: int) -> Generator[LayerEntry, None, None]:
        """Entries of no layer and of nobody, newest first, one at a time."""
        ...  # pragma: no cover

    def counts(self, reader: Reader) -> dict[str, int]:
        """How many entries count for the reader, by layer; layers without any are left out."""
        ...  # pragma: no cover

    def begin(self, actor: str) -> LayerTransaction:
        """Begin to write rows of an actor, or of nobody: until the end no other writer can."""
        ...  # pragma: no cover

    def scrub(self) -> bool:
        """Leave nothing of deleted contents on the disk; whether that was possible now."""
        ...  # pragma: no cover


class LayerTransaction(Change, Protocol):
    """One write to the rows of one actor; rolled back unless it was committed."""

    def next_order(self, now: int) -> int:
        """The next number of the update sequence; no later one of this actor is smaller.

        Args:
            now: the time in milliseconds, by which a store may put actors into one order.
        """
        ...  # pragma: no cover

    def find(self, entry_id: str) -> LayerEntry | None:
        """The actor's entry with this id."""
        ...  # pragma: no cover

    def put(self, entry: LayerEntry, *, replaces: bool) -> None:
        """Insert the entry, or replace the one with its id, which was found in here."""
        ...  # pragma: no cover

    def rows(self, layer: str, namespace: str | None) -> Iterator[LayerRow]:
        """The actor's rows of a layer, oldest first; None for every namespace."""
        ...  # pragma: no cover

    def remove(self, entry_id: str) -> None:
        """Delete a row of the actor."""
        ...  # pragma: no cover

    def remove_rows(self, layer: str, namespace: str | None) -> None:
        """Delete the actor's rows of a layer; None for every namespace."""
        ...  # pragma: no cover
