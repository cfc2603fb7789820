"""Following what is recorded about one agent: from the first line on, and what comes later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from rotifer_engine._audit import record_of
from rotifer_engine._reading import MAX_LINE_BYTES
from rotifer_engine._remedy import remedy_of
from rotifer_engine.errors import StorageError

if TYPE_CHECKING:
    from rotifer_engine._files import FileSystem
    from rotifer_engine._postgres import PostgresStore

__all__ = ["FileTrail", "RowTrail", "Trail"]

_CHUNK = 1024 * 1024
_PAGE = 500


class Trail(Protocol):
    """One agent's lines, in their order."""

    def read(self) -> Iterator[dict[str, Any]]:
        """The fields of each line that came since the last call; of all, the first time.

        Raises:
            StorageError: they cannot be read.
        """
        ...  # pragma: no cover

    def close(self) -> None:
        """Close what is open."""
        ...  # pragma: no cover


class FileTrail:
    """The lines of a file that are about an agent; a rotation (a rename) is followed.

    Args:
        path: the file; it need not be there yet.
        files: the file operations.
        agent_id: whose lines.
    """

    def __init__(self, path: str, files: FileSystem, agent_id: str) -> None:
        self._path = path
        self._files = files
        self._agent_id = agent_id
        self._fd: int | None = None
        self._offset = 0
        self._change_id: object = None

    def read(self) -> Iterator[dict[str, Any]]:
        """The fields of each line that came since the last call; of all, the first time.

        Raises:
            StorageError: the file cannot be read.
        """
        try:
            while self._opened():
                yield from self._new()
                if self._is_named():
                    return
                yield from self._new()  # what came between the last look and the rename
                self.close()
        except OSError as error:
            raise StorageError(
                f"the audit log {self._path} cannot be read: {error.strerror or error}; "
                f"{remedy_of(error)}"
            ) from error

    def _new(self) -> Iterator[dict[str, Any]]:
        return filter(None, map(self._parse, self._whole_lines()))

    def _opened(self) -> bool:
        if self._fd is None:
            try:
                self._fd = self._files.open_to_read(self._path)
            except FileNotFoundError:
                return False
            self._offset = 0
        return True

    def _is_named(self) -> bool:
        """Whether the file that was read to its end is still the one."""
        assert self._fd is not None, "it was opened"
        return self._files.same_file(self._fd, self._path)

    def _whole_lines(self) -> Iterator[bytes]:
        """Lines that have their end; a torn one waits for it, and is read again."""
        assert self._fd is not None, "it was opened"
        size = self._files.size(self._fd)
        rest = b""
        at = self._offset
        while at < size:
            chunk = self._files.read_at(self._fd, at, min(_CHUNK, size - at))
            if not chunk:
                break  # somebody made it shorter
            at += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._offset += len(line) + 1
                yield line
            if len(rest) > MAX_LINE_BYTES:  # no line of ours: it is passed over
                self._offset, rest = at, b""

    def _parse(self, raw: bytes) -> dict[str, Any] | None:
        if b'"change_id"' not in raw:
            return None
        try:
            fields = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        if record_of(fields) is None:
            return None
        known: dict[str, Any] = fields
        if known.get("agent_id") == self._agent_id:
            self._change_id = known["change_id"]
            return known
        # That a change was not made is told without an agent, right after its lines.
        abandoned = known["action"] == "memory.abandoned"
        return known if abandoned and known["change_id"] == self._change_id else None

    def close(self) -> None:
        """Close the file; reading on opens the one that is there then."""
        if self._fd is not None:
            self._files.close(self._fd)
            self._fd = None


class RowTrail:
    """The lines that a store keeps of an agent.

    Args:
        store: where they are.
        agent_id: whose lines.
    """

    def __init__(self, store: PostgresStore, agent_id: str) -> None:
        self._store = store
        self._agent_id = agent_id
        self._last = 0

    def read(self) -> Iterator[dict[str, Any]]:
        """The fields of each line that came since the last call; of all, the first time."""
        while page := self._store.lines(self._agent_id, self._last, _PAGE):
            for number, line in page:
                fields: dict[str, Any] = json.loads(line)
                yield fields
                self._last = number

    def close(self) -> None:
        """Nothing of its own is open."""
