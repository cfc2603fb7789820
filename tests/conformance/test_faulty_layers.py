"""Stores whose layers break a rule fail the cases that name it."""
# ruff: noqa: D102 - the methods are those of the store's interface

from __future__ import annotations

import pytest
from tests.conformance.test_faulty_stores import Around, AroundTransaction

from rotifer_engine import AuditLog, SqliteStore
from rotifer_engine.conformance import cases, check
from rotifer_engine.layers import Layers


class WithLayers(Around):
    """A store whose layers have a fault."""

    def __init__(self, inner, faulty):
        super().__init__(inner)
        self.kept = faulty(inner.layers())

    def layers(self):
        return self.kept


class KeptOpen(Around):
    """A store that somebody else closes."""

    def close(self):
        pass


class Forgetful(Around):
    """The layers of a store; remembers who wrote last."""

    actor = ""

    def begin(self, actor):
        self.actor = actor or self.actor
        return self.inner.begin(actor)


class NobodyIsEveryone(Forgetful):
    """A request without an actor is taken for the last one's."""

    def select(self, reader, query):
        return self.inner.select(reader._replace(actor=reader.actor or self.actor), query)


class EverySession(Forgetful):
    """What is ephemeral is seen in any session."""

    def select(self, reader, query):
        return self.inner.select(reader._replace(session="s1"), query)


class LimitsBeforeKind(Forgetful):
    """LIMIT, and then the kind."""

    def select(self, reader, query):
        for entry in self.inner.select(reader, query._replace(kind=None)):
            if query.kind in {None, entry.kind}:
                yield entry


class LimitsBeforeActor(Forgetful):
    """LIMIT among the rows of all actors: the newest of all pushes out one's own."""

    def select(self, reader, query):
        newest = [e.entry_id for e in self.inner.select(reader._replace(actor=self.actor), query)]
        for entry in self.inner.select(reader, query):
            if entry.entry_id in newest or query.limit > 1:
                yield entry


class ClearsEveryNamespace(Forgetful):
    """The namespace of a clear is ignored."""

    def begin(self, actor):
        class Transaction(AroundTransaction):
            def remove_rows(self, layer, namespace):
                self.inner.remove_rows(layer, None)

        return Transaction(self.inner.begin(actor))


class CountsWithoutSession(Forgetful):
    """Counts leave the session out."""

    def counts(self, reader):
        return self.inner.counts(reader._replace(session=""))


FAULTS = {
    NobodyIsEveryone: "a request without an actor is never everyone's",
    EverySession: "what is ephemeral is seen in its own session only",
    LimitsBeforeKind: "the limit counts what meets the filters of layers",
    LimitsBeforeActor: "the limit counts what the actor sees",
    ClearsEveryNamespace: "a namespace is cleared alone",
    CountsWithoutSession: "the runtime's own layers are seen in their session only",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faulty_layers_fail_the_case_of_their_fault(fault, tmp_path):
    """The case by its name, and not the case of a rule that the fault leaves alone."""
    names = {FAULTS[fault], "repeating a write changes nothing"}
    chosen = [case for case in cases() if case.name in names]

    report = check(
        lambda: WithLayers(SqliteStore(str(tmp_path / "memory.db"), durable=False), fault),
        only=chosen,
    )

    [cell] = report.cells
    assert 2 == cell.total
    assert [FAULTS[fault]] == [failed.case.name for failed in cell.failed]


def layer_cases():
    """All cases on the layers."""
    return [case for case in cases() if case.is_of_layers]


def test_what_everyone_sees_is_not_cleared_away(tmp_path):
    """A store that holds consensus already is left as it is, and the report says why."""
    audit = AuditLog(str(tmp_path / "audit.jsonl"))
    with SqliteStore(str(tmp_path / "memory.db"), durable=False) as store:
        layers = Layers(store, audit=audit)
        layers.save("consensus", "no meetings on Friday", kind="convention")

        report = check(lambda: KeptOpen(store), only=layer_cases())

        assert 1 == layers.counts()["consensus"]
    audit.close()
    [cell] = report.cells
    assert (0, len(layer_cases())) == (cell.total, len(cell.beyond))
    assert {"the store has entries that everyone sees, and each case begins without any"} == {reason for _, reason in cell.beyond}  # fmt: skip


def test_a_store_without_layers_is_checked_for_the_rest(tmp_path):
    """Its agents' memory is what it is; the cases on the layers are not applicable."""

    class Plain(SqliteStore):
        layers = property()  # as if it were not there

    report = check(
        lambda: Plain(str(tmp_path / "memory.db"), durable=False), only=layer_cases()[:3]
    )

    assert ["3 not applicable to python: the store keeps no layers"] == report.reasons()


def test_nothing_is_left_that_everyone_sees(tmp_path):
    """After a check the store has neither consensus nor environment."""
    with SqliteStore(str(tmp_path / "memory.db"), durable=False) as store:
        report = check(lambda: KeptOpen(store), only=layer_cases())

        assert report.ok
        assert {0} == set(
            Layers(store, audit=AuditLog(str(tmp_path / "a.jsonl"))).counts().values()
        )
