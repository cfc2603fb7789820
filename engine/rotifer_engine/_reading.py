"""Reading a file of lines as it was at one moment, whatever its size.

What is appended meanwhile is not seen, and a rotation (a rename) changes nothing: the open file
is read, up to the size that it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from rotifer_engine._files import FileSystem
from rotifer_engine._with import Closing

__all__ = ["MAX_LINE_BYTES", "LineReader", "Numbered"]

MAX_LINE_BYTES = 1024 * 1024  # a line of ours has some ten thousand at most
_CHUNK = 1024 * 1024


class Numbered(Protocol):
    """Lines that have numbers, from a file or from the rows of a store."""

    def numbered(self) -> Iterator[tuple[int, bytes | None]]:
        """Each line with its number, counted from 1; None for one that is too long to be held.

        Raises:
            OSError: it cannot be read.
        """
        ...  # pragma: no cover

    def close(self) -> None:
        """Close what is open."""
        ...  # pragma: no cover


class LineReader(Closing):
    """A file of lines, open for reading.

    Args:
        path: where it is.
        files: the file operations.

    Raises:
        OSError: it is not there, a symbolic link, no regular file, or cannot be read.
    """

    def __init__(self, path: str, files: FileSystem) -> None:
        self._files = files
        self._fd = files.open_to_read(path)
        try:
            self.size = files.size(self._fd)
        except BaseException:
            files.close(self._fd)
            raise

    def numbered(self) -> Iterator[tuple[int, bytes | None]]:
        """Each line with its number, counted from 1; None for one that is too long to be held.

        Raises:
            OSError: it cannot be read.
        """
        number, rest, too_long = 1, b"", False
        offset = 0
        while offset < self.size:
            chunk = self._files.read_at(self._fd, offset, min(_CHUNK, self.size - offset))
            if not chunk:
                break  # somebody made it shorter
            offset += len(chunk)
            first, *others = chunk.split(b"\n")
            rest += first
            for piece in others:
                yield number, None if too_long or len(rest) > MAX_LINE_BYTES else rest
                number, rest, too_long = number + 1, piece, False
            if len(rest) > MAX_LINE_BYTES:
                rest, too_long = b"", True
        if rest or too_long:
            yield number, None if too_long else rest

    def close(self) -> None:
        """Close the file."""
        self._files.close(self._fd)
