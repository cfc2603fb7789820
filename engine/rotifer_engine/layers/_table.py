"""The seven layers: one table, from which everything else about them is derived (layers §1-§3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine.layers._condition import Condition, Every, Is, Not, Some, holds, sql

if TYPE_CHECKING:
    from rotifer_engine.layers._entry import LayerEntry

__all__ = [
    "LAYERS",
    "Layer",
    "all_memory_layers",
    "condition_of",
    "layer_clauses",
    "layer_of",
    "layer_of_row",
]


class Layer(NamedTuple):
    """One layer.

    Args:
        number: what the seed calls it; None for those that are not numbered.
        scope: the scope that its rows have; None: those that no other layer takes.
        owner: its rows have an actor (True), have none (False), or either (None).
        namespaced: its rows have a namespace; those of other layers are not asked.
        users_memory: whether it is a user's memory, not a state of the running program.
        writer: who writes it: ``sensor``, ``administrator``, ``extraction``, ``agent``,
            ``runtime`` or ``nobody``.
        readers: who sees it, a word of ``SEEN_BY``.
    """

    number: str | None
    scope: str | None
    owner: bool | None
    namespaced: bool
    users_memory: bool
    writer: str
    readers: str

    @property
    def is_writable(self) -> bool:
        """Whether the public write takes it."""
        return _WRITERS[self.writer][0] == "public"

    @property
    def is_runtime(self) -> bool:
        """Whether the runtime's own function writes it."""
        return _WRITERS[self.writer][0] == "runtime"

    @property
    def writer_said(self) -> str:
        """Who writes it, as a person says it."""
        return _WRITERS[self.writer][1]


#: Who writes: through which call, and how a person says it.
_WRITERS: dict[str, tuple[str, str]] = {
    "sensor": ("runtime", "the host sensor"),
    "administrator": ("public", "an administrator"),
    "extraction": ("public", "extraction from the user's talk"),
    "agent": ("public", "the agent's memory tool"),
    "runtime": ("runtime", "the runtime"),
    "nobody": ("none", "nobody"),
}

LAYERS: dict[str, Layer] = {
    "environment": Layer("L1", "system", False, False, True, "sensor", "cell"),
    "consensus": Layer("L2", "global", False, False, True, "administrator", "cell"),
    "about_me": Layer("L3", "global", True, False, True, "extraction", "actor"),
    "agent_memory": Layer("L4", "agent", True, True, True, "agent", "namespace"),
    "session": Layer(None, "session", None, False, False, "runtime", "session"),
    "working": Layer(None, "working", None, False, False, "runtime", "session"),
    "unknown": Layer(None, None, None, False, False, "nobody", "actor"),
}


def all_memory_layers() -> tuple[str, ...]:
    """The seven, in their order. ``unknown`` is one of them: it can come off the wire."""
    return tuple(LAYERS)


def _own(layer: Layer) -> Condition:
    """What the table says of a layer with a scope."""
    assert layer.scope is not None
    parts: list[Condition] = [Is("scope", layer.scope)]
    if layer.owner is not None:
        nobody = Is("actor", "")
        parts.append(Not(nobody) if layer.owner else nobody)
    if layer.namespaced:
        parts.append(Not(Is("namespace", "")))
    return Every(tuple(parts))


def _conditions() -> dict[str, Condition]:
    own = {name: _own(layer) for name, layer in LAYERS.items() if layer.scope is not None}
    rest = Not(Some(tuple(own.values())))
    return {name: own.get(name, rest) for name in LAYERS}


_CONDITIONS = _conditions()


def condition_of(layer: str) -> Condition:
    """The condition under which a row is of a layer; exactly one of the seven holds for any row."""
    return _CONDITIONS[layer]


def layer_of_row(row: Mapping[str, str]) -> str:
    """The layer of a row given as the texts of its fields."""
    return next(name for name, condition in _CONDITIONS.items() if holds(condition, row, {}))


def layer_of(entry: LayerEntry) -> str:
    """The layer of an entry: the one answer; nobody else derives it (layers §2)."""
    return layer_of_row(entry.fields())


def _no_mark(name: str) -> str:
    raise AssertionError(f"a layer goes by its rows alone, not by {name}")


def layer_clauses(layer: str, row: str = "e") -> str:
    """The SQL condition that selects the rows of a layer: :func:`layer_of`'s twin.

    Args:
        layer: one of :func:`all_memory_layers`.
        row: the name that the row has in the statement.

    Raises:
        UnknownLayer: there is no such layer.
    """
    from rotifer_engine.layers._checks import check_layer

    return sql(_CONDITIONS[check_layer(layer)], _no_mark, row)
