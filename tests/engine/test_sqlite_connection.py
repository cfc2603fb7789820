"""A connection for each thread and process, and none left over."""

from __future__ import annotations

import os
import threading

import pytest
from tests.held import descriptors, given_back

from rotifer_engine import AuditLog, StorageError


def in_thread(call):
    """Run in a thread of its own; what it raised is raised here."""
    raised = []

    def run():
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def test_threads_come_and_go(make_world, a, b):
    """The connections of a thread are closed with it, the one for touching too."""
    world = make_world(durable=True)
    world.memory.write(a, "k", b"", "CACHE")
    counts = []
    for _ in range(20):
        for caller in (a, b):
            in_thread(lambda: world.memory.read(caller, "k"))  # noqa: B023
        counts.append(descriptors())

    # SQLite keeps a closed descriptor for the next connection, so the first round may add some.
    assert counts[0] >= max(counts[1:])


def test_closing_closes_the_connections_of_all_threads(make_world, a):
    """Nothing stays open, whichever thread opened it."""
    opened, closed = threading.Event(), threading.Event()

    def work():
        world.memory.write(a, "k", b"", "CACHE")
        opened.set()
        closed.wait()

    thread = threading.Thread(target=work)
    with given_back(descriptors):
        world = make_world()
        thread.start()
        opened.wait()
        world.close()

    closed.set()
    thread.join()


def test_a_closed_store_says_so(world, a):
    """Also to a thread that had a connection, and to one that had none; closing twice is fine."""
    world.memory.write(a, "k", b"", "CACHE")
    world.store.close()
    world.store.close()
    for call in (
        lambda: world.memory.read(a, "k"),
        lambda: world.memory.write(a, "k", b"", "CACHE"),
    ):
        with pytest.raises(StorageError, match="is closed; open it again"):
            call()
        with pytest.raises(StorageError, match="is closed; open it again"):
            in_thread(call)


def test_a_query_that_fails_leaves_no_read_open(world, a):
    """Closing a store in the middle of reading its rows ends the reading with an error."""
    for number in range(40):  # rows come a few at a time
        world.memory.write(a, f"{number}", b"", "CACHE")
    from rotifer_engine._filter import parse_filter
    from rotifer_engine._retention import Moment

    rows = world.store.select(world.memory.agent_id, a, parse_filter({}), Moment(0, None))
    next(rows)
    world.store.close()
    with pytest.raises(StorageError, match="is closed"):
        list(rows)


def test_many_threads_lose_nothing(world, a):
    """Sixteen threads write and delete at once; counter, rows and log agree."""

    def work(number):
        for step in range(20):
            world.memory.write(a, f"{number}/{step}", bytes(10), "CACHE")
            if step % 2:
                world.memory.delete(a, f"{number}/{step}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(f"{number}/{step}" for number in range(16) for step in range(0, 20, 2))

    assert expected == sorted(world.keys())
    assert sum(len(key) + 10 for key in expected) == world.memory.usage()
    assert 16 * 30 == len(world.lines())


def test_threads_together_never_exceed_the_quota(world, a):
    """Check and insert are one: of twenty that ask for the last place, one has it."""
    memory = world.agent(quota_bytes=100)
    memory.write(a, "full", bytes(80), "PREFERENCE")
    start = threading.Barrier(20)
    admitted = []

    def work(number):
        start.wait()
        try:
            memory.write(a, f"{number:02}", bytes(10), "PREFERENCE")
        except Exception:
            return
        admitted.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (1, 96) == (len(admitted), memory.usage())


def test_a_forked_child_opens_its_own(world, a):
    """The child reads and writes, the parent's connection is left alone, and both go on."""
    world.memory.write(a, "parent", b"", "CACHE")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            world.memory.write(a, "child", b"", "CACHE")
            code = 0 if ["child", "parent"] == world.keys() else 2
            world.store.close()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    world.memory.write(a, "later", b"", "CACHE")

    assert 0 == os.waitstatus_to_exitcode(status)
    assert ["child", "later", "parent"] == world.keys()


def test_a_child_keeps_off_the_connections_of_other_threads(world, a):
    """Connections of threads that the fork ended are neither used nor closed by the child."""
    ready, done = threading.Event(), threading.Event()

    def work():
        world.memory.write(a, "thread", b"", "CACHE")
        ready.set()
        done.wait()
        world.memory.write(a, "thread later", b"", "CACHE")

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            world.memory.write(a, "child", b"", "CACHE")
            world.store.close()
            code = 0
        finally:
            os._exit(code)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done.set()
    thread.join()

    assert ["child", "thread", "thread later"] == world.keys()


def test_writers_are_not_starved(make_world, a):
    """While one thread holds on to the file in turns, others get theirs in time."""
    world = make_world(busy_timeout_ms=2_000)
    done = []

    def work(number):
        audit = AuditLog(world.audit_path, files=world.files, clock=world.clock)
        memory = world.agent(audit=audit)
        for step in range(30):
            memory.write(a, f"{number}/{step}", b"", "CACHE")
        done.append(number)
        audit.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert list(range(8)) == sorted(done)
