"""The line on a terminal that says what a run is at, once it takes over a second."""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Progress"]

_PATIENCE = 1.0  # seconds that pass in silence
_TICK = 0.5
_ERASE = "\r\x1b[K"


class Progress:
    """Shows ``[2/3] gene: 4 s`` from the first second on, until it is left.

    Args:
        total: how many genes there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = 0
        self._gene = ""
        self._since = monotonic()
        self._shown = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="rotifer-progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._done.set()
        self._thread.join()
        with self._lock:
            self._erase()

    def step(self, gene: str) -> None:
        """The next gene's turn begins."""
        with self._lock:
            self._begun += 1
            self._gene = gene

    def around(self, show: Callable[..., object]) -> Callable[..., None]:
        """What shows a line, made to do so in the place of this one."""

        def shown(*args: str) -> None:
            with self._lock:
                self._erase()
                show(*args)

        return shown

    def _tick(self) -> None:
        wait = _PATIENCE
        while not self._done.wait(wait):
            wait = _TICK
            with self._lock:
                if self._gene:
                    self._write(f"{_ERASE}{self._line()}")
                    self._shown = True

    def _line(self) -> str:
        seconds = int(monotonic() - self._since)
        text = f"[{self._begun}/{self._total}] {self._gene}: {seconds} s"
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        except OSError:
            columns = 0
        return text[: columns - 1] if columns > 1 else text  # 0: it does not say

    def _erase(self) -> None:
        if self._shown:
            self._write(_ERASE)
            self._shown = False

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._done.set()  # the terminal is gone; the run goes on
