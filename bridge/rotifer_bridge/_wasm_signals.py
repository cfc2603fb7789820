"""Signals that come while a module runs in the main thread.

Python calls a signal's handler at the next step of Python code. While a module runs, that step is
the first one of a host function, before anything there could catch what the handler raises: ctypes
would print it and go on, and Ctrl-C would be lost. So the handlers are wrapped for the run: they
are called as ever, and what one raises ends the run and comes out of it.
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
def set_aside(on_raise: Callable[[BaseException], object]) -> Iterator[None]:
    """Let no handler of a signal raise where that would be lost.

    Args:
        on_raise: called with what one raised; it must not raise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler ever runs here
        return
    handlers: dict[int, Any] = {}

    def call(number: int, frame: object) -> None:
        try:
            handlers[number](number, frame)
        except BaseException as error:  # noqa: BLE001 - whatever it is
            on_raise(error)

    try:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and not isinstance(handler, signal.Handlers):
                handlers[number] = handler
                signal.signal(number, call)
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
