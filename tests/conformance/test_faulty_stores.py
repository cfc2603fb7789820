"""A check that cannot fail is a fault: stores that break a rule each fail the cases that name it."""

# ruff: noqa: D102 - the methods are those of the store's interface

from __future__ import annotations

import re
import unicodedata

import pytest

from rotifer_engine import SqliteStore
from rotifer_engine._access import allows
from rotifer_engine._filter import Selection
from rotifer_engine._retention import Moment
from rotifer_engine.conformance import cases, check
from rotifer_engine.conformance._report import explain

LONG_AGO = Moment(-(10**15), None)
EVERYTHING = Selection(None, None, None, None, 1_000)


class Around:
    """Hands on whatever is not said otherwise."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class AroundTransaction(Around):
    """A transaction of a faulty store."""

    def __enter__(self):
        self.inner.__enter__()
        return self

    def __exit__(self, *error):
        return self.inner.__exit__(*error)


class Faulty(Around):
    """A store with one fault; most are in how it reads, some in how it writes."""

    transaction = AroundTransaction

    def begin(self, agent_id):
        """A transaction with the fault."""
        return self.transaction(self.inner.begin(agent_id))

    def all_entries(self, agent_id, moment):
        """Every live entry, most recently updated first."""
        with self.inner.snapshot() as snapshot:
            categories = ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")
            return sorted(
                snapshot.entries(agent_id, categories, moment), key=lambda entry: -entry.order
            )


class ForgetsExpiry(Faulty):
    """Rows are there until they are purged, and it is never said that they should be."""

    def read(self, agent_id, key, moment):
        return self.inner.read(agent_id, key, LONG_AGO)

    def has_expired(self, agent_id, moment):
        return False


class ReadsExpired(Faulty):
    """A read gives what is due to be purged, though a purge is asked for."""

    def read(self, agent_id, key, moment):
        entry, _ = self.inner.read(agent_id, key, LONG_AGO)
        return entry, self.inner.has_expired(agent_id, moment)


class ExpiresLate(Faulty):
    """Gone a millisecond after its instant only."""

    def read(self, agent_id, key, moment):
        cutoff = None if moment.cutoff is None else moment.cutoff - 1
        return self.inner.read(agent_id, key, Moment(moment.now - 1, cutoff))


class EvictsNewestFirst(Faulty):
    """The other end of the category."""

    class transaction(AroundTransaction):  # noqa: N801 - as the attribute it stands for
        """See there."""

        def candidates(self, category):
            return reversed(list(self.inner.candidates(category)))


class EvictsByClock(Faulty):
    """Least recently updated by the wall clock."""

    class transaction(AroundTransaction):  # noqa: N801
        """See there."""

        def candidates(self, category):
            rows = list(self.inner.candidates(category))
            return iter(sorted(rows, key=lambda row: (row.updated_at, row.key)))


class LimitsBeforeAccess(Faulty):
    """LIMIT, and then who may read."""

    def select(self, agent_id, caller, selection, moment):
        for entry in self.all_entries(agent_id, moment)[: selection.limit]:
            if allows(entry.access_policy.read_scope, entry.created_by, entry.created_domain, caller):  # fmt: skip
                yield from (
                    found
                    for found in self.inner.select(agent_id, caller, selection._replace(limit=1_000), moment)
                    if found.key == entry.key
                )  # fmt: skip


class LimitsBeforeFilters(Faulty):
    """LIMIT, and then the filters."""

    def select(self, agent_id, caller, selection, moment):
        first = self.inner.select(
            agent_id, caller, EVERYTHING._replace(limit=selection.limit), moment
        )
        keys = {entry.key for entry in first}
        for entry in self.inner.select(agent_id, caller, selection, moment):
            if entry.key in keys:
                yield entry


class StaleAccess(Faulty):
    """Who accessed last is never written down."""

    def touch(self, agent_id, entry, gene_id):
        pass


class PrefixByLike(Faulty):
    """A prefix as SQL's LIKE has it: two wild cards, and letters in any case."""

    def select(self, agent_id, caller, selection, moment):
        if selection.key_prefix is None:
            yield from self.inner.select(agent_id, caller, selection, moment)
            return
        wild = {"%": ".*", "_": "."}
        text = selection.key_prefix.decode()
        pattern = "".join(wild.get(letter, re.escape(letter)) for letter in text)
        found = self.inner.select(agent_id, caller, selection._replace(key_prefix=None, limit=1_000), moment)  # fmt: skip
        matching = re.compile(pattern, re.DOTALL | re.IGNORECASE).match
        yield from [entry for entry in found if matching(entry.key)][: selection.limit]


class OrdersByClock(Faulty):
    """The most recently updated by the wall clock."""

    def select(self, agent_id, caller, selection, moment):
        found = list(self.inner.select(agent_id, caller, selection._replace(limit=1_000), moment))
        yield from sorted(found, key=lambda entry: (-entry.updated_at, entry.key))[: selection.limit]  # fmt: skip


