"""The deployer's list and delete, for whom no policy counts."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    AccessPolicy,
    EntryNotFound,
    InvalidInput,
)

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
