"""Making the tables, and bringing them up to date: all steps or none, once, and never backwards."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit, urlunsplit

import pytest
from tests.postgres.server import Sql, database

from rotifer_engine import FixedClock, PostgresStore, StorageError, migrate
from rotifer_engine import _migrate as module
from rotifer_engine._migrations import Migration, migrations, newest


@pytest.fixture
def empty():
    """The URL of a database that has no tables."""
    with database(migrated=False) as url:
        yield url


@pytest.fixture
def look(empty):
    """A way to look into it."""
    sql = Sql(empty)
    yield sql
    sql.close()


def usage(url):
    """Ask a store anything."""
    with PostgresStore(url) as store:
        return store.usage("agent", (0, None))


def test_from_nothing(empty, look):
    """Every step is applied and noted with the time that was given; again there is nothing to do."""
    with pytest.raises(
        StorageError, match=r"has no tables .* 'rotifer memory migrate' \(and --url URL"
    ):
        usage(empty)
    _, before, applied = migrate(empty, clock=FixedClock(77))
    names = [(step.version, step.name, 77) for step in migrations()]

    assert (0, tuple(step.name for step in migrations())) == (before, applied)
    assert names == look("SELECT version, name, applied_at FROM rotifer.migration ORDER BY 1")
    assert (newest(), ()) == migrate(empty)[1:]
    assert 0 == usage(empty)


def test_numbers_without_gaps():
    """The files are numbered from 1, so the newest number is how many there are."""
    assert list(range(1, newest() + 1)) == [step.version for step in migrations()]


def test_an_older_server(empty, look):
    """What is missing is said, with the command."""
    migrate(empty)
    look("UPDATE rotifer.migration SET version = 0 WHERE version = 1")
    look("DELETE FROM rotifer.migration WHERE version > 0")

    with pytest.raises(StorageError, match=r"at version 0; .* needs .* 'rotifer memory migrate'"):
        usage(empty)


def test_a_newer_server(empty, look):
    """It is refused by the store and by migrating, and left as it is."""
    migrate(empty)
    look("INSERT INTO rotifer.migration VALUES (999, 'later', 0)")
    for use in (usage, migrate):
        with pytest.raises(StorageError, match=r"newer version \(format 999; .*: upgrade"):
            use(empty)

    assert [(999,)] == look("SELECT max(version) FROM rotifer.migration")


def test_a_template(empty, look):
    """Every database to come would have its tables and its memories: it is refused, and left."""
    name = urlsplit(empty).path[1:]
    look(f"ALTER DATABASE {name} IS_TEMPLATE true")
    try:
        with pytest.raises(StorageError, match=rf"/{name} is a template: .* create a database"):
            migrate(empty)
    finally:
        look(f"ALTER DATABASE {name} IS_TEMPLATE false")

    assert [] == look("SELECT 1 FROM pg_namespace WHERE nspname = 'rotifer'")


def test_the_template_that_lets_nobody_in(empty):
    """It is told as a template, not as a wrong password."""
    with pytest.raises(StorageError, match=r"/template0 is a template: .* create a database"):
        migrate(urlunsplit(urlsplit(empty)._replace(path="/template0")))


def test_a_step_that_fails(empty, look, tmp_path, monkeypatch):
    """None is applied, and the next attempt can do all of them."""
    bad = tmp_path / "bad.sql"
    bad.write_text("CREATE TABLE rotifer.more (x int); SELECT 1 / 0;")
    steps = (*migrations(), Migration(newest() + 1, "bad", str(bad)))
    with monkeypatch.context() as patch:
        patch.setattr(module, "migrations", lambda: steps)
        with pytest.raises(StorageError, match="division by zero"):
            migrate(empty)

    assert [] == look("SELECT 1 FROM pg_namespace WHERE nspname = 'rotifer'")
    assert 0 == migrate(empty).before


def test_two_at_once(empty, look):
    """One does it, the other finds it done; the store has one id."""
    done, failed = [], []

    def work():
        try:
            done.append(migrate(empty).before)
        except StorageError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ([], [0, newest(), newest(), newest()]) == (failed, sorted(done))
    assert [(1,)] == look("SELECT count(*) FROM rotifer.store")


def test_every_key_begins_with_its_owner(empty, look):
    """The agent, or for the layers the actor: so a distributed server can shard by it."""
    migrate(empty)
    keys = look(
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
        "WHERE n.nspname = 'rotifer' AND i.indisunique AND c.relname NOT IN ('migration', 'store')"
    )

    assert {"agent", "entry", "audit"} <= {table for table, _ in keys}
    assert {"agent_id", "actor"} >= {column for _, column in keys}
    shared = look("SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'rotifer' AND relkind = 'S'")  # fmt: skip
    assert [] == shared  # a sequence would span all of them
