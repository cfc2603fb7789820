"""Writers of one file within this process: one after the other, before they ask SQLite.

SQLite's own lock is asked again and again until it is free. A few processes can do that; a hundred
threads of one process would wake each other all the time, and some would never see it free. So the
threads of a process queue here, and only the first of them asks.
"""

from __future__ import annotations

import os
import threading

__all__ = ["Turn", "turn_of"]


class Turn:
    """Whose turn it is to write to one file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0

    def take(self, patience: float) -> bool:
        """Wait for the turn; whether it came.

        Args:
            patience: how many seconds to wait while nobody else's turn begins. As long as the
                queue moves, waiting is not being stuck.
        """
        seen = self._taken
        while not self._lock.acquire(timeout=patience):
            if self._taken == seen:
                return False
            seen = self._taken
        self._taken += 1
        return True

    def give(self) -> None:
        """Let the next one have it."""
        self._lock.release()


_turns: dict[str, Turn] = {}


def turn_of(path: str) -> Turn:
    """The queue of the writers of a file.

    Args:
        path: absolute.
    """
    turn = _turns.get(path)
    return _turns.setdefault(path, Turn()) if turn is None else turn


# The child of a fork has none of the threads that may hold a turn.
os.register_at_fork(after_in_child=_turns.clear)
