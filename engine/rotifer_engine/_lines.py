"""Files of one JSON object a line, appended to by many threads and processes (memory §9).

One whole line per append, under a lock that all processes share: lines never interleave. A torn
last line, left by a crash, is ended first, so that the next good record is not swallowed; a full
disk leaves none. The file may be rotated from outside (renamed, while holding the same lock): the
next append sees that the name no longer leads to the open file, and opens the new one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from rotifer_engine._files import FileSystem

__all__ = ["LineFile"]

_CHUNK = 1024 * 1024  # far more than any usual append, which so is one write


class LineFile:
    """An append-only file of lines.

    Args:
        path: where it is; its folder is made if only that is missing.
        files: the file operations.
        durable: return from an append only when the lines are on the disk.
        lock_timeout_ms: how long another process may hold the file's lock.
    """

    def __init__(
        self, path: str, files: FileSystem, *, durable: bool, lock_timeout_ms: int
    ) -> None:
        self.path = os.path.abspath(path)
        self._files = files
        self._durable = durable
        self._lock_timeout_ms = lock_timeout_ms
        self._fd: int | None = None
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._thread_lock = threading.Lock()

    def _leave_parent(self) -> None:
        """In a forked child, let go of the descriptor whose lock is the parent's too."""
        if self._pid != os.getpid():
            if self._fd is not None:
                self._files.close(self._fd)
                self._fd = None
            self._start()

    def append(self, lines: Callable[[int, int], Iterable[str]]) -> int:
        """Append lines under the lock.

        Args:
            lines: called with the open descriptor and the file's size once the lock is held;
                returns the lines, without their ends. None are written if it returns none.

        Returns:
            The size of the file afterwards.

        Raises:
            OSError: they could not all be written; some of them may be in the file, each whole.
        """
        self._leave_parent()
        with self._thread_lock:
            fd = self._locked()
            whole = -1  # bytes of the file that are whole lines for sure
            try:
                whole = size = before = self._files.size(fd)
                torn = size > 0 and self._files.read_at(fd, size - 1, 1) != b"\n"
                buffer = bytearray(b"\n" if torn else b"")
                empty = True
                for line in lines(fd, size):
                    empty = False
                    buffer += line.encode("ascii")
                    buffer += b"\n"
                    if len(buffer) >= _CHUNK:
                        self._files.append(fd, bytes(buffer))
                        whole = size = size + len(buffer)
                        buffer.clear()
                if empty:
                    return before
                if buffer:
                    self._files.append(fd, bytes(buffer))
                if self._durable:
                    self._files.sync(fd)
                return size + len(buffer)
            except BaseException:
                # What the file holds now is not known, so nothing known about it is kept.
                self._fd = None
                try:
                    self._cut_half_line(fd, whole)
                finally:
                    self._files.close(fd)
                raise
            finally:
                if self._fd is not None:
                    self._files.unlock(fd)

    def _cut_half_line(self, fd: int, whole: int) -> None:
        """Take off the half of a line that a full disk took of what was appended.

        Args:
            fd: the file, locked still.
            whole: bytes of it that this append need not look at; -1 if nothing is known.
        """
        with suppress(OSError):  # the next append starts on a fresh line then, too
            size = self._files.size(fd)
            if 0 <= whole < size:
                end = self._files.read_at(fd, whole, size - whole).rfind(b"\n") + 1
                if whole + end < size:
                    self._files.cut(fd, whole + end)

    def _locked(self) -> int:
        """The descriptor of the file that the path names now, locked."""
        while True:
            if self._fd is None:
                self._files.make_private_dir(os.path.dirname(self.path))
                self._fd = self._files.open_private(self.path)
            fd = self._fd
            try:
                self._files.lock(fd, self._lock_timeout_ms)
                if self._files.same_file(fd, self.path):
                    return fd
            except BaseException:
                self._fd = None
                self._files.close(fd)
                raise
            self._fd = None
            self._files.close(fd)

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        self._leave_parent()
        with self._thread_lock:
            if self._fd is not None:
                self._files.close(self._fd)
                self._fd = None
