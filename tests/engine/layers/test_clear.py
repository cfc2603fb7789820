"""Clearing a layer: one's own rows, and nothing else."""

from __future__ import annotations

import os

import pytest
from tests.engine.layers.conftest import contents

from rotifer_engine import InvalidInput


def fill(layers):
    """Rows of two actors in every writable layer."""
    layers.save("consensus", "rule", kind="convention")
    for actor in ("alice", "bob"):
        layers.save("about_me", f"{actor} me", actor=actor, kind="fact")
        layers.save("about_me", f"{actor} note", actor=actor, kind="scratch", session="s")
        for namespace in ("notes", "agent://legal/shared"):
            layers.save("agent_memory", f"{actor} {namespace}", actor=actor, namespace=namespace, kind="fact")  # fmt: skip


def left(layers):
    """What is there, by anyone who sees it."""
    return {
        each.content
        for actor in ("alice", "bob")
        for each in layers.list(actor=actor, session="s", agent="agent-legal")
    }


@pytest.mark.parametrize(
    ("layer", "fields", "gone"),
    [
        ("consensus", {}, {"rule"}),
        ("about_me", {"actor": "alice"}, {"alice me", "alice note"}),
        ("agent_memory", {"actor": "bob", "namespace": "notes"}, {"bob notes"}),
        ("agent_memory", {"actor": "bob", "namespace": "agent://legal/shared"}, {"bob agent://legal/shared"}),
        ("agent_memory", {"actor": "bob", "namespace": "note"}, set()),
        ("about_me", {"actor": "carol"}, set()),
    ],
)  # fmt: skip
def test_a_clear_takes_just_these(layers, cell, layer, fields, gone):
    """Rows of the actor in the layer and namespace, of all kinds and sessions; the count is theirs."""
    fill(layers)
    before = left(layers)

    assert len(gone) == layers.clear(layer, **fields)
    assert before - gone == left(layers)
    assert len(gone) == cell.actions().count("memory.layer_delete")
    assert 0 == layers.clear(layer, **fields)


@pytest.mark.parametrize(
    ("code", "layer", "fields"),
    [
        ("ErrUnknownLayer", "", {}),
        ("ErrUnknownLayer", None, {}),
        ("ErrUnknownLayer", "me", {}),
        ("ErrLayerNotWritable", "environment", {}),
        ("ErrLayerNotWritable", "session", {"actor": "alice"}),
        ("ErrLayerNotWritable", "working", {"actor": "alice"}),
        ("ErrLayerNotWritable", "unknown", {"actor": "alice"}),
        ("ErrLayerShared", "consensus", {"actor": "alice"}),
        ("ErrActorRequired", "about_me", {}),
        ("ErrActorRequired", "about_me", {"actor": ""}),
        ("ErrActorRequired", "agent_memory", {"namespace": "notes"}),
        ("ErrLayerNamespaceRequired", "agent_memory", {"actor": "alice"}),
        ("ErrLayerNamespaceRequired", "agent_memory", {"actor": "alice", "namespace": ""}),
        ("MEMORY_INVALID_INPUT", "about_me", {"actor": "alice", "namespace": "notes"}),
        ("MEMORY_INVALID_INPUT", "consensus", {"namespace": "notes"}),
    ],
)
def test_a_clear_that_is_not_clear_is_refused(layers, cell, code, layer, fields):
    """Nothing goes that was not named: not one row, not one line."""
    fill(layers)
    before, lines = left(layers), len(cell.lines())
    with pytest.raises(InvalidInput) as caught:
        layers.clear(layer, **fields)

    assert code == caught.value.code
    assert (before, lines) == (left(layers), len(cell.lines()))


def test_what_was_cleared_can_be_written_again(layers, alice):
    """As a new entry."""
    first = alice("x", key="k")
    layers.clear("about_me", actor="alice")
    second = alice("y", key="k")

    assert first.entry_id == second.entry_id
    assert ["y"] == contents(layers.list(actor="alice"))


@pytest.mark.files
def test_cleared_contents_are_not_left_on_the_disk(cell, alice, layers):
    """No file holds the bytes any more."""
    secret = "correct horse battery staple"
    alice(secret * 100)
    alice(secret, metadata={"a": secret * 50}, key="k")
    layers.clear("about_me", actor="alice")
    for name in os.listdir(cell.state):
        with open(os.path.join(cell.state, name), "rb") as file:
            assert secret.encode() not in file.read(), name
