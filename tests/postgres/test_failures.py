"""Lost connections, silent servers, locks: every call ends, and nothing is half done."""

from __future__ import annotations

import io
import time

import psycopg
import pytest
from tests.engine.conftest import AGENT
from tests.postgres.conftest import SHORT
from tests.postgres.proxy import DOWN, UP

from rotifer_engine import AccessPolicy, AgentMemoryError, StorageError

ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")

CALLS = {
    "create": lambda m, a, _c: m.write(a, "new", bytes(10), "CACHE"),
    "update": lambda m, a, _c: m.write(a, "k", b"new", "PATTERN"),
    "evict": lambda m, a, _c: m.write(a, "big", bytes(120), "PATTERN"),
    "refuse": lambda m, a, _c: m.write(a, "huge", bytes(190), "PATTERN"),
    "deny": lambda m, _a, c: m.write(c, "k", b"", "CACHE"),
    "read": lambda m, a, _c: m.read(a, "k"),
    "touch": lambda m, _a, c: m.read(c, "open"),
    "query": lambda m, a, _c: m.query(a),
    "delete": lambda m, a, _c: m.delete(a, "k"),
    "erase": lambda m, _a, _c: m.erase(),
}


def shape(sql):
    """Everything that is kept of the agent, its counters and how often each thing was recorded."""
    rows = sql(
        "SELECT key, value, category, last_accessed_by, update_order FROM rotifer.entry "
        "WHERE agent_id = %s ORDER BY key",
        AGENT,
    )
    head = sql(
        "SELECT used, update_order, audit_order FROM rotifer.agent WHERE agent_id = %s", AGENT
    )
    lines = sql(
        "SELECT audit_order, line::json ->> 'action', line::json ->> 'key' FROM rotifer.audit "
        "WHERE agent_id = %s ORDER BY audit_order",
        AGENT,
    )
    return rows, head, lines


def prepare(world, sql, a):
    """A memory that is nearly full."""
    sql.empty()
    memory = world.agent(quota_bytes=200)
    memory.write(a, "k", b"old", "CACHE")
    memory.write(a, "c", bytes(60), "CACHE")
    memory.write(a, "open", b"v", "PREFERENCE", ALL)


def outcome(call, *arguments):
    """The error's code, or None."""
    try:
        call(*arguments)
    except AgentMemoryError as error:
        return error.code
    return None


def places(sizes):
    """Where to cut what is sent in pieces: before each, within it, and behind it."""
    at = 0
    for size in sizes:
        yield from {at + 1, at + size // 2, at + size}
        at += size


QUICK = {"evict", "deny"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.long) for n in CALLS]
)
def test_cut_at_any_place(world, sql, reach, proxy, a, c, name):  # noqa: PLR0917
    """Each call has its result, and is done once; or it failed, and nothing was done."""
    call = CALLS[name]
    prepare(world, sql, a)
    before = shape(sql)
    memory = reach(proxy.url, quota_bytes=200)
    memory.usage()
    proxy.forget()
    expected = outcome(call, memory, a, c)
    after = shape(sql)
    sizes = {way: list(sent) for way, sent in proxy.sizes.items()}
    assert sizes[UP]
    failed = 0
    for way in (UP, DOWN):
        for place in sorted(set(places(sizes[way]))):
            prepare(world, sql, a)
            memory = reach(proxy.url, quota_bytes=200)
            memory.usage()
            proxy.forget()
            proxy.cut_after(way, max(place, 1))
            got = outcome(call, memory, a, c)
            assert got in {expected, "MEMORY_STORAGE_ERROR"}, (way, place)
            assert shape(sql) == (after if got == expected else before), (way, place, got)
            failed += got != expected
            memory._store.close()
    memory = reach(proxy.url)
    assert memory.write(a, "next", b"works", "CACHE") == memory.read(a, "next")
    if name in {"read", "touch", "query"}:
        assert 0 == failed  # what can be done twice is done again


def test_cut_in_the_middle_of_an_import(world, sql, reach, proxy, a):
    """All of it or nothing, where it goes over the wire in many pieces."""
    big = reach(proxy.url)
    for number in range(30):
        big.write(a, f"{number:02}", bytes(40_000), "PATTERN")
    file = io.BytesIO()
    big.export_to(file)
    for share in (0.1, 0.5, 0.9, 0.999):
        sql.empty()
        memory = reach(proxy.url)
        memory.usage()
        proxy.forget()
        proxy.cut_after(UP, int(30 * 40_000 * share))
        file.seek(0)
        got = outcome(memory.import_from, file)
        assert proxy.has_cut

        assert "MEMORY_STORAGE_ERROR" == got
        assert ([], 0) == (sql("SELECT key FROM rotifer.entry"), len(world.lines()))
    file.seek(0)
    assert 30 == reach(proxy.url).import_from(file).created


