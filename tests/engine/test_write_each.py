"""Writes that are made together: each has the outcome that it would have had alone."""

from __future__ import annotations

import pytest
from tests.engine.conftest import gene

from rotifer_engine import (
    ABSENT,
    AccessDenied,
    AccessPolicy,
    Entry,
    InvalidInput,
    QuotaExceeded,
    StorageError,
    perform_writes,
)

OWN = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE").to_json()
NOBODY = gene("a")._replace(gene_id=None)


def wish(key, value=b"v", category="CACHE", *, caller=None, access=ABSENT, retention=ABSENT):
    """The arguments of a write."""
    return (caller or gene("a"), key, value, category, access, retention)


def kinds(outcome):
    """What became of each."""
    return [type(found) for found in outcome]


def test_all_are_written_in_one_change(world):
    """Entries come back in order; all lines share one change id; usage equals the rows."""
    outcome = world.memory.write_each([wish(f"k{n}", b"x" * n) for n in range(5)])

    assert [Entry] * 5 == kinds(outcome)
    assert outcome == [world.memory.read(gene("a"), f"k{n}") for n in range(5)]
    assert [1, 2, 3, 4, 5] == [found.order for found in outcome]
    assert 1 == len({line["change_id"] for line in world.lines()})
    assert ["memory.create"] * 5 == world.actions()
    assert 5 * 2 + 10 == world.memory.usage()


def test_a_refused_one_holds_up_no_other(world):
    """Bad input, a foreign entry, no identity, no room: each its own error, the rest is written."""
    world.memory.write(*wish("theirs", caller=gene("b"), access=OWN))
    memory = world.agent(quota_bytes=100)
    outcome = memory.write_each(
        [
            wish("one"),
            wish(""),
            wish("theirs"),
            wish("two", caller=NOBODY),
            wish("three", b"x" * 101),
            wish("four", category="cache"),
            wish("five", retention={"maxRetentionDays": 0}),
            wish("six"),
        ]
    )

    assert [
        Entry, InvalidInput, AccessDenied, AccessDenied, QuotaExceeded, InvalidInput, InvalidInput, Entry
    ] == kinds(outcome)  # fmt: skip
    assert ["one", "six", "theirs"] == world.keys()
    assert ["memory.denied", "memory.denied", "memory.quota_exceeded"] == world.actions()[-3:]


def test_the_same_key_twice(world):
    """The later one replaces the earlier one of the same change, its creator stays."""
    first, second = world.memory.write_each([wish("k", b"1"), wish("k", b"22", caller=gene("b"))])

    assert first.entry_id == second.entry_id
    assert (gene("a").gene_id, b"22") == (
        second.created_by,
        world.memory.read(gene("b"), "k").value,
    )
    assert ["memory.create", "memory.update"] == world.actions()
    assert 3 == world.memory.usage()


def test_one_makes_room_by_evicting_another(world):
    """The quota holds after each of them, as if they had come one after the other."""
    memory = world.agent(quota_bytes=20)
    outcome = memory.write_each([wish(f"k{n}", b"x" * 8) for n in range(4)])

    assert [Entry] * 4 == kinds(outcome)
    assert ["k2", "k3"] == world.keys(memory)
    assert 20 == memory.usage()
    assert ["memory.create"] * 2 + ["memory.evict", "memory.create"] * 2 == world.actions()


def test_what_has_expired_is_no_entry(world):
    """Purged before, and the key is a new entry."""
    world.memory.write(*wish("k", retention={"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}))  # fmt: skip
    world.clock.move(86_400_000)
    [entry] = world.memory.write_each([wish("k")])

    assert entry.created_at == entry.updated_at == world.clock.now_ms()
    assert ["memory.create", "memory.expire", "memory.create"] == world.actions()


def test_a_failure_is_everybody_s(world, monkeypatch):
    """When the log cannot be written none of the change is made, and all are told."""

    def fail(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(world.audit, "append", fail)
    outcome = world.memory.write_each([wish("one"), wish(""), wish("two")])

    assert [StorageError, InvalidInput, StorageError] == kinds(outcome)
    assert [] == world.keys()
    assert 0 == world.memory.usage()


def test_nothing_to_write(world):
    """No write, no change."""
    assert [] == world.memory.write_each([])
    assert [InvalidInput] == kinds(world.memory.write_each([wish("")]))
    assert [] == world.lines()


def test_requests_are_checked_as_ever(world):
    """The fields of the memory page: an unknown or missing one is that request's error."""
    outcome = perform_writes(
        world.memory,
        [
            (gene("a"), {"key": "k", "category": "CACHE"}, b"v"),
            (gene("a"), {"key": "k"}, b"v"),
            (gene("a"), {"key": "k", "category": "CACHE", "x": 1}, b"v"),
            (gene("a"), {"key": "k", "category": "CACHE"}, ABSENT),
            (gene("a"), {"key": "l", "category": "CACHE"}, b"v"),
        ],
    )

    assert [Entry, InvalidInput, InvalidInput, InvalidInput, Entry] == kinds(outcome)
    assert ["k", "l"] == world.keys()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_together_is_as_one_after_the_other(world, count):
    """The entries, their order and the usage are those of as many single writes."""
    wanted = [wish(f"k{n % 7}", b"x" * (n % 5), ["CACHE", "CONTEXT"][n % 2]) for n in range(count)]
    together, single = (
        world.agent("together", quota_bytes=15),
        world.agent("single", quota_bytes=15),
    )
    got = together.write_each(wanted)
    expected = [single.write(*one) for one in wanted]

    assert [found.order for found in expected] == [found.order for found in got]
    assert [(e.key, e.size, e.order) for e in single.list()] == [
        (e.key, e.size, e.order) for e in together.list()
    ]
    assert single.usage() == together.usage()
