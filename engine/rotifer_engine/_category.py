"""The four categories: one table, from which everything else about them is derived (memory §3)."""

from __future__ import annotations

from rotifer_engine.quick import NamedTuple

__all__ = ["CATEGORIES", "EVICTION_ORDER", "Category"]


class Category(NamedTuple):
    """What a category means for an entry.

    Args:
        eviction_rank: the lower, the earlier it goes when memory is full; None = never.
        migrates: whether it is always carried when the agent moves; False = may be left behind.
    """

    eviction_rank: int | None
    migrates: bool


CATEGORIES: dict[str, Category] = {
    "PREFERENCE": Category(None, migrates=True),
    "PATTERN": Category(2, migrates=True),
    "CONTEXT": Category(3, migrates=True),
    "CACHE": Category(1, migrates=False),
}


#: The categories that make room, the first to go first.
EVICTION_ORDER: tuple[str, ...] = tuple(
    name
    for _, name in sorted(
        (category.eviction_rank, name)
        for name, category in CATEGORIES.items()
        if category.eviction_rank is not None
    )
)
