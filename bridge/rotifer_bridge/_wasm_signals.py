"""Signals that come while a module runs in the main thread.

Python calls a signal's handler at the next step of Python code. While a module runs, that step is
the first one of a host function, before anything there could catch what the handler raises: ctypes
would print it and go on, and Ctrl-C would be lost. So the handlers are set aside for the run: what
comes ends the run, and then goes to whom it was for.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["set_aside"]

_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


@contextmanager
def set_aside(on_signal: Callable[[], object]) -> Iterator[None]:
    """Hold back this process's signals; they are handed on at the end.

    Args:
        on_signal: called when one comes; it must not raise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler ever runs here
        return
    came: list[int] = []

    def note(number: int, _frame: object) -> None:
        came.append(number)
        on_signal()

    before: dict[int, Any] = {}
    try:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and not isinstance(handler, signal.Handlers):
                before[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
        for arrived in came:
            before[arrived](arrived, None)
