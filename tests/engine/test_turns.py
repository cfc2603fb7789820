"""Writers of one file in one process queue, and do not wear SQLite's lock out."""

from __future__ import annotations

import threading

import pytest

from rotifer_engine import AgentMemory, AuditLog, Caller, SqliteStore, StorageError, Telemetry
from rotifer_engine._turns import Turn

GENE = Caller("v2:" + "a" * 64, "d")


def memory(folder, store):
    """An agent's memory in a store."""
    return AgentMemory(
        store,
        "agent",
        audit=AuditLog(str(folder / "audit.jsonl")),
        telemetry=Telemetry(str(folder / "telemetry.jsonl")),
    )


def test_two_hundred_threads_write_at_once(tmp_path):
    """Each of 200 threads gets its turn, however long the queue is beside the busy timeout."""
    failed = []
    start = threading.Barrier(200)

    def write(number):
        start.wait()
        try:
            for again in range(3):
                mine.write(GENE, f"key/{number}/{again}", b"value", "PATTERN")
        except Exception as error:
            failed.append(error)

    with SqliteStore(str(tmp_path / "playground.db"), busy_timeout_ms=1_000) as store:
        mine = memory(tmp_path, store)
        threads = [threading.Thread(target=write, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [] == failed
        assert 600 == sum(1 for _ in mine.list())


def test_a_turn_that_never_ends_is_an_error(tmp_path):
    """A thread that keeps the file is an error for the next one, which says so; then it works again."""
    with SqliteStore(str(tmp_path / "playground.db"), busy_timeout_ms=50) as store:
        mine = memory(tmp_path, store)
        mine.write(GENE, "key", b"1", "PATTERN")
        failed = []

        def write():
            try:
                mine.write(GENE, "key", b"2", "PATTERN")
            except StorageError as error:
                failed.append(error.message)

        with store.begin("agent"):
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()

        assert ["another thread of this program kept it for the 0.05 s"] == [
            message.partition("locked: ")[2].partition(" that we")[0] for message in failed
        ]
        assert b"3" == mine.write(GENE, "key", b"3", "PATTERN").value


def test_a_turn_that_is_not_given_is_given_up():
    """Who has waited in vain does not take the turn from the next one in the queue."""
    turn, gone = Turn(), threading.Event()
    turn.take(1)

    def another():
        turn.take(5)
        turn.give()
        gone.set()

    thread = threading.Thread(target=another)
    thread.start()

    assert not Turn.take(turn, 0.01)
    turn.give()
    thread.join()
    assert gone.is_set()
    assert turn.take(1)


def test_what_failed_keeps_no_turn(tmp_path):
    """A begin that fails gives its turn back."""
    path = tmp_path / "playground.db"
    with SqliteStore(str(path), busy_timeout_ms=50) as store:
        mine = memory(tmp_path, store)
        mine.write(GENE, "key", b"1", "PATTERN")
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(StorageError):
            mine.write(GENE, "key", b"2", "PATTERN")

        mine.write(GENE, "key", b"3", "PATTERN")

        assert b"3" == mine.read(GENE, "key").value
