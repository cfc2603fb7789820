"""What is particular about the store on a server."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from tests.engine.conftest import AGENT, gene

from rotifer_engine import AccessDenied, Caller, InvalidInput, RetentionPolicy, StorageError


def test_a_domain_with_a_nul(world):
    """Text on the server cannot hold one; domains are compared as whole strings all the same."""
    odd, other = Caller("v2:" + "e" * 64, "a\0b"), Caller("v2:" + "f" * 64, "a")
    world.memory.write(odd, "k", b"v", "CACHE")

    assert "a\0b" == world.memory.read(odd, "k").created_domain
    assert ["k"] == [entry.key for entry in world.memory.query(odd)]
    assert [] == world.memory.query(other)
    with pytest.raises(AccessDenied):
        world.memory.read(other, "k")
    assert "a\0b" == world.lines()[0]["gene_domain"]


def test_a_query_of_too_much(world, sql, a):
    """It is refused as ever, and no more is asked of the server than an answer can hold."""
    memory = world.agent(quota_bytes=10**8)
    for number in range(12):
        memory.write(a, f"{number}", bytes(1_000_000), "CACHE")
    with pytest.raises(InvalidInput, match="the limit is 4,194,304"):
        memory.query(a)

    assert 4 == len(memory.query(a, {"limit": 4}))


def test_an_import_that_is_refused_late(world, sql, a):
    """What was sent already is taken back, its line is there, and the lock is free."""
    memory = world.agent(quota_bytes=10**8)
    for number in range(40):
        memory.write(a, f"{number:02}", bytes(50_000), "PATTERN")
    file = io.BytesIO()
    memory.export_to(file)
    memory.erase()
    text = file.getvalue().replace(
        b'"readScope":"SAME_DOMAIN"', b'"readScope":"DEPLOYER_CONFIGURED"'
    )
    lines = file.getvalue().splitlines(keepends=True)
    lines[-2] = text.splitlines(keepends=True)[-2]
    with pytest.raises(AccessDenied, match="line 41"):
        memory.import_from(io.BytesIO(b"".join(lines)))

    assert ([], 0) == (world.keys(), memory.usage())
    assert "memory.denied" == world.actions()[-1]
    assert [(0,)] == sql("SELECT used FROM rotifer.agent WHERE agent_id = %s", AGENT)
    assert 1 == memory.write(a, "k", b"", "CACHE").order
    assert [] == memory.check().findings


def test_what_was_changed_by_hand(world, sql, a):
    """A check finds rows, counters, lines and tables that are not as they were made."""
    for number in range(3):
        world.memory.write(a, f"{number}", b"v", "CACHE")
    assert [] == world.memory.check().findings
    sql("UPDATE rotifer.agent SET used = used + 1 WHERE agent_id = %s", AGENT)
    sql("DELETE FROM rotifer.audit WHERE agent_id = %s AND audit_order = 2", AGENT)
    sql("DROP INDEX rotifer.entry_expiry")
    try:
        found = [str(finding) for finding in world.memory.check().findings]
    finally:
        sql(
            "CREATE INDEX entry_expiry ON rotifer.entry (agent_id, expires_at) "
            "WHERE expires_at IS NOT NULL"
        )

    for text in ("the index entry_expiry is missing", "7 are counted", "line 2 is missing"):
        assert any(text in line for line in found), found


def test_a_trail_goes_on(world, a, c):
    """Each line once, those of this agent only, and what comes later too."""
    trail = world.memory.trail()
    assert [] == list(trail.read())
    world.memory.write(a, "k", b"", "CACHE")
    world.agent("other").write(a, "x", b"", "CACHE")
    assert ["memory.create"] == [line["action"] for line in trail.read()]
    world.memory.delete(a, "k")

    assert ["memory.delete"] == [line["action"] for line in trail.read()]
    assert [] == list(trail.read())
    trail.close()


def test_two_agents_do_not_wait_for_each_other(world, a):
    """Both write at the same time."""
    other = world.agent("other")
    with world.store.begin(AGENT):
        assert b"v" == other.write(a, "k", b"v", "CACHE").value
        with pytest.raises(AccessDenied):
            other.read(gene("c", "elsewhere"), "k")

    assert ["k"] == world.keys(other)


def test_without_the_driver():
    """It is said what is missing, and how it is installed."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import rotifer_engine as e\n"
        "try: e.open_store('postgresql://h/d')\n"
        "except e.StorageError as error: print(error.message)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install 'rotifer-bridge[postgres]'" in done.stdout


def test_a_read_of_what_the_server_has_forgotten(world, a):
    """Whoever stands between may drop what a connection had prepared: it is prepared anew."""
    world.memory.write(a, "k", b"v", "CACHE")
    for limit in (None, 5):
        memory = world.agent(data_policy=RetentionPolicy(limit, False, False))
        for _ in range(2):
            assert b"v" == memory.read(a, "k").value
            world.store.pool.ask(lambda session: session.run("DEALLOCATE ALL"))


def test_a_large_read_and_one_that_the_server_refuses(world, sql, a):
    """A value that comes in many pieces is whole; an error of the server is one of ours."""
    value = bytes(range(256)) * 4_096
    world.memory.write(a, "k", value, "CACHE")
    assert value == world.memory.read(a, "k").value
    sql("ALTER TABLE rotifer.entry RENAME COLUMN value TO gone")
    try:
        with pytest.raises(StorageError, match="42703"):
            world.memory.read(a, "k")
    finally:
        sql("ALTER TABLE rotifer.entry RENAME COLUMN gone TO value")

    assert value == world.memory.read(a, "k").value


def test_sqlite_needs_no_driver():
    """Who remembers in a file never imports it."""
    code = (
        "import sys, rotifer_engine as e\n"
        "e.SqliteStore('/nowhere/x.db'), e.AgentMemory, e.AuditLog\n"
        "print('psycopg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False\n" == done.stdout


def test_after_an_error_of_the_server(world, sql, a):
    """The connection can be used again, whatever was prepared on it."""
    sql("ALTER TABLE rotifer.entry ADD CONSTRAINT no_x CHECK (key <> 'x') NOT VALID")
    try:
        for number in range(3):
            with pytest.raises(StorageError, match="no_x"):
                world.memory.write(a, "x", b"", "CACHE")
            assert number == world.memory.write(a, "k", b"%d" % number, "CACHE").order - 1
            assert b"%d" % number == world.memory.read(a, "k").value
            assert world.memory.read(a, "none") is None
    finally:
        sql("ALTER TABLE rotifer.entry DROP CONSTRAINT no_x")

    assert ["memory.create", "memory.update", "memory.update"] == world.actions()
