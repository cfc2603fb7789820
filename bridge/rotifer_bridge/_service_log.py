"""The service's log: lines on stderr, few of them whatever happens, and nothing personal in any.

No line holds a token, a body, a key, an actor, an address of a client or the text of an exception,
which could have any of these in it.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

from rotifer_engine import SystemClock, format_time

__all__ = ["TALLY_SECONDS", "Log"]

TALLY_SECONDS = 10.0
"""What happens again within so many seconds is counted, and said in one line at their end."""


class Log:
    """Where the service says what it does.

    Args:
        write: takes one line.
        requests: whether each request gets a line.
    """

    def __init__(self, write: Callable[[str], object], *, requests: bool = False) -> None:
        self._write = write
        self._clock = SystemClock()
        self._requests = requests
        self._counted: dict[str, int] = {}

    def say(self, text: str) -> None:
        """One line, with the time."""
        self._write(f"{format_time(self._clock.now_ms())} {text}")

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request that was answered, where such lines are wanted; its address as it is known."""
        if self._requests:
            self.say(f"{method} {path} {status} {seconds * 1000:.1f} ms")

    def fault(self, what: str, error: BaseException) -> None:
        """A fault of our own: what it is and where, without its text."""
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
        self.say(f"error: {what} failed inside: {type(error).__name__} in {where}")

    def tally(self, what: str) -> None:
        """What may happen very often: a line for the first, then one for how many more."""
        if what in self._counted:
            self._counted[what] += 1
            return
        self._counted[what] = 0
        self.say(f"warning: {what}")
        asyncio.get_running_loop().call_later(TALLY_SECONDS, self._sum_up, what)

    def _sum_up(self, what: str) -> None:
        more = self._counted.pop(what)
        if more:
            self.say(f"warning: {what} ({more:,} more times in {TALLY_SECONDS:g} s)")