class Replaces(Faulty):
    """INSERT OR REPLACE: an update is a new row."""

    class transaction(AroundTransaction):  # noqa: N801
        """See there."""

        def put(self, entry, replaced):
            if replaced is not None:
                self.inner.remove(replaced)
                entry = entry._replace(created_at=entry.updated_at)
            self.inner.put(entry, None)


class NormalizesKeys(Faulty):
    """Keys that look alike are one key."""

    def read(self, agent_id, key, moment):
        return self.inner.read(agent_id, unicodedata.normalize("NFC", key), moment)

    class transaction(AroundTransaction):  # noqa: N801
        """See there."""

        def find(self, key):
            return self.inner.find(unicodedata.normalize("NFC", key))

        def put(self, entry, replaced):
            self.inner.put(entry._replace(key=unicodedata.normalize("NFC", entry.key)), replaced)


class CutsValues(Faulty):
    """A value ends at its first NUL."""

    class transaction(AroundTransaction):  # noqa: N801
        """See there."""

        def put(self, entry, replaced):
            self.inner.put(entry._replace(value=entry.value.partition(b"\0")[0]), replaced)


class CountsTwice(Faulty):
    """The bytes of a replaced value stay counted."""

    def __init__(self, inner):
        super().__init__(inner)
        self.extra = {}

    def begin(self, agent_id):
        store, inner = self, self.inner.begin(agent_id)

        class Transaction(AroundTransaction):
            @property
            def used(self):
                return self.inner.used + store.extra.get(agent_id, 0)

            def put(self, entry, replaced):
                if replaced is not None:
                    store.extra[agent_id] = store.extra.get(agent_id, 0) + replaced.size
                self.inner.put(entry, replaced)

        return Transaction(inner)


class LooksElsewhere(Faulty):
    """What an agent does not have is looked for among all that other agents have."""

    def __init__(self, inner):
        super().__init__(inner)
        self.agents = {}

    def begin(self, agent_id):
        self.agents[agent_id] = None
        return self.inner.begin(agent_id)

    def read(self, agent_id, key, moment):
        found, due = self.inner.read(agent_id, key, moment)
        for other in self.agents:
            found = found or self.inner.read(other, key, moment)[0]
        return found, due


FAULTS = {
    ForgetsExpiry: "an expired entry reads as null",
    ReadsExpired: "a read of an expired entry does not revive it",
    ExpiresLate: "an entry of 7 days is gone at its instant and there 1 ms before",
    EvictsNewestFirst: "CACHE goes first, then PATTERN, then CONTEXT, the oldest of each first",
    EvictsByClock: "a clock that is set back does not make an entry old",
    LimitsBeforeAccess: "the limit counts what the gene may read",
    LimitsBeforeFilters: "the limit counts what meets the filters",
    StaleAccess: "a read of another gene sets who accessed last",
    PrefixByLike: "a prefix may be an underscore",
    OrdersByClock: "a clock that is set back changes no order",
    Replaces: "an update changes neither id nor creator nor creation",
    NormalizesKeys: "composed and decomposed are two keys",
    CutsValues: "a value may hold every byte",
    CountsTwice: "a value replaced by one of its size fits a full memory",
    LooksElsewhere: "two agents have two memories",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_store_fails_the_case_of_its_fault(fault, tmp_path):
    """The case by its name, and not the case of a rule that the fault leaves alone."""
    chosen = [case for case in cases() if case.name in {FAULTS[fault], "a key may be a space"}]

    report = check(
        lambda: fault(SqliteStore(str(tmp_path / "memory.db"), durable=False)), only=chosen
    )

    [cell] = report.cells
    assert 2 == cell.total
    assert [FAULTS[fault]] == [failed.case.name for failed in cell.failed]
    assert not report.ok


def test_a_difference_is_told_entry_by_entry(tmp_path):
    """The rule, the step, the field, what was expected and what came."""
    chosen = [case for case in cases() if case.name == FAULTS[StaleAccess]]

    report = check(
        lambda: StaleAccess(SqliteStore(str(tmp_path / "memory.db"), durable=False)),
        name="stale",
        only=chosen,
    )

    assert [
        "first difference: python x stale: a read of another gene sets who accessed last",
        "  rule: memory §5 readMemory: a successful read sets lastAccessedBy",
        "  step 3: A query()",
        "  entry 1:",
        '    lastAccessedBy expected: "B"',
        '    lastAccessedBy got:      "A"',
    ] == report.first_difference()[:6]


def test_a_store_that_breaks_fails_its_cases_and_no_more(tmp_path):
    """An exception that is no memory error is the case's result; the check goes on."""

    class Breaks(Faulty):
        def read(self, agent_id, key, moment):
            raise RuntimeError("out of order")

    chosen = [c for c in cases() if c.name in {"a deleted entry is gone", "deleting twice is not found"}]  # fmt: skip

    [cell] = check(
        lambda: Breaks(SqliteStore(str(tmp_path / "memory.db"), durable=False)), only=chosen
    ).cells

    assert (1, 2) == (cell.passed, cell.total)
    assert any("out of order" in line for line in explain(cell.failed[0], ""))
