"""The deployer's list and delete, for whom no policy counts."""

from __future__ import annotations

import os
import sqlite3
import subprocess

import pytest

from rotifer_engine import (
    ABSENT,
    AccessPolicy,
    DataPolicy,
    EntryNotFound,
    InvalidInput,
    RetentionPolicy,
    replay,
)

DAY = 86_400_000
MINE = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")


class TestDeployer:
    """list and delete, for whom no policy counts."""

    def test_list_shows_everything_but_values(self, world, a, c):
        """Entries of all creators in the order of their keys' bytes, by category if asked."""
        world.memory.write(c, "b", b"secret", "CACHE", MINE)
        world.memory.write(a, "B", b"", "PATTERN", MINE)
        world.memory.write(a, "a", b"", "CACHE")
        rows = list(world.memory.list())

        assert ["B", "a", "b"] == [row.key for row in rows]
        assert ("b", "CACHE", 7, 6, c.gene_id) == (
            rows[2].key,
            rows[2].category,
            rows[2].size,
            rows[2].value_size,
            rows[2].created_by,
        )
        assert not hasattr(rows[2], "value")
        assert ["a", "b"] == [row.key for row in world.memory.list("CACHE")]
        assert 3 == len(list(world.memory.list(None)))
        assert [] == list(world.memory.list("CONTEXT"))

    def test_list_goes_on_over_many_pages(self, world, a):
        """More rows than one page, each once, also while they are deleted."""
        for number in range(1_234):
            world.memory.write(a, f"{number:05}", b"", "CACHE" if number % 2 else "PATTERN")

        assert [f"{number:05}" for number in range(1_234)] == world.keys()
        assert 617 == len(list(world.memory.list("CACHE")))
        for row in world.memory.list():
            world.memory.delete_key(row.key)
        assert [] == world.keys()

    def test_list_refuses_an_unknown_category_at_once(self, world):
        """Not only when the first row is asked for."""
        with pytest.raises(InvalidInput):
            world.memory.list("cache")

    def test_delete_by_key(self, world, a):
        """Whatever the policy; recorded as the deployer; missing is an error."""
        world.memory.write(a, "k", b"", "PREFERENCE", MINE)

        assert 1 == world.memory.delete_key("k")
        with pytest.raises(EntryNotFound):
            world.memory.delete_key("k")
        with pytest.raises(InvalidInput):
            world.memory.delete_key("")
        line = world.lines()[-1]
        assert ("memory.delete", "deployer", None, "k") == (
            line["action"],
            line["gene_id"],
            line["gene_domain"],
            line["key"],
        )

    def test_delete_by_category(self, world, a):
        """All of it and nothing else, with one change id and a line each; none is no error."""
        for key, category in (("1", "CACHE"), ("2", "PATTERN"), ("3", "CACHE")):
            world.memory.write(a, key, b"v", category, MINE)

        assert (2, 0) == (
            world.memory.delete_category("CACHE"),
            world.memory.delete_category("CACHE"),
        )
        assert (["2"], 2) == (world.keys(), world.memory.usage())
        lines = world.lines()[-2:]
        assert [("1", "deployer"), ("3", "deployer")] == [
            (row["key"], row["gene_id"]) for row in lines
        ]
        assert 1 == len({line["change_id"] for line in lines})
        with pytest.raises(InvalidInput):
            world.memory.delete_category(None)


MARK = b"a value that nobody may find again "


def holding(world):
    """The files of the memory in which the marked values stand.

    Another process reads them: closing one of SQLite's files here would drop this process's locks.
    """
    paths = [os.path.join(world.state, name) for name in os.listdir(world.state)]
    found = subprocess.run(["grep", "-lF", MARK, *paths], capture_output=True, check=False)
    assert found.returncode in {0, 1}
    return set(found.stdout.splitlines())


