"""What SQLite's failures mean to people."""

from __future__ import annotations

import sqlite3

import pytest

from rotifer_engine._sqlite_errors import is_busy, storage_error


def failure(name):
    """An error of SQLite with that name."""
    error = sqlite3.OperationalError("some text")
    if name:
        error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SQLITE_BUSY", "is locked: another process kept it for the 1.5 s"),
        ("SQLITE_BUSY_RECOVERY", "is locked: another process"),
        ("SQLITE_LOCKED_SHAREDCACHE", "by another part of this process"),
        ("SQLITE_NOTADB", "is not an SQLite database"),
        ("SQLITE_CORRUPT_INDEX", "is damaged (SQLITE_CORRUPT_INDEX: some text)"),
        ("SQLITE_FULL", "has no space left on its disk"),
        ("SQLITE_READONLY_DIRECTORY", "cannot be written (SQLITE_READONLY_DIRECTORY"),
        ("SQLITE_CANTOPEN", "cannot be opened"),
        ("SQLITE_IOERR_SHMSIZE", "has no room for its index"),
        ("SQLITE_IOERR_SHMSIZE", "make room on its disk"),
        ("SQLITE_IOERR_WRITE", "could not be read or written"),
        ("SQLITE_ERROR", "failed (SQLITE_ERROR: some text)"),
        ("", "failed (some text)"),
    ],
)
def test_each_failure_has_its_own_words(name, message):
    """Told apart by the error's name; the file is always named."""
    text = storage_error(failure(name), "/x/playground.db", 1_500).message

    assert text.startswith("the memory file /x/playground.db ")
    assert message in text


def test_locked_is_not_taken_for_damage():
    """Only a lock is waited for."""
    assert [True, True, False, False] == [
        is_busy(failure(name))
        for name in ("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_CORRUPT", "")
    ]
