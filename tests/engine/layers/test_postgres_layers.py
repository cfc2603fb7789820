"""The layers on a PostgreSQL server: what is of the server alone."""

from __future__ import annotations

import threading

import pytest
from tests.engine.layers.conftest import PostgresCell, contents, entry
from tests.postgres.server import Sql, database

from rotifer_engine import PostgresAudit, PostgresStore, StorageError, migrate
from rotifer_engine._postgres_layers import _TEXT, _statement, lock_of
from rotifer_engine.layers import Layers, SharedSnapshot
from rotifer_engine.layers._sql import bound
from rotifer_engine.layers._store import Query
from rotifer_engine.layers._visible import Reader


@pytest.fixture
def cell(tmp_path, postgres_sql):
    """A cell on the server."""
    postgres_sql.empty()
    cell = PostgresCell(str(tmp_path), postgres_sql)
    yield cell
    cell.close()


@pytest.fixture
def layers(cell):
    """Its layers."""
    return cell.layers


def test_a_page_walks_along_an_index(cell, layers):
    """Whatever is asked: no table is read as a whole; one's own rows are met in their order."""
    cell.insert(
        [
            *(entry(n, actor="alice", scope=("global", "agent")[n % 2], namespace="n") for n in range(1_500)),
            *(entry(n, actor=f"other {n % 50}") for n in range(1_500, 4_500)),
            *(entry(n, actor="bob", scope="agent", namespace="agent://legal/shared") for n in range(4_500, 6_000)),
        ]
    )  # fmt: skip
    session = cell.store.pool.connect()
    plans = {}
    for reader in (Reader(), Reader("alice"), Reader("alice", "s", "agent-legal")):
        for query in (Query(), Query(layer="about_me"), Query(layer="agent_memory")):
            statement, arguments = _statement(_TEXT.select(reader, query), bound(reader, query))
            plans[reader, query] = [
                row[0] for row in session.all("EXPLAIN " + statement, arguments)
            ]
    session.close()

    for (reader, query), plan in plans.items():
        assert [] == [step for step in plan if "Seq Scan" in step or "BitmapOr" in step], plan
        if reader.actor and query.layer is None:
            assert any("Index Scan Backward using layer_order " in step for step in plan), plan


def test_two_who_write_one_key_at_once_leave_one_entry(cell, layers):
    """The actor's row is locked: one creates, the others replace, and each has its line."""
    barrier = threading.Barrier(6)

    def work(number):
        barrier.wait(10)
        for _ in range(5):
            layers.save("consensus", f"{number}", kind="fact", key="k")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    actions = cell.actions()

    assert 1 == layers.counts()["consensus"] == actions.count("memory.layer_create")
    numbers = cell.sql("SELECT audit_order FROM rotifer.audit WHERE agent_id = %s ORDER BY 1", lock_of(""))  # fmt: skip
    assert [(number,) for number in range(1, len(actions) + 1)] == numbers


def test_actors_do_not_wait_for_each_other(cell, layers):
    """While one actor's row is locked another writes; the same one waits, and is told."""
    hurried = PostgresStore(cell.sql.url, limits=cell.store.pool.limits._replace(lock=0.2))
    other = Layers(hurried, audit=PostgresAudit(hurried), clock=cell.clock)
    with cell.store.layers().begin("alice"):
        assert "b" == other.save("about_me", "b", actor="bob", kind="fact").content
        with pytest.raises(StorageError, match=r"0\.2 s"):
            other.save("about_me", "a", actor="alice", kind="fact")
    assert "a" == other.save("about_me", "a", actor="alice", kind="fact").content
    hurried.close()


def test_a_change_and_its_lines_are_there_together_or_not_at_all(cell, layers):
    """What the server refuses leaves no line; the next change works."""
    layers.refresh_environment(SharedSnapshot({"os": "old"}))
    cell.sql("ALTER TABLE rotifer.layer ADD CONSTRAINT refused CHECK (content <> 'bad')")
    try:
        with pytest.raises(StorageError):
            layers.refresh_environment(SharedSnapshot({"os": "new", "node": "bad"}))
        with pytest.raises(StorageError):
            layers.save("consensus", "bad", kind="fact")
    finally:
        cell.sql("ALTER TABLE rotifer.layer DROP CONSTRAINT refused")

    assert ["memory.layer_create"] == cell.actions()
    assert ["old"] == contents(layers.list())
    layers.refresh_environment(SharedSnapshot({"os": "new", "node": "bad"}))
    assert ["bad", "new"] == contents(layers.list())


def test_a_lost_connection_is_made_anew(cell, layers):
    """Reads and writes go on after the server has ended every connection."""
    layers.save("consensus", "rule", kind="fact")
    for call in (layers.list, layers.counts, lambda: layers.save("consensus", "next", kind="fact")):
        cell.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rotifer' AND datname = current_database()")  # fmt: skip
        call()

    assert ["next", "rule"] == contents(layers.list())


def test_a_large_answer_is_cut_at_the_server(cell, layers):
    """It hands over the row that is one too many for an answer, and none after it."""
    cell.insert([entry(number, actor="alice", content="x" * 65_536) for number in range(200)])
    asked = Reader("alice"), Query(limit=200)

    assert 64 == len(list(cell.store.layers().select(*asked)))


def test_a_server_of_the_version_before_is_brought_up():
    """Until it is migrated it is refused, with the command to run; then it has the layers."""
    with database() as url:
        sql = Sql(url)
        sql("DROP TABLE rotifer.layer")
        sql("DELETE FROM rotifer.migration WHERE version >= 2")
        store = PostgresStore(url)
        layers = Layers(store, audit=PostgresAudit(store))
        with pytest.raises(
            StorageError, match=r"at version 1; .* needs 2: run 'rotifer memory migrate'"
        ):
            layers.list()
        assert ("layers",) == migrate(url).applied
        layers.save("consensus", "rule", kind="fact")

        assert ["rule"] == contents(layers.list())
        store.close()
        sql.close()
