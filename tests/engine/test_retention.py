"""When entries are gone, and that they are gone everywhere."""

from __future__ import annotations

import pytest

from rotifer_engine import ABSENT, DataPolicy, EntryNotFound, RetentionPolicy

DAY = 86_400_000
LONGEST = 2_147_483_647


def days(number):
    """A policy of so many days, or none."""
    return RetentionPolicy(number, False, False)


def put(memory, caller, key, retention=ABSENT):
    """Write something short."""
    return memory.write(caller, key, b"v", "PREFERENCE", ABSENT, retention)


@pytest.mark.parametrize(("early", "there"), [(1, True), (0, False), (-1, False)])
def test_gone_at_the_instant(world, a, early, there):
    """Live one millisecond before updatedAt plus N days, gone at it."""
    put(world.memory, a, "k", days(3))
    world.clock.move(3 * DAY - early)

    assert there == (world.memory.read(a, "k") is not None)


@pytest.mark.parametrize(("early", "there"), [(1, True), (0, False), (-1, False)])
def test_following_the_agent(world, a, early, there):
    """Without a policy of its own, the agent's limit counts by the same instant."""
    memory = world.agent(data_policy=DataPolicy(3, False, False))
    put(memory, a, "k")
    world.clock.move(3 * DAY - early)

    assert there == (memory.read(a, "k") is not None)


def test_a_changed_data_policy_counts_at_once(world, a):
    """The agent's policy is not copied into the entries that follow it."""
    put(world.memory, a, "follows")
    put(world.memory, a, "own", days(None))
    world.clock.move(5 * DAY)
    assert ["follows", "own"] == world.keys()

    assert ["own"] == world.keys(world.agent(data_policy=DataPolicy(5, False, False)))


def test_null_days_is_never(world, a):
    """An entry of its own policy without a limit stays, whatever the agent's limit is."""
    put(world.memory, a, "k", days(None))
    strict = world.agent(data_policy=DataPolicy(1, False, False))
    world.clock.move(LONGEST * DAY)

    assert strict.read(a, "k") is not None


def test_rewriting_starts_the_time_anew(world, a):
    """The instant goes by the last update; a read does not move it."""
    put(world.memory, a, "k", days(2))
    world.clock.move(DAY)
    put(world.memory, a, "k")
    world.clock.move(2 * DAY - 1)
    assert world.memory.read(a, "k") is not None
    world.clock.move(1)
    assert world.memory.read(a, "k") is None


def test_expired_is_absent_for_every_call(world, a, b):
    """Read, query, delete, usage and list agree, and writing creates a new entry."""
    calls = {
        "read": lambda: world.memory.read(a, "k") is None,
        "query": lambda: world.memory.query(a) == [],
        "usage": lambda: world.memory.usage() == 0,
        "list": lambda: world.keys() == [],
        "write": lambda: put(world.memory, b, "k").created_by == b.gene_id,
    }
    for name, gone in calls.items():
        put(world.memory, a, "k", days(1))
        world.clock.move(DAY)
        assert gone(), name
        if name == "write":
            world.memory.delete(b, "k")
    put(world.memory, a, "k", days(1))
    world.clock.move(DAY)
    with pytest.raises(EntryNotFound):
        world.memory.delete(a, "k")
    put(world.memory, a, "k", days(1))
    world.clock.move(DAY)
    with pytest.raises(EntryNotFound):
        world.memory.delete_key("k")
    put(world.memory, a, "k", days(1))
    world.clock.move(DAY)
    assert 0 == world.memory.delete_category("PREFERENCE")


@pytest.mark.parametrize("call", ["read", "query", "write", "delete", "list"])
def test_each_call_purges_with_one_line_each(world, a, b, call):
    """All expired entries of the agent go, whichever key the call is about; each has a line."""
    put(world.memory, a, "1", days(1))
    put(world.memory, a, "2", days(1))
    put(world.memory, a, "stays")
    put(world.agent("other"), a, "other", days(1))
    world.clock.move(DAY)
    run = {
        "read": lambda: world.memory.read(b, "nothing"),
        "query": lambda: world.memory.query(b),
        "write": lambda: put(world.memory, b, "new"),
        "delete": lambda: world.memory.delete(b, "stays"),
        "list": world.keys,
    }
    run[call]()
    expired = [line for line in world.lines() if line["action"] == "memory.expire"]

    assert ["1", "2"] == [line["key"] for line in expired]
    by = "deployer" if call == "list" else b.gene_id
    assert {(by, call, "ok")} == {(e["gene_id"], e["operation"], e["result"]) for e in expired}
    assert 1 == len({line["change_id"] for line in expired})
    before = len(world.lines())
    run["query"]()
    assert before == len(world.lines())


def test_a_purge_stays_when_the_call_is_refused(world, a, c):
    """What is expired is gone, also when the call that found it is denied."""
    put(world.memory, a, "old", days(1))
    put(world.memory, a, "k")
    world.clock.move(DAY)
    with pytest.raises(Exception, match="writeScope"):
        put(world.memory, c, "k")
    world.clock.move(-DAY)

    assert ["k"] == world.keys()
    assert ["memory.expire", "memory.denied"] == world.actions()[-2:]


def test_many_expired_entries_go_in_batches(world, a):
    """However many there are, none is left after one call, and each has its line."""
    for number in range(2_100):
        put(world.memory, a, f"{number}", days(1))
    world.clock.move(DAY)
    world.memory.read(a, "0")

    assert 2_100 == world.actions().count("memory.expire")
    world.clock.move(-DAY)
    assert [] == world.keys()


def test_a_clock_that_steps_back(world, a):
    """An entry is not kept for ever, nor lost: its instant is fixed when it is written."""
    put(world.memory, a, "k", days(1))
    world.clock.move(-10 * DAY)
    assert world.memory.read(a, "k") is not None
    world.clock.move(11 * DAY)
    assert world.memory.read(a, "k") is None


@pytest.mark.parametrize("now", [-62_167_219_200_000, -1, 0, 253_402_300_799_999, 10**15])
def test_extreme_days_and_clocks(world, a, now):
    """The longest policy overflows nothing, before 1970 or in year 9999."""
    world.clock.now = now
    memory = world.agent(data_policy=DataPolicy(LONGEST, False, False))
    put(memory, a, "follows")
    put(memory, a, "own", days(LONGEST))
    world.clock.move(LONGEST * DAY - 1)
    assert ["follows", "own"] == world.keys(memory)
    world.clock.move(1)

    assert [] == world.keys(memory)
