"""Signals that come while a module runs in the main thread.

Python calls a signal's handler at the next step of Python code. While a module runs, that step is
the first one of a host function, before anything there could catch what the handler raises: ctypes
would print it and go on, and Ctrl-C would be lost. So the handlers are wrapped for the run: they
are called as ever, and what one raises ends the run and comes out of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["SetAside"]

# The wrappers in `signal` make an enum of every number: ten times what the calls under them take,
# and they are on the path of every run.
try:
    import _signal  # type: ignore[import-not-found]
except ImportError:
    _signal = signal

_SIGNALS = tuple(
    map(
        int,
        (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGALRM,
            signal.SIGUSR1,
            signal.SIGUSR2,
        ),
    )
)


class SetAside:
    """A block in which no handler of a signal raises where that would be lost.

    Args:
        on_raise: called with what one raised; it must not raise.
    """

    def __init__(self, on_raise: Callable[[BaseException], object]) -> None:
        self._on_raise = on_raise
        self._handlers: dict[int, Any] = {}
        self._over = False

    def __enter__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return  # no handler ever runs here
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _signal.signal(number, self._call)
        except BaseException:  # a handler raised that had not been wrapped yet
            self.__exit__()
            raise

    def __exit__(self, *exc: object) -> None:
        # From here on a handler raises as ever: one that interrupts the loop leaves others wrapped,
        # and they must not keep to themselves what is for the rest of the program.
        self._over = True
        for number, handler in self._handlers.items():
            _signal.signal(number, handler)

    def _call(self, number: int, frame: object) -> None:
        if self._over:
            self._handlers[number](number, frame)
            return
        try:
            self._handlers[number](number, frame)
        except BaseException as error:  # noqa: BLE001 - whatever it is
            self._on_raise(error)
