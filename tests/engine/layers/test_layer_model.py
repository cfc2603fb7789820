"""A plain-Python model of the layers beside the real ones, step by step."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.engine.conftest import QuickConnection, QuickFiles
from tests.engine.layers.test_visible import expected as page_says_visible

from rotifer_engine import (
    AuditLog,
    FixedClock,
    InvalidInput,
    PostgresAudit,
    PostgresStore,
    SqliteStore,
)
from rotifer_engine.layers import (
    KINDS,
    LayerEntry,
    Layers,
    SharedSnapshot,
    all_memory_layers,
    layer_of,
)

SCOPES = {
    "environment": "system",
    "consensus": "global",
    "about_me": "global",
    "agent_memory": "agent",
    "session": "session",
    "working": "working",
}
PUBLIC = ("consensus", "about_me", "agent_memory")


class Kept(NamedTuple):
    """What the model keeps of an entry; its place in the list is its age."""

    layer: str
    actor: str | None
    namespace: str
    kind: str
    session: str | None
    key: str | None
    content: str
    metadata: dict
    created: int
    updated: int

    def identity(self):
        """What makes it the same entry (layers §6)."""
        bound = not KINDS[self.kind].durable or self.layer in {"session", "working"}
        session = self.session if bound else None
        name = ("key", self.key) if self.key is not None else ("content", self.content)
        return self.layer, self.actor, self.namespace, session, name

    def entry(self):
        """The part of it that visibility goes by."""
        return LayerEntry("", SCOPES[self.layer], self.actor, self.namespace, self.kind, self.session, None, "", "{}", 0, 0, 0)  # fmt: skip

    def seen(self):
        """What a listing must show of it."""
        return self[:10]


def shown(each):
    """An entry of the engine in the words of the model."""
    return (
        layer_of(each),
        each.actor,
        each.namespace,
        each.kind,
        each.session,
        each.key,
        each.content,
        each.metadata,
        each.created_at,
        each.updated_at,
    )


def refusal(layer, actor, namespace, *, kind, session, runtime):
    """The code of the first rule of layers §3 that is broken; None when none is."""
    if layer not in all_memory_layers():
        return "ErrUnknownLayer"
    if runtime != (layer in {"environment", "session", "working"}) or layer == "unknown":
        return "ErrLayerNotWritable"
    if layer == "agent_memory" and not namespace:
        return "ErrLayerNamespaceRequired"
    if layer != "agent_memory" and namespace:
        return "MEMORY_INVALID_INPUT"
    if not kind:
        return "ErrKindRequired"
    if not session and (not KINDS[kind].durable or layer in {"session", "working"}):
        return "ErrSessionRequired"
    if layer in {"environment", "consensus"}:
        return "ErrLayerShared" if actor else None
    return None if actor else "ErrActorRequired"


words = st.sampled_from([*all_memory_layers(), *PUBLIC, *PUBLIC, "", "no"])
actors = st.sampled_from([None, "alice", "bob", "bob", "%"])
namespaces = st.sampled_from(
    ["", "notes", "notes", "agent://legal/x", "agent://legal/shared", "agent://tax/shared"]
)
kinds = st.sampled_from(["fact", "fact", "preference", "scratch", "episodic", ""])
sessions = st.sampled_from([None, "s1", "s2"])
keys = st.sampled_from([None, None, "k", "k2", "é"])
texts = st.sampled_from(["a", "b", "A", "😀"])
metadata = st.sampled_from([None, {"a": 1}, {"a": True}, {"actor": "alice"}])
agents = st.sampled_from([None, "agent-legal", "agent-tax"])


class LayersMachine(RuleBasedStateMachine):
    """The same steps for the model and for the engine."""

    server = None  # a database on a PostgreSQL server; else a file

    def __init__(self):
        super().__init__()
        if self.server is not None:
            self.server.empty()
        self.folder = tempfile.mkdtemp()
        self.clock = FixedClock(1_700_000_000_000)
        self.rows = []  # oldest first
        self.opened = []
        self.open()

    def open(self):
        """Open the files anew, as another process would."""
        self.close()
        if self.server is not None:
            self.store = PostgresStore(self.server.url, durable=False)
            self.audit = PostgresAudit(self.store, clock=self.clock)
        else:
            files, path = QuickFiles(), os.path.join(self.folder, "x.db")
            self.store = SqliteStore(path, durable=False, files=files, connection=QuickConnection)
            self.audit = AuditLog(path + ".jsonl", files=files, clock=self.clock)
        self.opened = [self.store, self.audit]
        self.layers = Layers(self.store, audit=self.audit, clock=self.clock)

    def close(self):
        """Close what is open."""
        for opened in self.opened:
            opened.close()

    def teardown(self):
        """Leave nothing behind."""
        self.close()
        shutil.rmtree(self.folder)

    def keep(self, new):
        """What a write makes of the rows: the entry as it must be stored."""
        for old in self.rows:
            if old.identity() == new.identity():
                new = new._replace(created=old.created)
                same = new._replace(updated=old.updated)
                # Equal in JSON's eyes, for which 1 and true are two things.
                if same == old and repr(same.metadata) == repr(old.metadata):
                    return old
                self.rows.remove(old)
                break
        self.rows.append(new)
        return new

    @rule(
        layer=words,
        content=texts,
        fields=st.fixed_dictionaries(
            {
                "actor": actors,
                "namespace": namespaces,
                "kind": kinds,
                "session": sessions,
                "key": keys,
                "metadata": metadata,
            }
        ),
        runtime=st.sampled_from([False, False, True]),
    )
    def save(self, layer, content, fields, runtime):
        """Write, replace, repeat, or be refused."""
        names = ("actor", "namespace", "kind", "session", "key", "metadata")
        actor, namespace, kind, session, key, metadata = map(fields.get, names)
        wanted = refusal(layer, actor, namespace, kind=kind, session=session, runtime=runtime)
        call = self.layers.save_runtime if runtime else self.layers.save
        got = entry = None
        try:
            entry = call(layer, content, **fields)
        except InvalidInput as error:
            got = error.code
        assert wanted == got
        if entry is not None:
            now = self.clock.now
            new = Kept(layer, actor, namespace, kind, session, key, content, metadata or {}, now, now)  # fmt: skip
            assert self.keep(new).seen() == shown(entry)

    @rule(layer=st.sampled_from(PUBLIC), actor=actors, namespace=namespaces)
    def clear(self, layer, actor, namespace):
        """Delete just the actor's rows of the layer and namespace, or be refused."""
        wanted = refusal(layer, actor, namespace, kind="fact", session=None, runtime=False)
        got = count = None
        try:
            count = self.layers.clear(layer, actor=actor, namespace=namespace)
        except InvalidInput as error:
            got = error.code
        assert wanted == got
        if wanted is None:
            gone = [row for row in self.rows if row[:3] == (layer, actor, namespace)]
            self.rows = [row for row in self.rows if row not in gone]
            assert len(gone) == count

    @rule(facts=st.dictionaries(st.sampled_from(["os", "node", "k"]), texts, max_size=3))
    def refresh(self, facts):
        """The environment becomes what was found."""
        found = self.layers.refresh_environment(SharedSnapshot(facts))
        now = self.clock.now
        kept = [
            self.keep(Kept("environment", None, "", "fact", None, name, text, {}, now, now))
            for name, text in facts.items()
        ]
        self.rows = [row for row in self.rows if row.layer != "environment" or row in kept]
        assert [row.seen() for row in kept] == [shown(each) for each in found]

    @rule(
        actor=actors,
        session=sessions,
        agent=agents,
        filters=st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(list(KINDS)),
                "namespace": namespaces,
                "limit": st.integers(1, 4),
                "offset": st.integers(0, 3),
            },
        ),
        which=st.sampled_from([{}, {}])
        | st.sampled_from(all_memory_layers()).map(lambda layer: {"layer": layer})
        | st.sampled_from(sorted(SCOPES.values())).map(lambda scope: {"scope": scope}),
    )
    def look(self, actor, session, agent, filters, which):
        """A page is what the model lets through, newest first."""
        wanted = [
            row
            for row in self.visible(actor, session, agent)
            if filters.get("kind", row.kind) == row.kind
            and filters.get("namespace", row.namespace) == row.namespace
            and which.get("layer", row.layer) == row.layer
            and which.get("scope", SCOPES[row.layer]) == SCOPES[row.layer]
        ]
        start = filters.get("offset", 0)
        page = wanted[start : start + filters.get("limit", 50)]
        found = self.layers.list(actor=actor, session=session, agent=agent, **filters, **which)
        assert [row.seen() for row in page] == [shown(each) for each in found]

    def visible(self, actor, session, agent):
        """What a reader sees, newest first; the room of another agent than legal by another name."""

        def sees(row):
            each = row.entry()
            if agent == "agent-tax":  # the page's rule is written for one agent: swap the two
                each = each._replace(namespace=each.namespace.replace("tax", "legal") if "tax" in each.namespace else each.namespace.replace("legal", "tax"))  # fmt: skip
            return page_says_visible(each, actor, session, agent and "agent-legal")

        return [row for row in reversed(self.rows) if sees(row)]

    @rule(move=st.sampled_from([1, 1_000, -5]))
    def time_passes(self, move):
        """Forwards, and backwards too."""
        self.clock.move(move)

    @rule()
    def reopen(self):
        """Another process goes on."""
        self.open()

    @invariant()
    def counts_are_the_lengths_of_lists(self):
        """For some readers, each layer's count is what its list would show."""
        for actor, session, agent in ((None, None, None), ("bob", "s1", "agent-legal")):
            asked = {"actor": actor, "session": session, "agent": agent}
            seen = self.visible(actor, session, agent)
            counts = self.layers.counts(**asked)
            assert list(all_memory_layers()) == list(counts)
            assert counts == {
                layer: sum(row.layer == layer for row in seen) for layer in all_memory_layers()
            }
            assert counts == {
                layer: len(self.layers.list(layer=layer, **asked)) for layer in all_memory_layers()
            }


def run(examples, steps, server=None):
    """Walk through the machine."""
    LayersMachine.server = server
    LayersMachine.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    LayersMachine.TestCase().runTest()


def test_the_layers_do_what_the_model_does():
    """Short walks, in the normal run."""
    run(25, 20)


def test_the_layers_of_a_server_do_what_the_model_does(postgres_sql):
    """The same on PostgreSQL."""
    run(8, 15, postgres_sql)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_the_layers_do_what_the_model_does_at_length():
    """Long walks."""
    run(600, 60)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_the_layers_of_a_server_do_what_the_model_does_at_length(postgres_sql):
    """Long walks on PostgreSQL."""
    run(100, 40, postgres_sql)
