"""Clocks."""

from __future__ import annotations

import time

from rotifer_engine import FixedClock, SystemClock


def test_the_system_clock_tells_milliseconds():
    """It agrees with the machine's time to a second."""
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000


def test_a_fixed_clock_moves_only_when_told():
    """It stands still, and goes backwards too."""
    clock = FixedClock(500)
    clock.move(-700)

    assert (-200, -200) == (clock.now_ms(), clock.now_ms())
