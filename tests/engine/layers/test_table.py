"""The seven layers: one table, and its two readings."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.engine.layers.conftest import entry, every_entry

from rotifer_engine.layers import (
    LAYERS,
    UnknownLayer,
    all_memory_layers,
    layer_clauses,
    layer_of,
)


def expected_layer(each):
    """The table of layers §1, said once more."""
    if each.scope == "system" and not each.actor:
        return "environment"
    if each.scope == "global":
        return "about_me" if each.actor else "consensus"
    if each.scope == "agent" and each.actor and each.namespace:
        return "agent_memory"
    return each.scope if each.scope in {"session", "working"} else "unknown"


def test_the_set_is_closed_and_in_its_order():
    """Seven words, the numbered ones first, the catch-all last."""
    expected = ("environment", "consensus", "about_me", "agent_memory", "session", "working", "unknown")  # fmt: skip

    assert expected == all_memory_layers()
    assert ["L1", "L2", "L3", "L4", None, None, None] == [layer.number for layer in LAYERS.values()]
    assert list(expected[:4]) == [name for name, layer in LAYERS.items() if layer.users_memory]


def test_every_combination_has_the_layer_of_the_page():
    """Scope, owner and namespace decide, kind and session do not."""
    for each in every_entry():
        assert expected_layer(each) == layer_of(each) == each.layer


def test_code_and_sql_agree_and_the_seven_share_out_every_row(cell):
    """On real rows of every combination, each is selected by one predicate: that of its layer."""
    entries = every_entry()
    cell.insert(entries)
    selected = {layer: cell.ids(layer_clauses(layer)) for layer in all_memory_layers()}

    assert len(entries) == sum(map(len, selected.values()))
    assert {each.entry_id: layer_of(each) for each in entries} == {
        entry_id: layer for layer, found in selected.items() for entry_id in found
    }
    assert set(all_memory_layers()) == set(Counter(map(layer_of, entries)))


@pytest.mark.parametrize("namespace", ["", "notes", "notes/shared", "agent://legal/shared"])
def test_what_has_no_owner_is_not_shared_by_accident(namespace):
    """A row of agent scope without an owner is of no layer, whatever its namespace."""
    assert "unknown" == layer_of(entry(scope="agent", namespace=namespace))


def test_the_predicate_takes_the_name_of_the_row():
    """It can stand in a statement of any names."""
    assert "(r.scope = 'session')" == layer_clauses("session", "r")


@pytest.mark.parametrize("word", ["", "About_Me", "about_me ", "l3", None, 3, ["about_me"]])
def test_there_is_no_predicate_for_another_word(word):
    """An unknown layer is refused; it does not select nothing."""
    with pytest.raises(UnknownLayer, match="layer must be one of environment, consensus"):
        layer_clauses(word)
