"""Writing to a layer: what each demands, what is one entry, and what repeating does."""

from __future__ import annotations

import pytest
from tests.engine.layers.conftest import contents

from rotifer_engine import InvalidInput, StorageError
from rotifer_engine.layers import (
    KINDS,
    LAYER_ERROR_STATUS,
    LAYER_ERRORS,
    LayerError,
    all_memory_layers,
    require_actor,
)

GOOD = {
    "consensus": {},
    "about_me": {"actor": "alice"},
    "agent_memory": {"actor": "alice", "namespace": "notes"},
}


@pytest.mark.parametrize("layer", GOOD)
def test_each_writable_layer_keeps_what_it_is_given(layers, cell, layer):
    """The entry that a save returns is the one that is listed, with all its fields."""
    saved = layers.save(layer, "text", kind="convention", session="s", key="k", metadata={"a": [1]}, **GOOD[layer])  # fmt: skip

    assert [saved] == layers.list(actor="alice")
    assert layer == saved.layer
    assert {
        "entryId": saved.entry_id,
        "layer": layer,
        "scope": {"consensus": "global", "about_me": "global", "agent_memory": "agent"}[layer],
        "actor": GOOD[layer].get("actor"),
        "namespace": GOOD[layer].get("namespace", ""),
        "kind": "convention",
        "session": "s",
        "key": "k",
        "content": "text",
        "metadata": {"a": [1]},
        "createdAt": "2023-11-14T22:13:20.000Z",
        "updatedAt": "2023-11-14T22:13:20.000Z",
    } == saved.to_json()


ERRORS = [
    ("ErrUnknownLayer", "about me", {}, r"layer must be one of .*; got 'about me'"),
    ("ErrUnknownLayer", "", {}, "got ''"),
    ("ErrUnknownLayer", None, {}, "got null"),
    ("ErrUnknownLayer", ["about_me"], {}, "got an array"),
    ("ErrLayerNotWritable", "environment", {}, "written by the host sensor, not by this call, which writes consensus, about_me, agent_memory"),
    ("ErrLayerNotWritable", "session", {"actor": "a", "session": "s"}, "written by the runtime"),
    ("ErrLayerNotWritable", "working", {"actor": "a", "session": "s"}, "written by the runtime"),
    ("ErrLayerNotWritable", "unknown", {"actor": "a"}, "written by nobody"),
    ("ErrLayerShared", "consensus", {"actor": "alice"}, "consensus belongs to all, but an actor was given: 'alice'"),
    ("ErrLayerNamespaceRequired", "agent_memory", {"actor": "a"}, "give a namespace"),
    ("ErrLayerNamespaceRequired", "agent_memory", {"actor": "a", "namespace": None}, "give a namespace"),
    ("ErrActorRequired", "about_me", {}, "about_me belongs to one actor, and none was given"),
    ("ErrActorRequired", "about_me", {"actor": ""}, "none was given"),
    ("ErrActorRequired", "about_me", {"metadata": {"actor": "alice"}}, "none was given"),
    ("ErrActorRequired", "agent_memory", {"namespace": "notes"}, "none was given"),
    ("ErrActorRequired", "agent_memory", {"namespace": "agent://legal/shared"}, "none was given"),
    ("ErrKindRequired", "about_me", {"actor": "a", "kind": ""}, "kind is empty; it must be one of fact,"),
    ("ErrKindRequired", "about_me", {"actor": "a", "kind": None}, "kind is empty"),
    ("ErrSessionRequired", "about_me", {"actor": "a", "kind": "episodic"}, "episodic is seen in its own session only"),
    ("ErrSessionRequired", "consensus", {"kind": "scratch", "session": ""}, "scratch is seen in its own"),
    ("MEMORY_INVALID_INPUT", "about_me", {"actor": "a", "namespace": "notes"}, "about_me has no namespaces, but one was given: 'notes'"),
    ("MEMORY_INVALID_INPUT", "consensus", {"namespace": "notes"}, "consensus has no namespaces"),
    ("MEMORY_INVALID_INPUT", "agent_memory", {"actor": "a", "namespace": "agent://legal"}, "agent://<name>/<what>; got 'agent://legal'"),
    ("MEMORY_INVALID_INPUT", "agent_memory", {"actor": "a", "namespace": "agent:///x"}, "agent://<name>/<what>"),
    ("MEMORY_INVALID_INPUT", "agent_memory", {"actor": "a", "namespace": "agent://legal/"}, "agent://<name>/<what>"),
    ("MEMORY_INVALID_INPUT", "about_me", {"actor": "a", "kind": "Fact"}, "kind must be one of .*; got 'Fact'"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "layer", "fields", "message"), ERRORS)
