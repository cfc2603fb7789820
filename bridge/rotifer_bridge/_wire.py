"""Entries as the memory channel has them (design §2): what a query's reply says once.

A thousand entries have few creators and few policies between them. Each of these stands once in
``shared``, and an entry's row has its place there: a third of the text, to be written here,
carried, and read by the shim.
"""

from __future__ import annotations

from rotifer_engine import format_time
from rotifer_engine.quick import dumps, quote

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_engine import AccessPolicy, Entry, RetentionPolicy

__all__ = ["entries_reply"]


def entries_reply(found: Sequence[Entry]) -> tuple[bytes, bytes]:
    """The reply of a query: a JSON line of rows, and the values behind it in the same order.

    A row is entryId, category, key, createdBy, lastAccessedBy, createdAt, updatedAt, accessPolicy,
    retentionPolicy, and the value's size; both genes and both policies as places in ``shared``.
    """
    places: dict[str | AccessPolicy | RetentionPolicy | None, int] = {}
    place = places.setdefault
    rows: list[str] = []
    values: list[bytes] = []
    for (
        identity,
        category,
        key,
        value,
        by,
        _,
        accessed,
        created,
        updated,
        access,
        retention,
        _,
    ) in found:
        first, last = place(by, len(places)), place(accessed, len(places))
        may, kept = place(access, len(places)), place(retention, len(places))
        rows.append(
            f'["{identity}","{category}",{quote(key)},{first},{last},"{format_time(created)}",'
            f'"{format_time(updated)}",{may},{kept},{len(value)}]'
        )
        values.append(value)
    shared = [part if part is None or isinstance(part, str) else part.to_json() for part in places]
    head = f'{{"entries":[{",".join(rows)}],"shared":{dumps(shared)}}}\n'
    return head.encode("ascii"), b"".join(values)
