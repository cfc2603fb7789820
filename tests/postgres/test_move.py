"""A memory that moves from store to store: everything or nothing, and an interruption is made good."""

from __future__ import annotations

import pytest
from tests.engine.conftest import AGENT, World

from rotifer_engine import (
    ABSENT,
    AccessPolicy,
    AgentMemoryError,
    InvalidInput,
    RetentionPolicy,
    StorageError,
)
from rotifer_engine import _move as module

ALL = AccessPolicy("ALL_GENES", "CREATOR_GENE_ONLY", "PRIVATE")


@pytest.fixture
def file_world(tmp_path):
    """The same agent's memory in files."""
    world = World(str(tmp_path))
    yield world
    world.close()


@pytest.fixture(params=["to the server", "to the file"])
def worlds(request, world, file_world):
    """From where, and where to."""
    pair = (file_world, world)
    return pair if request.param == "to the server" else pair[::-1]


def fill(world, a, c):
    """Entries of every kind; the order of updates is not that of creation."""
    memory = world.memory
    memory.write(a, "first", b"1", "PREFERENCE", ALL)
    memory.write(
        a, "bytes \u00e9", bytes(range(256)), "PATTERN", ABSENT, RetentionPolicy(9, True, False)
    )
    memory.write(c, "cache", b"", "CACHE")
    memory.write(a, "gone", b"x", "CONTEXT")
    world.clock.move(5)
    memory.write(a, "first", b"22", "PREFERENCE")
    memory.read(c, "first")
    memory.delete(a, "gone")


def everything(world):
    """All of the agent, with who accessed last and the update sequence."""
    with world.store.snapshot() as snapshot:
        return list(snapshot.rows(AGENT)), snapshot.counted(AGENT)


def test_there_and_nothing_left(worlds, a, c):
    """Rows, counters and reads are the same over there; here is nothing; both are recorded."""
    here, there = worlds
    fill(here, a, c)
    before = everything(here)
    moved = here.memory.move_to(there.memory)
    there.clock.now = here.clock.now

    assert (3, before[1][0], False) == moved[:3]
    assert before == everything(there)
    assert ([], (0, 0)) == everything(here)
    assert ["memory.create"] * 3 == there.actions()
    assert ["memory.delete"] * 3 + ["memory.erase"] == here.actions()[-4:]
    assert {("move", "deployer")} == {
        (line["operation"], line["gene_id"]) for line in there.lines() + here.lines()[-4:]
    }
    for world in worlds:
        assert [] == world.memory.check().findings
    assert there.memory.write(a, "next", b"", "CACHE").order == before[1][1] + 1


def test_there_and_back(worlds, a, c):
    """Nothing is lost on the way."""
    here, there = worlds
    fill(here, a, c)
    before = everything(here)
    here.memory.move_to(there.memory)
    there.clock.now = here.clock.now
    there.memory.move_to(here.memory)

    assert before == everything(here)
    assert [] == here.memory.check().findings


@pytest.mark.parametrize("place", ["_copy", "_difference", "_removals"])
def test_interrupted_and_called_again(worlds, a, c, monkeypatch, place):
    """Wherever it stops, one whole memory is there, and the second call finishes."""
    here, there = worlds
    fill(here, a, c)
    before = everything(here)
    real = getattr(module, place)
    calls = []

    def stop(*arguments):
        calls.append(1)
        if place == "_difference" and len(calls) == 1:
            return real(*arguments)
        if place == "_copy":
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, place, stop)
        with pytest.raises(KeyboardInterrupt):
            here.memory.move_to(there.memory)
    assert before == everything(here)
    here.memory.read(a, "first")  # and an agent went on reading meanwhile
    before = everything(here)

    assert 3 == here.memory.move_to(there.memory).entries
    assert before == everything(there)
    assert ([], (0, 0)) == everything(here)
    assert [] == there.memory.check().findings


def test_again_when_it_is_done(worlds, a, c):
    """Nothing is moved, and it is said that all is there."""
    here, there = worlds
    fill(here, a, c)
    here.memory.move_to(there.memory)

    assert (3, True) == here.memory.move_to(there.memory)[::2]


def test_other_entries_over_there(worlds, a, c):
    """They are not overwritten unless that is asked for."""
    here, there = worlds
    fill(here, a, c)
    before = everything(here)
    there.memory.write(a, "theirs", b"", "CACHE")
    with pytest.raises(InvalidInput, match="--replace"):
        here.memory.move_to(there.memory)
    assert before == everything(here)
    assert ["theirs"] == there.keys()

    here.memory.move_to(there.memory, replace=True)
    assert before[0] == everything(there)[0]
    assert [] == there.memory.check().findings


def test_a_copy_that_differs(worlds, a, c, monkeypatch):
    """The old memory stays, and the error says so."""
    here, there = worlds
    fill(here, a, c)
    before = everything(here)
    real = module._copy

    def bad(target, into, entries, order):
        real(target, into, list(entries)[1:], order)

    monkeypatch.setattr(module, "_copy", bad)
    with pytest.raises(StorageError, match="nothing was removed"):
        here.memory.move_to(there.memory)

    assert before == everything(here)


def test_the_same_store(world, file_world, a):
    """It is refused, whatever name it has."""
    for each in (world, file_world):
        each.memory.write(a, "k", b"", "CACHE")
        with pytest.raises(InvalidInput, match="the one that the memory is in"):
            each.memory.move_to(each.agent())
        assert ["k"] == each.keys()


def test_what_expired_stays_behind(worlds, a):
    """It is purged, not moved."""
    here, there = worlds
    here.memory.write(a, "old", b"", "CACHE", ABSENT, RetentionPolicy(1, False, False))
    here.memory.write(a, "k", b"", "CACHE")
    here.clock.move(86_400_000)

    assert 1 == here.memory.move_to(there.memory).entries
    assert "memory.expire" in here.actions()


def test_a_memory_of_many_pages(worlds, a):
    """More entries than a page, and larger ones than an answer may hold."""
    here, there = worlds
    memory = here.agent(quota_bytes=10**9)
    for number in range(600):
        memory.write(a, f"{number}", bytes(9_000 if number % 100 else 900_000), "PATTERN")
    before = everything(here)
    try:
        moved = memory.move_to(there.agent(quota_bytes=1))
    except AgentMemoryError as error:
        pytest.fail(error.message)

    assert 600 == moved.entries
    assert before == everything(there)