def test_each_error_by_its_request(cell, code, layer, fields, message):
    """The code and the words; nothing is written, and nothing is said in the log."""
    with pytest.raises(InvalidInput, match=message) as caught:
        cell.layers.save(layer, "text", **{"kind": "fact", **fields})

    assert code == caught.value.code
    assert 0 == sum(cell.layers.counts(actor="alice").values())
    assert [] == cell.lines()


def test_every_code_has_a_test_and_a_status():
    """The list above leaves none out but the one that a write cannot give."""
    assert 400 == LAYER_ERROR_STATUS
    assert set(LAYER_ERRORS) - {"ErrMemoryLayerScopeConflict"} == {code for code, *_ in ERRORS} - {"MEMORY_INVALID_INPUT"}  # fmt: skip
    assert all(issubclass(error, LayerError) and error.code == code for code, error in LAYER_ERRORS.items())  # fmt: skip


def test_the_actor_is_demanded_by_one_function():
    """What a layer's rows need of an actor, for each layer."""
    outcome = {}
    for layer in all_memory_layers():
        for actor in ("", "alice"):
            try:
                outcome[layer, actor] = require_actor(layer, actor) == actor
            except LayerError as error:
                outcome[layer, actor] = error.code

    assert outcome == {
        **{(layer, ""): "ErrActorRequired" for layer in all_memory_layers()},
        **{(layer, "alice"): True for layer in all_memory_layers()},
        **dict.fromkeys([("environment", ""), ("consensus", "")], True),
        **dict.fromkeys([("environment", "alice"), ("consensus", "alice")], "ErrLayerShared"),
    }


# ---- what is one entry


def test_a_key_is_one_standing_entry(cell, alice, layers):
    """A second write under it takes its place: the id and the creation stay, it is the newest."""
    first = alice("tea", key="drink", metadata={"a": 1})
    other = alice("cats", key="pet")
    cell.clock.move(5)
    second = alice("coffee", key="drink", kind="preference")

    assert [second, other] == layers.list(actor="alice")
    assert (first.entry_id, first.created_at, first.updated_at + 5) == (second.entry_id, second.created_at, second.updated_at)  # fmt: skip
    assert ("coffee", "preference", {}) == (second.content, second.kind, second.metadata)
    assert ["memory.layer_create", "memory.layer_create", "memory.layer_update"] == cell.actions()


@pytest.mark.parametrize("key", [None, "drink"])
def test_repeating_a_write_changes_nothing(cell, alice, layers, key):
    """The same entry comes back, no older and no newer, and the log has one line."""
    first = alice("tea", key=key, metadata={"a": 1})
    newer = alice("cats")
    cell.clock.move(5)

    assert first == alice("tea", key=key, metadata={"a": 1})
    assert [newer, first] == layers.list(actor="alice")
    assert 2 == len(cell.lines())


@pytest.mark.parametrize("changed", [{"metadata": {"a": True}}, {"kind": "preference"}, {"session": "s2"}])  # fmt: skip
def test_the_same_content_with_something_else_is_the_same_entry(cell, alice, layers, changed):
    """Without a key the content is the identity; what else is said of it is replaced."""
    first = alice("tea", metadata={"a": 1}, session="s1")
    second = alice("tea", **{"metadata": {"a": 1}, "session": "s1", **changed})

    assert first.entry_id == second.entry_id
    assert first != second
    assert [second] == layers.list(actor="alice")


def test_an_entry_is_one_in_its_layer_actor_and_namespace(layers):
    """The same key or content elsewhere is another entry."""
    ids = [
        layers.save(layer, "tea", kind="fact", key=key, **fields).entry_id
        for key in (None, "k")
        for layer, fields in (
            ("consensus", {}),
            ("about_me", {"actor": "alice"}),
            ("about_me", {"actor": "bob"}),
            ("agent_memory", {"actor": "alice", "namespace": "a"}),
            ("agent_memory", {"actor": "alice", "namespace": "b"}),
        )
    ]

    assert 10 == len(set(ids))


def test_a_key_is_never_taken_for_a_content(alice, layers):
    """A key that is the hash of another entry's content does not meet it."""
    from hashlib import sha256

    alice("tea")
    alice("x", key=sha256(b"tea").hexdigest())

    assert ["x", "tea"] == contents(layers.list(actor="alice"))


