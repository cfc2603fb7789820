"""Where the engine learns the time: handed in, so that tests can move it."""

from __future__ import annotations

import time

from rotifer_engine.quick import Protocol

__all__ = ["Clock", "FixedClock", "SystemClock"]


class Clock(Protocol):
    """Tells the wall clock's time; retention goes by it, update order does not (memory §3, §7)."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""


class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        return time.time_ns() // 1_000_000


class FixedClock:
    """A clock that stands where it is put, for tests.

    Args:
        now_ms: milliseconds since 1970-01-01T00:00:00Z; may be negative.
    """

    def __init__(self, now_ms: int = 0) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        """The time that was set."""
        return self.now

    def move(self, ms: int) -> None:
        """Move by that many milliseconds, backwards when negative."""
        self.now += ms
