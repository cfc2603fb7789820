"""Rows of the PostgreSQL store as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rotifer_engine._entry import Entry, EntrySummary, entry_id
from rotifer_engine._policy import AccessPolicy, RetentionPolicy

__all__ = ["domain_of", "entry_of", "summary_of"]


def summary_of(agent_id: str, row: Sequence[Any]) -> EntrySummary:
    """A row of key, size and meta as a value."""
    key, size, category, by, domain, accessed, created, updated = row[:8]
    read, write, share, follows, days, auto_delete, anonymization, order = row[8:]
    return EntrySummary(
        entry_id(agent_id, key),
        category,
        key.decode(),
        size,
        by,
        None if domain is None else domain.decode(),
        accessed,
        created,
        updated,
        AccessPolicy(read, write, share),
        None if follows else RetentionPolicy(days, bool(auto_delete), bool(anonymization)),
        order,
    )


def entry_of(agent_id: str, row: Sequence[Any]) -> Entry:
    """A row of key, meta and value as a value."""
    key, category, by, domain, accessed, created, updated = row[:7]
    read, write, share, follows, days, auto_delete, anonymization, order, value = row[7:]
    return Entry(
        entry_id(agent_id, key),
        category,
        key.decode(),
        value,
        by,
        None if domain is None else domain.decode(),
        accessed,
        created,
        updated,
        AccessPolicy(read, write, share),
        None if follows else RetentionPolicy(days, bool(auto_delete), bool(anonymization)),
        order,
    )


def domain_of(domain: str | None) -> bytes | None:
    """A domain as it is kept: text on the server cannot hold a NUL."""
    return None if domain is None else domain.encode()
