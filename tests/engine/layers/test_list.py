"""Listing and counting: filters before LIMIT, newest first, never a part of an answer."""

from __future__ import annotations

import itertools
import time

import pytest
from tests.engine.layers.conftest import contents, entry

from rotifer_engine import InvalidInput
from rotifer_engine._sqlite_layers import _TEXT
from rotifer_engine.layers import all_memory_layers
from rotifer_engine.layers._sql import bound
from rotifer_engine.layers._store import Query
from rotifer_engine.layers._visible import Reader


def test_ten_thousand_newer_rows_of_others_hide_none_of_mine(cell, layers):
    """What an actor sees goes into the statement before its LIMIT: the one row is in the page."""
    others = [entry(number, actor=f"other {number % 7}") for number in range(1, 10_001)]
    cell.insert([entry(0, actor="alice", content="mine"), *others])

    assert ["mine"] == contents(layers.list(actor="alice", layer="about_me", limit=1))
    assert ["mine"] == contents(layers.list(actor="alice"))
    assert 1 == layers.counts(actor="alice")["about_me"]


READERS = [
    Reader(),
    Reader("alice"),
    Reader("alice", "s1"),
    Reader("alice", "s1", "agent-legal"),
]
QUERIES = [
    Query(),
    *(Query(layer=layer) for layer in all_memory_layers()),
    Query(scope="agent"),
    Query(namespace="notes"),
    Query(kind="fact", scope="global"),
]


@pytest.mark.files
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_page_is_found_by_index(cell, reader, query):
    """Whoever asks for whatever: no table is scanned, and nothing but a page's ids is sorted."""
    statement = _TEXT.select(reader, query)
    plan = cell.query("EXPLAIN QUERY PLAN " + statement, bound(reader, query))
    walks = [
        (parent, step) for _, parent, _, step in plan if " e USING INDEX agent_memory_layer" in step
    ]
    sorts = [parent for _, parent, _, step in plan if "TEMP B-TREE" in step]

    assert walks
    assert all(step.startswith("SEARCH e") for _, step in walks)
    assert [] == [step for *_, step in plan if step.startswith("SCAN e") or "MULTI-INDEX" in step]
    # What a walk gives is in its order; only what they give together, cut to a page each, is sorted.
    assert not {parent for parent, _ in walks} & set(sorts)


@pytest.mark.files
@pytest.mark.parametrize("reader", READERS)
def test_counting_reads_no_rows_of_others(cell, reader):
    """Its time goes by what the reader may see, not by the size of the table."""
    plan = [row[3] for row in cell.query("EXPLAIN QUERY PLAN " + _TEXT.counts(reader), bound(reader))]  # fmt: skip

    assert [] == [step for step in plan if step.startswith("SCAN e")]


def test_a_small_page_of_many_rows_is_quick(cell, layers):
    """Of 5,000 own rows the newest ten are had without looking at the others."""
    cell.insert([entry(number, actor="alice", content="x" * 500) for number in range(5_000)])
    took = []
    for _ in range(20):
        start = time.perf_counter()
        assert 10 == len(layers.list(actor="alice", limit=10))
        took.append(time.perf_counter() - start)

    assert min(took) < 0.01  # the best of them: a busy machine is not what is judged


def test_pages_join_without_gap_or_overlap(cell, layers, alice):
    """Limit and offset walk through what is seen, shared rows and own ones together."""
    for number in range(25):
        cell.clock.move(1)
        alice(f"{number}") if number % 3 else layers.save("consensus", f"{number}", kind="fact")
    pages = [layers.list(actor="alice", limit=4, offset=offset) for offset in range(0, 28, 4)]

    assert [f"{number}" for number in range(24, -1, -1)] == contents(itertools.chain(*pages))
    assert [] == layers.list(actor="alice", offset=25)


def test_newest_goes_by_the_order_of_writing_not_by_the_clock(cell, layers, alice):
    """A clock that steps back changes nothing; times are those of the clock."""
    alice("first")
    cell.clock.move(-86_400_000)
    alice("second")

    assert ["second", "first"] == contents(layers.list(actor="alice"))


