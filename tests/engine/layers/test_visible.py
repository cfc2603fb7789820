"""Who sees what: the one place that decides, and the same in SQL."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from tests.engine.layers.conftest import entry, every_entry

from rotifer_engine.layers import KINDS, actor_visible, all_memory_layers, layer_of

READERS = list(itertools.product([None, "alice", "bob"], [None, "s1"], [None, "agent-legal"]))
AGENT = "agent-legal"


def expected(each, actor, session, agent):
    """Layers §1, §4 and §5, said once more."""
    durable = each.kind in KINDS and KINDS[each.kind].durable
    if not durable and (session is None or each.session != session):
        return False
    layer = layer_of(each)
    if layer in {"environment", "consensus"}:
        return True
    if actor is None:
        return False
    mine = each.actor == actor
    if layer == "agent_memory" and each.namespace.startswith("agent://"):
        if agent != AGENT or not each.namespace.startswith("agent://legal/"):
            return False
        return mine or each.namespace == "agent://legal/shared"
    if layer in {"session", "working"}:
        return mine and session is not None and each.session == session
    return mine


@pytest.fixture(scope="module")
def entries():
    """Every combination, once for all readers."""
    return every_entry()


@pytest.mark.parametrize(("actor", "session", "agent"), READERS)
def test_every_combination_is_seen_by_whom_the_page_says(entries, actor, session, agent):
    """Actor, session, agent and namespace decide together."""
    for each in entries:
        assert expected(each, actor, session, agent) == actor_visible(each, actor, session=session, agent=agent), each  # fmt: skip


def test_code_and_sql_agree_for_every_reader(cell, layers, entries):
    """On real rows of every combination a listing is what the code lets through, newest first."""
    cell.insert(entries)
    for actor, session, agent in READERS:
        asked = {"actor": actor, "session": session, "agent": agent}
        seen = [each for each in reversed(entries) if actor_visible(each, **asked)]
        found = []
        while page := layers.list(**asked, limit=1000, offset=len(found)):
            found += page
        assert seen == found

        counted = Counter(map(layer_of, seen))
        strays = sum(1 for each in entries if layer_of(each) == "unknown" and not each.actor)
        counted["unknown"] += strays
        assert {layer: counted[layer] for layer in all_memory_layers()} == layers.counts(**asked)


def test_each_filter_is_what_the_code_would_filter(cell, layers, entries):
    """Layer, scope, namespace and kind go into the statement and mean what they mean in code."""
    cell.insert(entries)
    asked = {"actor": "alice", "session": "s1", "agent": AGENT}
    seen = [each for each in reversed(entries) if actor_visible(each, **asked)]
    for name, values in (
        ("layer", all_memory_layers()),
        ("scope", ("system", "global", "agent", "session", "working", "other")),
        ("namespace", ("", "notes", "agent://legal/shared", "agent://legal/cases", "none")),
        ("kind", KINDS),
    ):
        for value in values:
            wanted = [each for each in seen if getattr(each, name) == value]
            assert wanted[:1000] == layers.list(**asked, **{name: value}, limit=1000)


def test_strays_are_counted_and_shown_to_nobody_but_who_asks_for_them(cell, layers):
    """What is of no layer and of nobody counts for everyone; what it says is seen by no actor."""
    stray = entry(1, scope="agent", namespace="agent://legal/shared", content="whose?")
    cell.insert([stray, entry(2, scope="other", actor="alice"), entry(3, scope="other", actor="bob")])  # fmt: skip

    for actor, count in ((None, 1), ("alice", 2), ("carol", 1)):
        assert count == layers.counts(actor=actor, agent=AGENT)["unknown"]
        assert count - 1 == len(layers.list(actor=actor, agent=AGENT))
    assert [stray] == layers.strays()
    assert [] == layers.strays(offset=1)


def test_nobody_in_particular_is_not_everyone(cell, layers):
    """Without an actor only what belongs to all is seen, and an empty actor is none."""
    cell.insert([entry(1, actor="alice"), entry(2, scope="session", session="s"), entry(3)])

    for actor in (None, ""):
        assert [entry(3)] == layers.list(actor=actor, session="s", agent=AGENT)


def test_an_agent_whose_name_begins_like_another_is_another(cell, layers):
    """The namespace's agent is a whole name, not a prefix."""
    shared = entry(1, scope="agent", actor="bob", namespace="agent://legalese/shared")
    cell.insert([shared])

    assert [] == layers.list(actor="alice", agent="agent-legal")
    assert [shared] == layers.list(actor="alice", agent="agent-legalese")


def test_a_channel_is_one_namespace_not_all_that_end_like_it(cell, layers):
    """What another keeps in a namespace below or beside the channel is not shared."""
    cell.insert(
        [
            entry(number, scope="agent", actor="bob", namespace=namespace)
            for number, namespace in enumerate(
                ("agent://legal/a/shared", "agent://legal/shared/a", "notes/shared", "shared")
            )
        ],
    )

    assert [] == layers.list(actor="alice", agent="agent-legal")


@pytest.mark.parametrize(
    "agent", ["legal", "agent-", "Agent-legal", "agent-a/b", "agent://legal", 7]
)
def test_an_agent_in_another_form_is_refused(layers, agent):
    """A word that no namespace could mean is told, not taken for nothing."""
    from rotifer_engine import InvalidInput

    with pytest.raises(InvalidInput, match=r"^agent must be (of the form agent-<name>|a string)"):
        layers.list(actor="alice", agent=agent)
