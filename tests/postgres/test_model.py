"""The model of the memory page beside the engine on a server, step by step."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import settings
from tests.engine import test_model as files
from tests.postgres.server import Sql, database

from rotifer_engine import PostgresAudit, PostgresStore, Telemetry, replay


class OnServer(files.MemoryMachine):
    """The same steps; there is no file, so none is rotated, and no moment between lines and commit."""

    url = None
    sql = None

    def __init__(self):
        self.sql.empty()
        super().__init__()

    def open(self):
        """Connect anew, as another process would."""
        self.close()
        self.store = PostgresStore(self.url, durable=False)
        self.audit = PostgresAudit(self.store, clock=self.clock)
        self.telemetry = Telemetry("/nowhere", enabled=False)
        self.opened = [self.store, self.audit, self.telemetry]
        self.configure()

    def raw(self):
        """The lines, in their order."""
        return [line for (line,) in self.sql("SELECT line FROM rotifer.audit ORDER BY audit_order")]

    def log(self):
        """The lines as they can be read."""
        return list(map(json.loads, self.raw()))

    def rotate(self):
        """There is no file."""

    def crash(self, **_):
        """Cut connections are tested by themselves."""

    @files.invariant()
    def counter_rows_and_log_agree(self):
        """Usage is the sum of the live entries, and the lines give the keys of the rows."""
        live = self.model.live(self.clock.now, self.data)
        used = self.memory.usage()
        assert sum(files.size(key, entry) for key, entry in live.items()) == used <= self.allowed
        assert set(self.model.entries) == replay(self.raw()).get(files.AGENT, set())


@pytest.fixture(scope="module", autouse=True)
def server():
    """A database for the machines."""
    with database() as url, contextlib.closing(Sql(url)) as sql:
        OnServer.url, OnServer.sql = url, sql
        yield


class TestModel(OnServer.TestCase):
    """What every run of the tests does."""

    settings = settings(max_examples=12, stateful_step_count=30, **files.COMMON)


@pytest.mark.long
@pytest.mark.timeout(3_600)
class TestModelLong(OnServer.TestCase):
    """Many thousand steps."""

    settings = settings(max_examples=400, stateful_step_count=60, **files.COMMON)