def test_parts_of_an_identity_do_not_run_into_each_other(layers):
    """Actor and namespace, or namespace and session, whose texts joined are the same."""
    for actor, namespace in (("a", "bc"), ("ab", "c")):
        layers.save("agent_memory", "x", actor=actor, namespace=namespace, kind="fact", key="k")

    assert [1, 1] == [layers.counts(actor=actor)["agent_memory"] for actor in ("a", "ab")]


def test_what_is_ephemeral_is_of_its_session(alice, layers):
    """Two sessions' notes under one key do not replace each other, nor the durable entry."""
    for kind, session in (("scratch", "s1"), ("scratch", "s2"), ("fact", None)):
        alice(f"{kind} {session}", kind=kind, session=session, key="k")

    assert ["fact None", "scratch s1"] == contents(layers.list(actor="alice", session="s1"))
    assert ["fact None", "scratch s2"] == contents(layers.list(actor="alice", session="s2"))
    assert ["fact None"] == contents(layers.list(actor="alice"))
    assert [2, 2, 1] == [layers.counts(actor="alice", session=session)["about_me"] for session in ("s1", "s2", None)]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_durability_goes_by_the_kind(alice, layers, kind):
    """A durable entry is seen in another session, an ephemeral one in its own only."""
    alice("x", kind=kind, session="s1")
    seen = [len(layers.list(actor="alice", session=session)) for session in (None, "s1", "s2")]

    assert ([1, 1, 1] if KINDS[kind].durable else [0, 1, 0]) == seen


def test_text_comes_back_as_it_was(alice, layers):
    """Nothing is normalized, folded or trimmed."""
    texts = ["é", "e\u0301", " x ", "X", "x", "😀", "a\nb", "'; DROP TABLE", "%", "\ufeff", "\x01"]
    for text in texts:
        alice(text, metadata={text: text})

    assert texts[::-1] == contents(layers.list(actor="alice"))
    assert [{text: text} for text in texts[::-1]] == [e.metadata for e in layers.list(actor="alice")]  # fmt: skip


# ---- the runtime's own way


def test_the_runtime_writes_what_the_public_may_not(cell, layers):
    """Session and working are seen in their session by their actor, the environment by all."""
    for layer in ("session", "working"):
        layers.save_runtime(layer, layer, actor="alice", session="s1", kind="fact")
    cell.clock.move(1)
    layers.save_runtime("environment", "Linux", kind="fact")

    assert ["Linux", "working", "session"] == contents(layers.list(actor="alice", session="s1"))
    for reader in ({"actor": "alice", "session": "s2"}, {"actor": "alice"}, {"actor": "bob", "session": "s1"}, {}):  # fmt: skip
        assert ["Linux"] == contents(layers.list(**reader))


RUNTIME_ERRORS = [
    ("ErrLayerNotWritable", "consensus", {}),
    ("ErrLayerNotWritable", "about_me", {"actor": "a"}),
    ("ErrLayerNotWritable", "agent_memory", {"actor": "a", "namespace": "n"}),
    ("ErrLayerNotWritable", "unknown", {"actor": "a"}),
    ("ErrUnknownLayer", "", {}),
    ("ErrLayerShared", "environment", {"actor": "a"}),
    ("ErrActorRequired", "session", {"session": "s"}),
    ("ErrActorRequired", "working", {"session": "s"}),
    ("ErrSessionRequired", "session", {"actor": "a"}),
    ("ErrSessionRequired", "working", {"actor": "a"}),
    ("ErrSessionRequired", "environment", {"kind": "scratch"}),
    ("ErrKindRequired", "environment", {"kind": ""}),
    ("MEMORY_INVALID_INPUT", "session", {"actor": "a", "session": "s", "namespace": "n"}),
]


@pytest.mark.parametrize(("code", "layer", "fields"), RUNTIME_ERRORS)
def test_the_runtime_is_refused_too(layers, cell, code, layer, fields):
    """Its way is checked as the public one is; nothing is written."""
    with pytest.raises(InvalidInput) as caught:
        layers.save_runtime(layer, "text", **{"kind": "fact", **fields})

    assert code == caught.value.code
    assert [] == cell.lines()


def test_a_closed_store_is_told(layers, cell):
    """A failure of the store is no empty answer."""
    cell.store.close()
    with pytest.raises(StorageError, match="is closed"):
        layers.list()
    with pytest.raises(StorageError, match="is closed"):
        layers.save("consensus", "x", kind="fact")
