"""What SQLite's failures mean to the person who reads about them.

They are told apart by the error's name, never by its text. Whatever is wrong with the file, it is
left as it is: nothing is deleted, nothing repaired, no other store is used (memory §8).
"""

from __future__ import annotations

from rotifer_engine._dbapi import sqlite3
from rotifer_engine.errors import StorageError

__all__ = ["is_busy", "storage_error"]

#: The beginning of an error's name, and what it says about the file.
_MEANINGS: dict[str, str] = {
    "SQLITE_BUSY": "is locked: another process kept it for the {seconds} s that we waited; "
    "let it finish, or end it, then try again",
    "SQLITE_LOCKED": "is locked by another part of this process; try again",
    "SQLITE_NOTADB": "is not an SQLite database; it was left as it is: move it away, or put the "
    "right file there",
    "SQLITE_CORRUPT": "is damaged ({detail}); it was left as it is: restore a copy, or move it "
    "away to start anew",
    "SQLITE_FULL": "has no space left on its disk; make room, then try again",
    "SQLITE_READONLY": "cannot be written ({detail}); check the permissions of the file, of its "
    "folder, and of the files of its name and -wal and -shm",
    "SQLITE_CANTOPEN": "cannot be opened ({detail}); check that its folder is there and may be "
    "written",
    # A full disk is met here first: the index of the log beside the file is made before any write.
    "SQLITE_IOERR_SHMSIZE": "has no room for its index, the file of its name and -shm ({detail}); "
    "make room on its disk, or allow larger files ('ulimit -f'), then try again",
    "SQLITE_IOERR": "could not be read or written ({detail}); check the disk",
}


def _name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether it failed only because somebody else holds a lock."""
    return _name(error).startswith("SQLITE_BUSY")


def storage_error(error: sqlite3.Error, path: str, busy_timeout_ms: int) -> StorageError:
    """The error to raise for what SQLite raised."""
    name = _name(error)
    detail = f"{name}: {error}" if name else str(error)
    seconds = f"{busy_timeout_ms / 1000:g}"
    for beginning, text in _MEANINGS.items():
        if name.startswith(beginning):
            meaning = text.format(seconds=seconds, detail=detail)
            return StorageError(f"the memory file {path} {meaning}")
    return StorageError(f"the memory file {path} failed ({detail})")