def test_actors_stand_beside_each_other_by_the_time(cell, layers, alice):
    """Also where their order cannot be counted together: each has its place by its clock."""
    alice("1")
    for number in range(2, 7):
        cell.clock.move(1)
        alice(f"{number}") if number % 2 else layers.save("consensus", f"{number}", kind="fact")

    assert list("654321") == contents(layers.list(actor="alice"))


def test_one_moment_of_two_actors_is_cut_into_pages_all_the_same(layers, alice):
    """What was written in the same millisecond has an order that stays: no gap, no overlap."""
    for number in range(20):
        alice(f"{number}") if number % 2 else layers.save("consensus", f"{number}", kind="fact")
    pages = [layers.list(actor="alice", limit=3, offset=offset) for offset in range(0, 21, 3)]
    found = contents(itertools.chain(*pages))

    assert [f"{number}" for number in range(20)] == sorted(found, key=int)
    assert found == contents(layers.list(actor="alice"))
    mine = [each for each in found if int(each) % 2]
    assert sorted(mine, key=int, reverse=True) == mine


def test_after_deleting_the_newest_the_next_is_the_newest(layers, alice):
    """The order goes on when its last row has gone."""
    alice("old")
    layers.save("agent_memory", "x", actor="alice", namespace="n", kind="fact")
    layers.clear("agent_memory", actor="alice", namespace="n")
    alice("new")

    assert ["new", "old"] == contents(layers.list(actor="alice"))


def test_a_session_shows_more_and_hides_nothing(layers, alice):
    """What is durable is seen in every session; a session only adds what is its own."""
    alice("fact", session="s1")
    alice("note", kind="scratch", session="s2")

    assert ["note", "fact"] == contents(layers.list(actor="alice", session="s2"))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"layer": "about_me", "scope": "global"}, "ErrMemoryLayerScopeConflict"),
        ({"layer": "no such", "scope": "global"}, "ErrMemoryLayerScopeConflict"),
        ({"layer": "no such"}, "ErrUnknownLayer"),
        ({"layer": 7}, "ErrUnknownLayer"),
        ({"kind": ""}, "MEMORY_INVALID_INPUT"),
        ({"kind": "Fact"}, "MEMORY_INVALID_INPUT"),
        ({"limit": 0}, "MEMORY_INVALID_INPUT"),
        ({"limit": -1}, "MEMORY_INVALID_INPUT"),
        ({"limit": 1001}, "MEMORY_INVALID_INPUT"),
        ({"limit": "5"}, "MEMORY_INVALID_INPUT"),
        ({"limit": True}, "MEMORY_INVALID_INPUT"),
        ({"offset": -1}, "MEMORY_INVALID_INPUT"),
        ({"offset": 10**30}, "MEMORY_INVALID_INPUT"),
        ({"actor": "a\0b"}, "MEMORY_INVALID_INPUT"),
        ({"scope": "\ud800"}, "MEMORY_INVALID_INPUT"),
        ({"namespace": 3}, "MEMORY_INVALID_INPUT"),
    ],
)
def test_a_bad_question_is_refused(layers, asked, code):
    """Never answered as another question, never with everything."""
    with pytest.raises(InvalidInput) as caught:
        layers.list(**{"actor": "alice", **asked})

    assert code == caught.value.code


def test_an_empty_layer_or_scope_is_none_when_reading(layers, alice):
    """An empty word of a request stands for a word that was not given, on a read."""
    alice("x")

    assert ["x"] == contents(layers.list(actor="alice", layer="", scope="global"))
    assert ["x"] == contents(layers.list(actor="alice", layer="about_me", scope=""))


def test_an_answer_over_four_mebibytes_is_refused_whole(cell, layers):
    """The message says how far it came and what to do; the next call works."""
    cell.insert([entry(number, actor="alice", content="x" * 65_536) for number in range(70)])

    with pytest.raises(InvalidInput, match=r"the first 64 entries of the answer have 4,194,\d{3} bytes .*; the limit is 4,194,304: lower limit"):  # fmt: skip
        layers.list(actor="alice", limit=70)
    assert 63 == len(layers.list(actor="alice", limit=63))


def test_counts_have_all_seven_in_order(layers, alice):
    """Zeros included."""
    alice("x")
    layers.save("consensus", "y", kind="fact")
    counts = layers.counts(actor="alice")

    assert list(all_memory_layers()) == list(counts)
    assert [0, 1, 1, 0, 0, 0, 0] == list(counts.values())