class TestErase:
    """The whole memory goes, for good."""

    def test_all_of_it(self, world, a, c):
        """Every entry whatever its policy, one line each and one for the whole; others' stay."""
        world.agent("other").write(a, "theirs", b"", "PREFERENCE")
        world.memory.write(a, "one", b"123", "PREFERENCE", MINE)
        world.memory.write(c, "two", b"", "CACHE", MINE)

        assert (2, world.scrubs) == world.memory.erase()
        assert ([], 0) == (world.keys(), world.memory.usage())
        assert ["theirs"] == world.keys(world.agent("other"))
        mine = [line for line in world.lines() if line["agent_id"] != "other"]
        *_, one, two, last = mine
        assert [("memory.delete", "one", 6), ("memory.delete", "two", 3), ("memory.erase", None, None)] == [
            (line["action"], line["key"], line["size"]) for line in (one, two, last)
        ]  # fmt: skip
        assert {("erase", "deployer", last["change_id"])} == {
            (line["operation"], line["gene_id"], line["change_id"]) for line in (one, two, last)
        }
        assert {world.memory.agent_id: set(), "other": {"theirs"}} == replay(world.raw_lines())
        assert world.memory.check().ok

    def test_again(self, world, a):
        """Nothing is left to be done, and no line is written."""
        assert (0, world.scrubs) == world.memory.erase()
        world.memory.write(a, "k", b"", "CACHE")
        world.memory.delete(a, "k")
        assert (0, world.scrubs) == world.memory.erase()
        assert (0, world.scrubs) == world.memory.erase()

        assert ["memory.create", "memory.delete", "memory.erase"] == world.actions()

    def test_what_expired_is_told_as_that(self, world, a):
        """It is purged before, by lines of its own."""
        world.memory.write(a, "k", b"", "CACHE", ABSENT, RetentionPolicy(1, False, False))
        world.clock.move(DAY)

        assert 0 == world.memory.erase().entries
        assert ["memory.create", "memory.expire", "memory.erase"] == world.actions()

    @pytest.mark.files
    def test_the_values_are_in_no_file(self, world, a):
        """Small and large ones, also while the database stays open."""
        memory = world.agent(quota_bytes=10**7)
        for number in range(20):
            memory.write(a, f"{number}", MARK * (1 + 1_000 * number), "PREFERENCE")
        assert holding(world)

        assert memory.erase() == (20, True)
        assert set() == holding(world)

    @pytest.mark.files
    def test_while_somebody_reads(self, world, a):
        """It is said that the values may still stand in the log of the database; again cleans."""
        world.memory.write(a, "k", MARK, "PREFERENCE")
        with sqlite3.connect(world.database, isolation_level=None) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM agent_memory_entry").fetchall()

            assert (1, False) == world.memory.erase()
            assert holding(world)
        other.close()
        assert (0, world.scrubs) == world.memory.erase()
        assert set() == holding(world)

    def test_another_memory_begins(self, world, a):
        """The agent may write again, as one that never had a memory."""
        world.memory.write(a, "k", b"old", "CACHE")
        world.memory.erase()
        world.memory.write(a, "k", b"new", "CACHE")

        assert b"new" == world.memory.read(a, "k").value
        assert world.memory.check().ok


@pytest.mark.parametrize(
    ("now", "then", "counts"),
    [
        (None, None, (3, 0)),
        (None, 30, (3, 0)),
        (None, 10, (3, 2)),
        (10, 5, (1, 0)),
        (11, 10, (3, 2)),
        (12, 1, (3, 3)),
    ],
)
def test_followers(world, a, now, then, counts):
    """How many entries follow the agent's data policy, and how many another one would end."""
    memory = world.agent(data_policy=DataPolicy(now, False, False))
    for number in range(2):
        memory.write(a, f"{number}", b"", "PATTERN")
    memory.write(a, "own", b"", "PATTERN", ABSENT, RetentionPolicy(now, False, False))
    world.clock.move(8 * DAY)
    memory.write(a, "2", b"", "PATTERN")
    world.clock.move(2 * DAY)

    assert counts == memory.followers(DataPolicy(then, False, False))
