"""A plain-Python model of the memory page beside the real engine, step by step."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.engine.conftest import QuickConnection

from rotifer_engine import (
    ABSENT,
    AccessPolicy,
    AgentMemory,
    AgentMemoryError,
    AuditLog,
    Caller,
    DataPolicy,
    FileSystem,
    FixedClock,
    RetentionPolicy,
    SqliteStore,
    Telemetry,
    format_time,
    replay,
)
from rotifer_engine._filter import parse_filter
from rotifer_engine._retention import moment_of

DAY = 86_400_000
AGENT = "agent"


class Crash(BaseException):
    """The process ended here."""


class Files(FileSystem):
    """Nothing waits for the disk, and the process can end between lines and commit."""

    crash = False

    def sync(self, fd):
        """Go on, or end."""
        if self.crash:
            raise Crash

    def sync_dir(self, path):
        """Do not wait."""


class Kept(NamedTuple):
    """What the model keeps of an entry."""

    category: str
    value: bytes
    creator: Caller
    last: str
    created: int
    updated: int
    access: AccessPolicy
    retention: RetentionPolicy | None
    order: int


class Refused(Exception):
    """What the model expects the call to raise."""


def may(scope, entry, caller):
    """Memory §4, said once more."""
    return {
        "CREATOR_GENE_ONLY": entry.creator.gene_id == caller.gene_id,
        "SAME_DOMAIN": entry.creator.domain == caller.domain,
        "ALL_GENES": True,
        "DEPLOYER_CONFIGURED": False,
    }[scope]


def size(key, entry):
    """Bytes that count."""
    return len(key.encode()) + len(entry.value)


def gone(entry, now, data):
    """Memory §7, said once more."""
    policy = data if entry.retention is None else entry.retention
    limit = policy.max_retention_days
    return limit is not None and entry.updated + limit * DAY <= now


class Write(NamedTuple):
    """The arguments of a write."""

    key: str
    value: bytes
    category: str
    access: object
    retention: object


class Model:
    """Memory §2 to §7 over a dictionary."""

    def __init__(self):
        self.entries = {}
        self.order = 0
        self.lines = []  # what the log must say about the last call

    def live(self, now, data):
        """What has not expired."""
        return {key: entry for key, entry in self.entries.items() if not gone(entry, now, data)}

    def purge(self, now, data):
        """What has expired is removed; the keys, least recently updated first."""
        before, self.entries = self.entries, self.live(now, data)
        return sorted(before.keys() - self.entries.keys(), key=lambda key: before[key].order)

    def read(self, caller, key, category):
        """The entry, None, or a refusal."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        if not may(entry.access.read_scope, entry, caller):
            raise Refused("MEMORY_ACCESS_DENIED")
        if category is not ABSENT and category != entry.category:
            return None
        self.entries[key] = entry._replace(last=caller.gene_id)
        return self.entries[key]

    def write(self, caller, write, now, data, quota):
        """The entry as stored, or a refusal."""
        key, value, category, access, retention = write
        old = self.entries.get(key)
        sets_access, sets_retention = access is not ABSENT, retention is not ABSENT
        if old is not None:
            if not may(old.access.write_scope, old, caller):
                raise Refused("MEMORY_ACCESS_DENIED")
            sets_access = sets_access and access != old.access
            sets_retention = sets_retention and retention != old.retention
            if (sets_access or sets_retention) and caller.gene_id != old.creator.gene_id:
                raise Refused("MEMORY_ACCESS_DENIED")
        if sets_access and (
            "DEPLOYER_CONFIGURED" in access
            or (access.share_policy != "PRIVATE" and not data.anonymization_supported)
        ):
            raise Refused("MEMORY_ACCESS_DENIED")
        if sets_retention and retention is not None and data.max_retention_days is not None:
            days = retention.max_retention_days
            if days is None or days > data.max_retention_days:
                raise Refused("MEMORY_ACCESS_DENIED")
        new = Kept(
            category,
            value,
            caller if old is None else old.creator,
            caller.gene_id,
            now if old is None else old.created,
            now,
            access
            if sets_access
            else AccessPolicy("SAME_DOMAIN", "SAME_DOMAIN", "PRIVATE")
            if old is None
            else old.access,
            retention if sets_retention else None if old is None else old.retention,
            self.order + 1,
        )
        after = {**self.entries, key: new}
        queue = sorted(
            (k for k, e in self.entries.items() if k != key and e.category != "PREFERENCE"),
            key=lambda k: (
                ["CACHE", "PATTERN", "CONTEXT"].index(self.entries[k].category),
                self.entries[k].order,
            ),
        )
        evicted = []
        while sum(size(k, e) for k, e in after.items()) > quota:
            if not queue:
                raise Refused("MEMORY_QUOTA_EXCEEDED")
            evicted.append(queue.pop(0))
            del after[evicted[-1]]
        self.entries = after
        self.order += 1
        self.lines = [("evict", k) for k in evicted] + [
            ("create" if old is None else "update", key)
        ]
        return new

    def query(self, caller, filters):
        """Keys of the answer."""
        answer = [
            key
            for key, entry in sorted(self.entries.items(), key=lambda item: -item[1].order)
            if may(entry.access.read_scope, entry, caller)
            and filters.get("category", entry.category) == entry.category
            and key.encode().startswith(filters.get("keyPrefix", "").encode())
            and ("since" not in filters or format_time(entry.updated) >= filters["since"])
            and ("until" not in filters or format_time(entry.updated) < filters["until"])
        ]
        return answer[: filters.get("limit", 100)]

    def delete(self, caller, key):
        """Nothing, or a refusal."""
        entry = self.entries.get(key)
        if entry is None:
            raise Refused("MEMORY_NOT_FOUND")
        if caller is not None and not may(entry.access.write_scope, entry, caller):
            raise Refused("MEMORY_ACCESS_DENIED")
        del self.entries[key]
        self.lines = [("delete", key)]


