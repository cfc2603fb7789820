"""How many Node processes of this supervisor start at the same time [ours].

Each takes a processor for a moment. A hundred at once, and this very process, which has to answer
them all, gets a hundredth of it: writers that hold the memory's file stand still while others wait.
"""

from __future__ import annotations

import os
import threading

__all__ = ["AT_ONCE", "Start"]

AT_ONCE = 4 + 2 * (os.cpu_count() or 1)
_PATIENCE = 30.0  # seconds; one that never says hello may keep others waiting, but not for ever

_free = threading.BoundedSemaphore(AT_ONCE)


class Start:
    """One start: made before it, waiting while there are too many; `over` when Node is there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = _free
        self._held = _free.acquire(timeout=_PATIENCE)

    def over(self) -> None:
        """Let another one start. May be repeated."""
        with self._lock:
            held, self._held = self._held, False
        if held:
            self._free.release()


def _anew() -> None:
    global _free  # noqa: PLW0603 - the child of a fork starts nothing that its parent does
    _free = threading.BoundedSemaphore(AT_ONCE)


os.register_at_fork(after_in_child=_anew)
