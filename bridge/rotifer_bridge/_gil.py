"""Get the interpreter back quickly while a gene is being served.

A memory call gives the interpreter's lock up five or six times. If another thread of the program
computes meanwhile, each time costs up to the switch interval to get it back: 5 ms as Python comes,
26 ms a call. So while runs are going on it is a thousandth of that, and the service threads' waits
end when they should, not 50 µs later (their timer slack).
"""

from __future__ import annotations

import sys
import threading

__all__ = ["enter", "leave", "prompt"]

_SECONDS = 5e-6
_SLACK_NS = b"1000"

_lock = threading.Lock()
_runs = 0
_before = 0.0


def enter() -> None:
    """A run begins."""
    global _runs, _before  # noqa: PLW0603 - there is one interpreter
    with _lock:
        _runs += 1
        if _runs == 1:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(min(_SECONDS, _before))


def leave() -> None:
    """A run has ended; with the last one the interval is what it was."""
    global _runs  # noqa: PLW0603 - there is one interpreter
    with _lock:
        _runs -= 1
        if _runs == 0 and sys.getswitchinterval() < 2 * _SECONDS:  # or the program has set another
            sys.setswitchinterval(_before)


def prompt() -> None:
    """Let the calling thread wake up when it is time."""
    try:
        with open(f"/proc/{threading.get_native_id()}/timerslack_ns", "wb", buffering=0) as file:
            file.write(_SLACK_NS)
    except OSError:
        return  # this kernel does not have it, or does not let us: only slower
