"""The environment: what a sensor found, refreshed by one call."""

from __future__ import annotations

import pytest
from tests.engine.layers.conftest import contents

from rotifer_engine import InvalidInput
from rotifer_engine.layers import SharedSnapshot


def test_a_refresh_makes_the_layer_what_was_found(cell, layers):
    """Each fact is one entry that everyone sees; what is no longer found goes."""
    layers.refresh_environment(SharedSnapshot({"os": "Linux", "python": "3.11", "node": "24"}))
    found = layers.refresh_environment(SharedSnapshot({"os": "Linux", "python": "3.12"}))

    assert [("os", "Linux"), ("python", "3.12")] == [(each.key, each.content) for each in found]
    assert {"environment"} == {each.layer for each in found}
    assert ["3.12", "Linux"] == contents(layers.list(actor="anyone")) == contents(layers.list())
    actions = ["create", "create", "create", "update", "delete"]
    assert [f"memory.layer_{action}" for action in actions] == cell.actions()


def test_a_refresh_that_finds_the_same_changes_nothing(cell, layers):
    """The same entries come back, and nothing is recorded."""
    facts = SharedSnapshot({"os": "Linux", "python": "3.11"})
    first = layers.refresh_environment(facts)
    cell.clock.move(1_000)

    assert first == layers.refresh_environment(facts)
    assert 2 == len(cell.lines())


def test_nothing_found_empties_the_layer(cell, layers, alice):
    """And touches no other."""
    alice("mine")
    cell.clock.move(1)
    layers.save("consensus", "rule", kind="fact")
    layers.refresh_environment(SharedSnapshot({"os": "Linux"}))

    assert [] == layers.refresh_environment(SharedSnapshot({}))
    assert ["rule", "mine"] == contents(layers.list(actor="alice"))


@pytest.mark.parametrize("facts", [{"os": "Linux", "x": ""}, {"os": "Linux", "": "x"}, {"os": "Linux", "x": 7}, {"os": "Linux", "x": "y" * 70_000}])  # fmt: skip
def test_a_bad_fact_leaves_the_layer_as_it_was(cell, layers, facts):
    """All facts or none."""
    layers.refresh_environment(SharedSnapshot({"os": "old"}))
    with pytest.raises(InvalidInput):
        layers.refresh_environment(SharedSnapshot(facts))

    assert ["old"] == contents(layers.list())
    assert 1 == len(cell.lines())
