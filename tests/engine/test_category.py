"""The table of categories."""

from __future__ import annotations

from rotifer_engine import CATEGORIES
from rotifer_engine._category import EVICTION_ORDER


def test_eviction_order():
    """CACHE goes first, then PATTERN, then CONTEXT; PREFERENCE never."""
    assert ("CACHE", "PATTERN", "CONTEXT") == EVICTION_ORDER


def test_only_cache_may_be_left_behind():
    """All others are carried when the agent moves."""
    left = [name for name, category in CATEGORIES.items() if not category.migrates]

    assert ["CACHE"] == left