CALLERS = [Caller("v2:" + letter * 64, domain) for letter in "abc" for domain in "xy"]
callers = st.sampled_from(CALLERS)
keys = st.sampled_from(["a", "b", "ab", "%", "é", "e\u0301", "😀", "A"])
categories = st.sampled_from(["PREFERENCE", "PATTERN", "CONTEXT", "CACHE"])
scopes = st.sampled_from(["CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES", "ALL_GENES"])
accesses = st.just(ABSENT) | st.builds(
    AccessPolicy,
    scopes | st.just("DEPLOYER_CONFIGURED"),
    scopes,
    st.sampled_from(["PRIVATE", "PRIVATE", "PRIVATE", "KNOWLEDGE_GENE"]),
)
days = st.sampled_from([None, 1, 2, 3, 2_147_483_647])
retentions = st.sampled_from([ABSENT, ABSENT, None]) | st.builds(
    RetentionPolicy, days, st.booleans(), st.booleans()
)
values = st.binary(max_size=3) | st.integers(0, 60).map(bytes)
moves = st.sampled_from([0, 1, DAY - 1, DAY, 2 * DAY, -1, -DAY])


class MemoryMachine(RuleBasedStateMachine):
    """The same steps for the model and for the engine."""

    steps = 0

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.state = os.path.join(self.folder, ".rotifer")
        self.files = Files()
        self.clock = FixedClock(1_700_000_000_000)
        self.quota = self.allowed = 200
        self.data = DataPolicy(None, False, False)
        self.model = Model()
        self.opened = []
        self.open()

    def open(self):
        """Open the files anew, as another process would."""
        self.close()
        self.store = SqliteStore(
            os.path.join(self.state, "playground.db"),
            durable=False,
            files=self.files,
            connection=QuickConnection,
        )
        self.audit = AuditLog(
            os.path.join(self.state, "audit.jsonl"), files=self.files, clock=self.clock
        )
        self.telemetry = Telemetry(
            os.path.join(self.state, "t.jsonl"), files=self.files, clock=self.clock
        )
        self.opened = [self.store, self.audit, self.telemetry]
        self.configure()

    def configure(self):
        """The memory with the agent's present settings."""
        self.memory = AgentMemory(
            self.store,
            AGENT,
            quota_bytes=self.quota,
            data_policy=self.data,
            audit=self.audit,
            telemetry=self.telemetry,
            clock=self.clock,
        )

    def close(self):
        """Close what is open."""
        for opened in self.opened:
            opened.close()

    def teardown(self):
        """Leave nothing behind."""
        self.close()
        shutil.rmtree(self.folder)

    def log(self):
        """The lines of the log, whole ones only."""
        path = os.path.join(self.state, "audit.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, "rb") as file:
            return [json.loads(line) for line in file]

    def both(self, expect, call):
        """What the model says must be what the engine does and what the log says of it.

        A failed call has changed nothing, and has its one line, if any: that is in the model.
        """
        said = len(self.log())
        purged = self.model.purge(self.clock.now, self.data)
        self.model.lines = []
        before = dict(self.model.entries)
        expected = result = wanted = got = None
        try:
            expected = expect()
        except Refused as refused:
            wanted = str(refused)
            assert before == self.model.entries
            assert not self.model.lines
        try:
            result = call()
        except AgentMemoryError as error:
            got = error.code
        assert wanted == got
        lines = [
            line
            for line in self.log()[said:]
            if line["action"] not in {"memory.abandoned", "memory.continued"}
        ]
        refusals = {"MEMORY_ACCESS_DENIED": "denied", "MEMORY_QUOTA_EXCEEDED": "quota_exceeded"}
        expired = [line["key"] for line in lines if line["action"] == "memory.expire"]
        assert sorted(purged) == sorted(expired)
        told = [(line["action"][7:], line["key"]) for line in lines[len(expired) :]]
        if wanted in refusals:
            assert [(refusals[wanted], wanted)] == [
                (action, line["code"])
                for (action, _), line in zip(told, lines[len(expired) :], strict=True)
            ]
        else:
            assert self.model.lines == told
        return expected, result

    @rule(
        caller=callers,
        write=st.builds(Write, keys, values, categories, accesses, retentions),
    )
    def write(self, caller, write):
        """Create or replace, or be refused."""
        expected, entry = self.both(
            lambda: self.model.write(caller, write, self.clock.now, self.data, self.quota),
            lambda: self.memory.write(caller, *write),
        )
        if expected is not None:
            self.same(write.key, expected, entry)
            assert self.memory.usage() <= self.quota

    @rule(caller=callers, key=keys, category=st.just(ABSENT) | categories)
    def read(self, caller, key, category):
        """Get the entry, nothing, or a refusal."""
        expected, entry = self.both(
            lambda: self.model.read(caller, key, category),
            lambda: self.memory.read(caller, key, category),
        )
        assert (expected is None) == (entry is None)
        if expected is not None:
            self.same(key, expected, entry)

    @rule(
        caller=callers,
        filters=st.fixed_dictionaries(
            {},
            optional={
                "category": categories,
                "keyPrefix": st.sampled_from(["", "a", "%", "e", "é", "😀", "z"]),
                "limit": st.integers(1, 5),
                "since": moves.map(lambda move: format_time(1_700_000_000_000 + move)),
                "until": moves.map(lambda move: format_time(1_700_000_000_000 + move)),
            },
        ),
    )
    def query(self, caller, filters):
        """Get what may be read, in its order."""
        expected, answer = self.both(
            lambda: self.model.query(caller, filters), lambda: self.memory.query(caller, filters)
        )
        assert expected == [entry.key for entry in answer]
        for entry in answer:
            self.same(entry.key, self.model.entries[entry.key], entry)

    @rule(caller=callers, key=keys)
    def delete(self, caller, key):
        """Delete as a gene."""
        self.both(lambda: self.model.delete(caller, key), lambda: self.memory.delete(caller, key))

    @rule(key=keys)
    def deployer_deletes(self, key):
        """Delete as the deployer."""
        self.both(lambda: self.model.delete(None, key), lambda: self.memory.delete_key(key))

    @rule(category=categories)
    def deployer_deletes_a_category(self, category):
        """Delete many at once."""

        def expect():
            gone = [key for key, entry in self.model.entries.items() if entry.category == category]
            for key in sorted(gone, key=lambda key: self.model.entries[key].order):
                del self.model.entries[key]
                self.model.lines.append(("delete", key))
            return len(gone)

        expected, count = self.both(expect, lambda: self.memory.delete_category(category))
        assert expected == count

    @rule(move=moves)
    def time_passes(self, move):
        """Forwards, and backwards too."""
        self.clock.move(move)

    @rule(quota=st.integers(20, 300))
    def change_quota(self, quota):
        """The deployer gives more or less room."""
        self.quota = quota
        self.allowed = max(quota, sum(size(*item) for item in self.model.entries.items()))
        self.configure()

    @rule(limit=days, anonymization=st.booleans())
    def change_data_policy(self, limit, anonymization):
        """The deployer changes the agent's data policy."""
        self.data = DataPolicy(limit, False, anonymization)
        self.configure()

    @rule()
    def reopen(self):
        """Another process goes on."""
        self.open()

    @rule()
    def rotate(self):
        """The log is renamed from outside; what the old one said is kept in front of the new one."""
        path = os.path.join(self.state, "audit.jsonl")
        if os.path.exists(path) and self.store.last_change() is not None:
            with open(path, "rb") as old, open(path + ".all", "ab") as kept:
                kept.write(old.read())
            os.unlink(path)

    @rule(
        caller=callers,
        key=keys,
        value=values,
        category=categories,
        what=st.sampled_from(["write", "delete"]),
    )
    def crash(self, caller, key, value, category, what):
        """The process ends between the lines and the commit: nothing has changed."""
        self.model.purge(self.clock.now, self.data)
        self.memory.query(caller)
        self.files.crash = True
        try:
            if what == "write":
                self.memory.write(caller, key, value, category)
            else:
                self.memory.delete_key(key)
        except (Crash, AgentMemoryError):
            pass
        finally:
            self.files.crash = False
        self.open()

    def same(self, key, expected, entry):
        """The model's entry and the engine's are the same."""
        assert expected == Kept(
            entry.category,
            entry.value,
            Caller(entry.created_by, entry.created_domain),
            entry.last_accessed_by,
            entry.created_at,
            entry.updated_at,
            entry.access_policy,
            entry.retention_policy,
            entry.order,
        )
        assert key == entry.key

    @rule()
    def look(self):
        """The deployer sees every live entry, and looking purges the others."""
        self.model.purge(self.clock.now, self.data)
        rows = {row.key: row for row in self.memory.list()}
        assert sorted(self.model.entries, key=str.encode) == list(rows)
        for key, row in rows.items():
            entry = self.model.entries[key]
            assert (entry.order, entry.last, size(key, entry)) == (
                row.order,
                row.last_accessed_by,
                row.size,
            )

    @invariant()
    def counter_rows_and_log_agree(self):
        """Usage is the sum of the live entries, and the log gives the keys of the rows."""
        live = self.model.live(self.clock.now, self.data)
        assert sum(size(key, entry) for key, entry in live.items()) == self.memory.usage()
        assert self.memory.usage() <= self.allowed  # a smaller quota removes nothing by itself
        lines = []
        for path in ("audit.jsonl.all", "audit.jsonl"):
            if os.path.exists(os.path.join(self.state, path)):
                with open(os.path.join(self.state, path), "rb") as file:
                    lines += file.readlines()
        keys_of_log = replay(lines, last_change=self.store.last_change()).get(AGENT, set())
        assert set(self.model.entries) == keys_of_log
        for line in map(json.loads, lines):
            assert (line["action"], line["category"]) != ("memory.evict", "PREFERENCE")

    @invariant()
    def every_reader_sees_the_same(self):
        """What each gene can see, asked of the store, so that looking purges nothing."""
        moment = moment_of(self.clock.now, self.data)
        live = self.model.live(self.clock.now, self.data)
        newest_first = sorted(live, key=lambda key: -live[key].order)
        everything = parse_filter({"limit": 1_000})
        for caller in CALLERS:
            seen = list(self.store.select(AGENT, caller, everything, moment))
            expected = [
                key for key in newest_first if may(live[key].access.read_scope, live[key], caller)
            ]
            assert expected == [entry.key for entry in seen]
            for entry in seen:
                self.same(entry.key, live[entry.key], entry)
        MemoryMachine.steps += 1


class Counted(MemoryMachine.TestCase):
    """A run that has done no fewer steps than it says."""

    least = 0

    def runTest(self):  # noqa: N802 - the name that the library runs
        """Run, and count."""
        before = MemoryMachine.steps
        super().runTest()
        assert self.least <= MemoryMachine.steps - before


COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}


class TestModel(Counted):
    """What every run of the tests does."""

    least = 2_000
    settings = settings(max_examples=120, stateful_step_count=40, **COMMON)


@pytest.mark.long
@pytest.mark.timeout(3_600)
class TestModelLong(Counted):
    """A hundred thousand steps."""

    least = 100_000
    settings = settings(max_examples=2_000, stateful_step_count=60, **COMMON)


del Counted
