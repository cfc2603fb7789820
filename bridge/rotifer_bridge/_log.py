"""What a gene prints: read from its own pipe, cut into lines, bounded (design §2).

A gene's output is never the protocol and never the result; it becomes lines on stderr.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LINES_LIMIT", "LINE_LIMIT", "RUN_LIMIT", "LogPipe", "Room", "pieces"]

RUN_LIMIT = 1_048_576
"""How much of one stream is shown of one run, in bytes [ours]; the rest is counted and dropped."""
LINES_LIMIT = 20_000
"""The same in lines [ours]: each takes as long to show as some hundred bytes do, be it empty."""
LINE_LIMIT = 16_384
"""The longest line, in bytes; a longer one is cut into several."""
_IN_CHARACTER = 3  # bytes that can follow a first one in UTF-8
_CHUNK = 65_536
_LAST_WORDS = 4_096
_TURN = 1_048_576


class Room:
    """What may still be shown of one stream in one run; what is beyond it is counted."""

    def __init__(self) -> None:
        self._shown = self._lines = self._dropped = 0

    def admit(self, data: bytes) -> bytes:
        """The beginning of the data that is shown; nothing more once something was dropped."""
        shown = b""
        if not self._dropped:
            shown = data[: RUN_LIMIT - self._shown]
            left = LINES_LIMIT - self._lines
            lines = shown.count(b"\n")
            if lines > left:
                shown = shown[: len(shown) - len(shown.split(b"\n", left)[left])]
                lines = left
            self._shown += len(shown)
            self._lines += lines
        self.drop(len(data) - len(shown))
        return shown

    def drop(self, size: int) -> None:
        """Count so many bytes that were never looked at."""
        self._dropped += size

    def note(self, gene: str) -> str | None:
        """The line in the place of what was dropped; None where nothing was. A new run begins."""
        shown, dropped = self._shown, self._dropped
        self._shown = self._lines = self._dropped = 0
        if not dropped:
            return None
        return (
            f"... gene '{gene}' printed {shown + dropped:,} bytes; the first {shown:,} are shown, "
            f"{dropped:,} dropped: the limits are {RUN_LIMIT:,} bytes and {LINES_LIMIT:,} lines"
        )


def pieces(line: bytes) -> list[bytes]:
    """The parts of a line, one at least, each as long as a line may be; no character is cut."""
    found = []
    while len(line) > LINE_LIMIT:
        end = LINE_LIMIT
        while line[end] & 0xC0 == 0x80 and LINE_LIMIT - end < _IN_CHARACTER:
            end -= 1
        found.append(line[:end])
        line = line[end:]
    return [*found, line]


class LogPipe:
    """The reading end of a worker's stdout or stderr.

    Args:
        fd: the descriptor; closed by ``finish``.
        on_line: called with each whole line, without its line feed.
    """

    def __init__(self, fd: int, on_line: Callable[[str], object]) -> None:
        self.fd = fd
        self._on_line = on_line
        self._rest = b""
        self._tail = b""
        self._room = Room()
        self._read = 0
        os.set_blocking(fd, False)

    def drain(self, limit: int = _TURN) -> bool:
        """Read what is there without waiting, at most ``limit`` bytes; False at the stream's end.

        The limit keeps a flood from holding up whoever watches the clock.
        """
        end = self._read + limit
        while self._read < end:
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._read += len(chunk)
            self._take(chunk)
        return True

    def end_run(self, gene: str) -> None:
        """Give out an unfinished last line, and say how much was dropped of this run."""
        if self._rest:
            self._emit(self._rest)
            self._rest = b""
        dropped = self._room.note(gene)
        if dropped is not None:
            self._on_line(dropped)

    def last_words(self) -> str:
        """The end of all that was read, for the message about a death."""
        return self._tail.decode("utf-8", "replace")

    def finish(self, gene: str) -> None:
        """Read the rest of a dead process's stream and close the descriptor."""
        self.drain()
        self.end_run(gene)
        os.close(self.fd)

    def _take(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-_LAST_WORDS:]
        *lines, rest = (self._rest + self._room.admit(chunk)).split(b"\n")
        for line in lines:
            self._emit(line)
        if len(rest) > LINE_LIMIT:
            *whole, rest = pieces(rest)
            for piece in whole:
                self._emit(piece)
        self._rest = rest

    def _emit(self, line: bytes) -> None:
        for piece in pieces(line):
            self._on_line(piece.decode("utf-8", "replace").rstrip("\r"))
