"""What a query may ask for (memory §5)."""

from __future__ import annotations

from rotifer_engine._absent import Absent
from rotifer_engine._input import check_category, check_fields, check_integer, check_prefix
from rotifer_engine._time import parse_time
from rotifer_engine.quick import NamedTuple

__all__ = ["FILTER_FIELDS", "MAX_ANSWER_BYTES", "Selection", "parse_filter"]

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
MAX_ANSWER_BYTES = 4 * 1024 * 1024  # keys and values together; exactly that is fine

FILTER_FIELDS = ("category", "keyPrefix", "since", "until", "limit")


class Selection(NamedTuple):
    """Which entries a query wants; None in a field means no such filter."""

    category: str | None
    key_prefix: bytes | None
    since: int | None
    until: int | None
    limit: int


def parse_filter(value: object) -> Selection:
    """Check a filter; absent means everything.

    Raises:
        InvalidInput: it is no mapping, a field is unknown, or its value is bad.
    """
    if isinstance(value, Absent):
        return Selection(None, None, None, None, DEFAULT_LIMIT)
    fields = check_fields(value, "filter", FILTER_FIELDS)
    return Selection(
        check_category(fields["category"]) if "category" in fields else None,
        check_prefix(fields["keyPrefix"]) if "keyPrefix" in fields else None,
        parse_time(fields["since"], "since", up=True) if "since" in fields else None,
        parse_time(fields["until"], "until", up=True) if "until" in fields else None,
        check_integer(fields["limit"], "limit", 1, MAX_LIMIT)
        if "limit" in fields
        else DEFAULT_LIMIT,
    )
