"""The server is restarted, in good order and as a crash does it, under agents that go on writing."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading

import psycopg
import pytest
from tests.engine.conftest import AGENT, gene
from tests.postgres.cluster import Cluster

from rotifer_engine import (
    AgentMemory,
    AgentMemoryError,
    PostgresAudit,
    PostgresStore,
    Telemetry,
    migrate,
)
from rotifer_engine._postgres import Limits

LIMITS = Limits(connect=10, lock=2, statement=3, idle=2)


@pytest.fixture(scope="module")
def cluster():
    """A running server; its folder must be one that the user `postgres` can reach."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    cluster = Cluster(os.path.join(folder, "cluster"))
    cluster.start()
    migrate(cluster.url)
    yield cluster
    cluster.stop("immediate")
    shutil.rmtree(folder)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restarted_under_writers(cluster, tmp_path, mode):
    """Each write that was answered is there, none that failed is, and afterwards all is well."""
    store = PostgresStore(cluster.url, limits=LIMITS)
    telemetry = Telemetry(str(tmp_path / "telemetry.jsonl"), enabled=False)
    memory = AgentMemory(store, f"{AGENT}-{mode}", audit=PostgresAudit(store), telemetry=telemetry)
    memory.write(gene("a"), "first", b"", "PATTERN")
    made, refused, codes = set(), set(), set()
    many, over = threading.Event(), threading.Event()

    def work(letter):
        number = 0
        while not over.is_set():
            number += 1
            key = f"{letter}/{number}"
            try:
                memory.write(gene(letter), key, b"v", "PATTERN")
            except AgentMemoryError as error:
                codes.add(error.code)
                refused.add(key)
            else:
                made.add(key)
                if len(made) > 40:
                    many.set()

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    try:
        assert many.wait(60)
        cluster.stop(mode)
        cluster.start()
        before = len(made)
        while len(made) < before + 20 and any(thread.is_alive() for thread in threads):
            many.clear()
            many.wait(0.05)
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert codes <= {"MEMORY_STORAGE_ERROR"}
    there = {row.key for row in memory.list()}
    assert there == made | {"first"}
    assert not there & refused
    report = memory.check()
    assert ([], len(there)) == (report.findings, report.entries)
    store.close()


def test_a_server_that_is_gone(cluster, tmp_path):
    """The call ends with the code and the place, and works again when the server does."""
    store = PostgresStore(cluster.url, limits=LIMITS._replace(connect=2))
    telemetry = Telemetry(str(tmp_path / "telemetry.jsonl"), enabled=False)
    memory = AgentMemory(store, AGENT, audit=PostgresAudit(store), telemetry=telemetry)
    memory.write(gene("a"), "k", b"1", "PATTERN")
    cluster.stop()
    try:
        for call in (
            lambda: memory.read(gene("a"), "k"),
            lambda: memory.write(gene("a"), "k", b"2", "PATTERN"),
        ):
            with pytest.raises(AgentMemoryError, match=f"127.0.0.1:{cluster.port}/postgres") as got:
                call()
            assert "MEMORY_STORAGE_ERROR" == got.value.code
    finally:
        cluster.start()

    assert b"1" == memory.read(gene("a"), "k").value
    store.close()


def test_a_server_for_reading_only(cluster, tmp_path):
    """Reads go on; a write says that the server can only be read."""
    store = PostgresStore(cluster.url, limits=LIMITS)
    telemetry = Telemetry(str(tmp_path / "telemetry.jsonl"), enabled=False)
    memory = AgentMemory(store, "reader", audit=PostgresAudit(store), telemetry=telemetry)
    memory.write(gene("a"), "k", b"1", "PATTERN")
    with psycopg.connect(cluster.url, autocommit=True) as admin:
        admin.execute("REVOKE UPDATE, INSERT ON ALL TABLES IN SCHEMA rotifer FROM PUBLIC")
        admin.execute("CREATE ROLE looker LOGIN")
        admin.execute("GRANT USAGE ON SCHEMA rotifer TO looker")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA rotifer TO looker")
    url = cluster.url.replace("postgres@", "looker@")
    looking = PostgresStore(url, limits=LIMITS)
    mine = AgentMemory(looking, "reader", audit=PostgresAudit(looking), telemetry=telemetry)

    assert b"1" == mine.read(gene("a"), "k").value
    with pytest.raises(AgentMemoryError, match="does not allow this user to do it"):
        mine.write(gene("a"), "k", b"2", "PATTERN")
    looking.close()
    store.close()