def test_a_commit_whose_answer_is_lost_is_found_out(world, sql, reach, proxy, a):
    """The change was made, so the call has its result; it was not, so the call fails."""
    memory = reach(proxy.url)
    memory.write(a, "k", b"1", "CACHE")
    proxy.forget()
    memory.write(a, "k", b"2", "CACHE")
    *_, answer = proxy.sizes[DOWN]
    everything = sum(proxy.sizes[DOWN])
    proxy.forget()
    proxy.cut_after(DOWN, everything - answer + 1)

    assert b"3" == memory.write(a, "k", b"3", "CACHE").value
    assert proxy.has_cut
    assert b"3" == world.memory.read(a, "k").value
    assert ["memory.create", "memory.update", "memory.update"] == world.actions()


def test_a_silent_server_is_given_up(world, reach, proxy, a):
    """A read and a write end in time, and say that there was no answer."""
    memory = reach(proxy.url)
    memory.write(a, "k", b"1", "CACHE")
    for call in (
        lambda: memory.read(a, "k"),
        lambda: memory.write(a, "k", b"2", "CACHE"),
        lambda: memory.query(a),
    ):
        proxy.hold()
        begun = time.monotonic()
        with pytest.raises(StorageError, match=r"no answer|timeout|timed out"):
            call()
        proxy.flow()

        assert time.monotonic() - begun < 6
    assert b"1" == memory.read(a, "k").value


def test_a_connection_that_falls_silent_in_the_commit(world, sql, reach, proxy, a):
    """The server ends the transaction that rests; only then is it known that it was not made."""
    memory = reach(proxy.url)
    memory.write(a, "k", b"1", "CACHE")
    tx = memory._store.begin(AGENT)
    with tx:
        tx.remove(tx.find("k"))
        proxy.strand()
        begun = time.monotonic()
        with pytest.raises(StorageError):
            tx.commit("x-1")

    assert time.monotonic() - begun < 8
    assert b"1" == memory.read(a, "k").value
    assert b"2" == memory.write(a, "k", b"2", "CACHE").value


def test_a_lock_that_is_held(world, sql, reach, postgres_url, a):
    """A write gives up in time, a read does not wait at all, and other agents go on."""
    world.memory.write(a, "k", b"1", "CACHE")
    memory = reach(postgres_url)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM rotifer.agent WHERE agent_id = %s FOR UPDATE", (AGENT,))
        begun = time.monotonic()
        with pytest.raises(StorageError, match=r"is locked: another writer .* 0\.3 s"):
            memory.write(a, "k", b"2", "CACHE")
        assert SHORT.lock <= time.monotonic() - begun < 3
        assert b"1" == memory.read(a, "k").value
        assert b"3" == reach(postgres_url, agent="another").write(a, "k", b"3", "CACHE").value
        other.rollback()

    assert b"2" == memory.write(a, "k", b"2", "CACHE").value


def test_a_statement_that_takes_too_long(world, sql, reach, postgres_url, a):
    """The server ends it, and the message has the figure."""
    world.memory.write(a, "k", b"1", "CACHE")
    memory = reach(postgres_url)
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE rotifer.entry IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StorageError, match=r"is locked|longer than the 0\.5 s"):
            memory.read(a, "k")
        other.rollback()

    assert b"1" == memory.read(a, "k").value


def test_sessions_that_the_server_ends(world, sql, reach, postgres_url, a):
    """As a restart does: those at rest are replaced without a word; a write that is going on fails."""
    memory = reach(postgres_url)
    memory.write(a, "k", b"1", "CACHE")

    def end_sessions():
        sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'rotifer' AND datname = current_database()"
        )

    end_sessions()
    assert b"1" == memory.read(a, "k").value
    end_sessions()
    assert b"2" == memory.write(a, "k", b"2", "CACHE").value
    with memory._store.begin(AGENT) as tx:
        row = tx.find("k")
        end_sessions()
        tx.remove(row)
        with pytest.raises(StorageError, match="nothing was changed: try again"):
            tx.commit("x-1")
    assert b"2" == memory.read(a, "k").value


def test_a_transaction_that_rests_is_ended(world, reach, postgres_url, a):
    """A supervisor that hangs does not keep the agent from all others."""
    memory = reach(postgres_url)
    memory.write(a, "k", b"1", "CACHE")
    with memory._store.begin(AGENT) as tx:
        patient = reach(postgres_url, limits=SHORT._replace(lock=5, statement=6))
        assert b"2" == patient.write(a, "k", b"2", "CACHE").value
        with pytest.raises(StorageError, match="nothing was changed"):
            tx.find("k")


def test_more_threads_than_connections(world, sql, postgres_url, a):
    """They take turns; who waits for too long is told so."""
    from rotifer_engine import PostgresStore

    store = PostgresStore(postgres_url, limits=SHORT, most=2, durable=False)
    with store:
        with (
            store.begin("one"),
            store.begin("two"),
            pytest.raises(StorageError, match=r"all 2 connections .* were in use for the 0\.3 s"),
        ):
            store.begin("three")
        with store.begin("three"):
            assert (0, 0) == store.followers("one", None, None)
    with pytest.raises(StorageError, match="is closed; open it again"):
        store.begin("one")


def test_nobody_listens(reach, a):
    """It is said where, at once."""
    begun = time.monotonic()
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/x cannot be reached"):
        reach("postgresql://u:hunter2@127.0.0.1:1/x").read(a, "k")

    assert time.monotonic() - begun < 2
