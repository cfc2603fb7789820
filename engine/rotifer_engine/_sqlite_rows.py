"""Rows of the SQLite store as plain values; on the path of every read and query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rotifer_engine._entry import Entry, EntrySummary, entry_id
from rotifer_engine._policy import AccessPolicy, RetentionPolicy

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["entry_of", "policies_of", "summary_of"]


@lru_cache(maxsize=256)  # few sets of policies are in use at once, and making them takes a µs
def policies_of(  # noqa: PLR0917 - a row's columns, in their order
    read: str,
    write: str,
    share: str,
    follows: int,
    days: int | None,
    auto_delete: int | None,
    anonymization: int | None,
) -> tuple[AccessPolicy, RetentionPolicy | None]:
    """Both policies of a row."""
    access = AccessPolicy(read, write, share)
    if follows:
        return access, None
    return access, RetentionPolicy(days, bool(auto_delete), bool(anonymization))


def summary_of(agent_id: str, row: Sequence[Any]) -> EntrySummary:
    """A row of key, size and meta as a value."""
    key, size, category, by, domain, accessed, created, updated, *columns, order = row
    access, retention = policies_of(*columns)
    return EntrySummary(
        entry_id(agent_id, key),
        category,
        key.decode(),
        size,
        by,
        domain,
        accessed,
        created,
        updated,
        access,
        retention,
        order,
    )


def entry_of(agent_id: str, row: Sequence[Any]) -> Entry:
    """A row of key, meta and value as a value."""
    key, category, by, domain, accessed, created, updated, *columns, order, value = row
    access, retention = policies_of(*columns)
    return Entry(
        entry_id(agent_id, key),
        category,
        key.decode(),
        value,
        by,
        domain,
        accessed,
        created,
        updated,
        access,
        retention,
        order,
    )
