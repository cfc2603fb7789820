"""Writes to layers that are made together: each has the outcome that it would have had alone."""

from __future__ import annotations

import pytest

from rotifer_engine import InvalidInput, StorageError
from rotifer_engine.layers import ActorRequired, LayerEntry, LayerShared, UnknownLayer, save_each


def note(content, actor="alice", layer="about_me", **fields):
    """The arguments of a write."""
    return {"layer": layer, "content": content, "actor": actor, "kind": "fact", **fields}


def kinds(outcome):
    """What became of each."""
    return [type(found) for found in outcome]


def test_each_actor_s_are_one_change(cell):
    """Entries come back in order and are listed newest first; one change id for each actor."""
    outcome = save_each(cell.layers, [note("1"), note("b", "bob"), note("2"), note("3")])
    listed = cell.layers.list(actor="alice")

    assert ["1", "b", "2", "3"] == [found.content for found in outcome]
    assert [outcome[3], outcome[2], outcome[0]] == listed
    assert 2 == len({line["change_id"] for line in cell.lines()})
    assert ["memory.layer_create"] * 4 == cell.actions()


def test_a_refused_one_holds_up_no_other(cell):
    """Each breaks its own rule; the good ones are written."""
    outcome = save_each(
        cell.layers,
        [
            note("good"),
            note("x", layer="nothing"),
            note("x", actor=None),
            note("x", layer="consensus"),
            note(""),
            note("rule", actor=None, layer="consensus"),
        ],
    )

    assert [
        LayerEntry, UnknownLayer, ActorRequired, LayerShared, InvalidInput, LayerEntry
    ] == kinds(outcome)  # fmt: skip
    assert {"rule", "good"} == {found.content for found in cell.layers.list(actor="alice")}


def test_the_same_twice(cell):
    """A key stands for one entry, and repeating a write changes nothing, in one change too."""
    outcome = save_each(
        cell.layers, [note("tea", key="drink"), note("x"), note("coffee", key="drink"), note("x")]
    )

    assert outcome[0].entry_id == outcome[2].entry_id
    assert outcome[1] == outcome[3]
    assert ["memory.layer_create"] * 2 + ["memory.layer_update"] == cell.actions()


def test_a_failure_is_everybody_s(cell, monkeypatch):
    """When the log cannot be written none of the change is made, and all are told."""

    def fail(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(cell.audit, "append", fail)
    outcome = save_each(cell.layers, [note("1"), note(""), note("2")])

    assert [StorageError, InvalidInput, StorageError] == kinds(outcome)
    assert [] == cell.layers.list(actor="alice")


@pytest.mark.parametrize("count", [0, 1, 20])
def test_together_is_as_one_after_the_other(cell, count):
    """The same entries, in the same order, as by single writes of another actor."""
    wanted = [{"content": f"{n % 7}", "key": f"k{n % 3}" if n % 2 else None} for n in range(count)]
    save_each(cell.layers, [note(actor="alice", **fields) for fields in wanted])
    for fields in wanted:
        cell.layers.save("about_me", actor="bob", kind="fact", **fields)
    alice, bob = (cell.layers.list(actor=actor, limit=1_000) for actor in ("alice", "bob"))

    assert [(e.key, e.content) for e in bob] == [(e.key, e.content) for e in alice]
