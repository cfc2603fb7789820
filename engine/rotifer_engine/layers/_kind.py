"""The kinds of entries: one table; how long an entry is seen goes by its kind (layers §4).

The list is **[ours]**: the seed's own was lost. It is closed, as the layers are.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DURABLE_KINDS", "KINDS", "Kind"]


class Kind(NamedTuple):
    """What a kind means for an entry.

    Args:
        durable: seen across sessions; if not, it is ephemeral: seen in its own session only, and
            needs its id.
        meaning: what it is for.
    """

    durable: bool
    meaning: str


KINDS: dict[str, Kind] = {
    "fact": Kind(durable=True, meaning="what is so"),
    "preference": Kind(durable=True, meaning="how somebody wants it"),
    "correction": Kind(durable=True, meaning="what was wrong, and what is right"),
    "regression": Kind(durable=True, meaning="what broke again, and must not"),
    "convention": Kind(durable=True, meaning="how things are done here"),
    "episodic": Kind(durable=False, meaning="what happened in this session"),
    "scratch": Kind(durable=False, meaning="a note for this session"),
}

DURABLE_KINDS: tuple[str, ...] = tuple(name for name, kind in KINDS.items() if kind.durable)
