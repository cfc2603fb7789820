"""The beat by which running modules look at the clock: one thread, while runs are live.

wasmtime checks a counter in the code it compiles; somebody has to count. A run that ends does not
end the thread at once, so that many short runs after each other do not start one each.
"""

from __future__ import annotations

import _thread
import os
import threading
import time

from rotifer_bridge import _wasm_api as api

__all__ = ["BEAT", "enter", "leave"]

BEAT = 0.01
"""Seconds between two looks: by so much a run may pass its limit."""
_LINGER = 20  # beats without a run


class _Clock:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.live = 0
        self.beating = False

    def beat(self) -> None:
        idle = 0
        while True:
            time.sleep(BEAT)
            with self.lock:
                idle = 0 if self.live else idle + 1
                if idle > _LINGER:
                    self.beating = False
                    return
            api.increment_epoch()


_clock = _Clock()


def _after_fork() -> None:
    # The thread is not in the child, and the lock may have been held by another.
    _clock.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_after_fork)


def enter() -> None:
    """A run begins.

    Raises:
        RuntimeError: no thread can be started.
    """
    with _clock.lock:
        if not _clock.beating:
            # threading.Thread would wait for it to have begun, on the path of every cold start.
            _thread.start_new_thread(_clock.beat, ())
            _clock.beating = True
        _clock.live += 1


def leave() -> None:
    """A run has ended."""
    with _clock.lock:
        _clock.live -= 1
