"""What a WASM gene prints, cut into lines and bounded as a worker's is (`_log`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_bridge._log import LINE_LIMIT, Room, pieces

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LogLines"]


class LogLines:
    """The lines of one run.

    Args:
        on_line: called with each line.
    """

    def __init__(self, on_line: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._rest = b""
        self._room = Room()

    def say(self, data: bytes, *, unseen: int = 0) -> None:
        """Whole lines: a message of the gene's, without so many bytes at its end."""
        # The line feed counts: so many empty lines are not for nothing either.
        taken = self._room.admit(data + b"\n")
        self._room.drop(unseen)
        if taken:
            for line in taken.removesuffix(b"\n").split(b"\n"):
                self._emit(line)

    def feed(self, data: bytes) -> None:
        """A piece of a stream, which need not end with a line."""
        *lines, rest = (self._rest + self._room.admit(data)).split(b"\n")
        for line in lines:
            self._emit(line)
        if len(rest) > LINE_LIMIT:
            *whole, rest = pieces(rest)
            for piece in whole:
                self._emit(piece)
        self._rest = rest

    def end(self, gene: str) -> None:
        """Give out an unfinished last line, and say how much was dropped."""
        if self._rest:
            self._emit(self._rest)
            self._rest = b""
        dropped = self._room.note(gene)
        if dropped is not None:
            self._on_line(dropped)

    def _emit(self, line: bytes) -> None:
        for piece in pieces(line):
            self._on_line(piece.decode("utf-8", "replace").rstrip("\r"))
