"""The time, as it is written into files."""

from __future__ import annotations

from rotifer_engine import SystemClock, format_time

__all__ = ["now_text"]


def now_text() -> str:
    """The time now, in the form of every time that is written."""
    return format_time(SystemClock().now_ms())
