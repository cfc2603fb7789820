"""queryMemory: filters, order and limits."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    AccessPolicy,
    InvalidInput,
)

MIB = 1_048_576
ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
MINE = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")


class TestQuery:
    """queryMemory(filter?)."""

    def fill(self, world, caller, *keys, category="CACHE"):
        """Write the keys one after the other, a second apart."""
        for key in keys:
            world.memory.write(caller, key, b"v", category)
            world.clock.move(1_000)

    def found(self, world, caller, **filters):
        """The keys of the answer."""
        return [entry.key for entry in world.memory.query(caller, filters)]

    def test_everything_most_recently_updated_first(self, world, a):
        """Without a filter all entries come; rewriting brings one to the front."""
        self.fill(world, a, "1", "2", "3", "1")

        assert ["1", "3", "2"] == self.found(world, a)
        assert world.memory.query(a) == world.memory.query(a, {})

    def test_order_goes_by_updates_not_by_the_clock(self, world, a):
        """Ties and a clock that steps back change nothing."""
        for step, key in ((0, "1"), (0, "2"), (-5_000, "3"), (1, "4")):
            world.clock.move(step)
            world.memory.write(a, key, b"", "CACHE")

        assert ["4", "3", "2", "1"] == self.found(world, a)

    def test_entries_come_whole(self, world, a):
        """A query's entry is what a read gives."""
        self.fill(world, a, "k")

        assert [world.memory.read(a, "k")] == world.memory.query(a)

    def test_what_may_not_be_read_is_left_out_silently(self, world, a, b, c):
        """Neither an error nor a line, and the limit counts what is left."""
        world.memory.write(c, "open", b"", "CACHE", ALL)
        world.memory.write(a, "domain", b"", "CACHE")
        world.memory.write(a, "mine", b"", "CACHE", MINE)
        before = world.lines()

        assert ["mine", "domain", "open"] == self.found(world, a)
        assert ["domain", "open"] == self.found(world, b)
        assert ["domain"] == self.found(world, b, limit=1)
        assert ["open"] == self.found(world, c, limit=1)
        assert before == world.lines()

    def test_it_changes_nothing(self, world, a, b):
        """Not even who accessed last."""
        self.fill(world, a, "k")
        world.memory.query(b)

        assert a.gene_id == next(world.memory.list()).last_accessed_by

    def test_all_filters_must_be_met(self, world, a):
        """Category, prefix and times narrow each other."""
        self.fill(world, a, "x/1", "x/2", "y/1")
        self.fill(world, a, "x/3", category="PATTERN")

        assert ["x/2", "x/1"] == self.found(world, a, category="CACHE", keyPrefix="x/")
        assert ["x/3"] == self.found(world, a, category="PATTERN")
        assert ["x/1"] == self.found(world, a, keyPrefix="x/", until="2023-11-14T22:13:21Z")

    @pytest.mark.parametrize(
        ("prefix", "expected"),
        [
            ("", 9),
            ("%", 1),
            ("_", 1),
            ("*", 1),
            ("?", 1),
            ("[", 1),
            ("\\", 1),
            ("a", 1),
            ("A", 1),
            ("ax", 1),
            ("axx", 0),
            ("\uffff", 1),
            ("a\0", 0),
            ("x" * 2_000, 0),
        ],
    )
    def test_a_prefix_is_plain_bytes(self, world, a, prefix, expected):
        """No character is special and case matters."""
        self.fill(world, a, "%", "_", "*", "?", "[", "\\", "ax", "Ax", "\uffff")

        assert expected == len(self.found(world, a, keyPrefix=prefix))

    def test_a_prefix_at_the_end_of_the_byte_range(self, world, a):
        """The last code point has keys behind it, and they are found."""
        last = "\U0010ffff"
        self.fill(world, a, last, last + last, last + "a", "z")

        assert 3 == len(self.found(world, a, keyPrefix=last))

    def test_times_are_compared_exactly(self, world, a):
        """Since is inclusive, until exclusive, also between two milliseconds; offsets count."""
        world.memory.write(a, "k", b"", "CACHE")  # 2023-11-14T22:13:20.000Z

        def found(**filters):
            return len(self.found(world, a, **filters))

        assert 1 == found(since="2023-11-14T22:13:20Z")
        assert 1 == found(since="2023-11-15T00:13:20.000+02:00")
        assert 0 == found(since="2023-11-14T22:13:20.000001Z")
        assert 1 == found(since="2023-11-14T22:13:19.999999Z")
        assert 0 == found(until="2023-11-14T22:13:20Z")
        assert 1 == found(until="2023-11-14T22:13:20.0000000001Z")
        assert 0 == found(since="2023-11-14T22:13:21Z", until="2023-11-14T22:13:19Z")

    def test_limits(self, world, a):
        """100 by default, 1 to 1000 when given, the most recent first."""
        self.fill(world, a, *(f"{number:04}" for number in range(1_001)))

        assert 100 == len(self.found(world, a))
        assert ["1000"] == self.found(world, a, limit=1)
        assert 1_000 == len(self.found(world, a, limit=1_000))

    @pytest.mark.files
    def test_a_long_prefix_range_gives_the_same_answer(self, world, a):
        """With more rows than are worth sorting, the plan changes and the answer does not."""
        for number in range(2_005):
            world.memory.write(a, f"p{number}", b"", "CACHE")
        world.memory.write(a, "q", b"", "PATTERN")

        expected = [f"p{number}" for number in range(2_004, 1_904, -1)]
        assert expected == self.found(world, a, keyPrefix="p")
        assert expected == self.found(world, a, keyPrefix="p", category="CACHE")

    @pytest.mark.parametrize(
        "filters",
        [
            None,
            [],
            "CACHE",
            {"limit": 0},
            {"limit": 1_001},
            {"limit": -1},
            {"limit": "5"},
            {"limit": None},
            {"limit": 1.5},
            {"limit": True},
            {"category": None},
            {"category": "cache"},
            {"keyPrefix": None},
            {"keyPrefix": "\ud800"},
            {"since": None},
            {"since": "yesterday"},
            {"until": "2026-01-01T00:00:00"},
            {"prefix": "x"},
            {"key_prefix": "x"},
        ],
    )
    def test_bad_filters_are_refused(self, world, a, filters):
        """An unknown field, a wrong type, a null or a number out of range."""
        with pytest.raises(InvalidInput):
            world.memory.query(a, filters)

    def test_an_answer_of_exactly_four_mebibytes(self, world, a):
        """Keys and values count; one byte more is refused, never cut; a narrower query goes."""
        for number in range(4):
            world.memory.write(a, f"{number}", bytes(MIB - 1), "CACHE")
        assert 4 == len(world.memory.query(a))

        world.memory.write(a, "0", bytes(MIB), "CACHE")
        with pytest.raises(
            InvalidInput, match=r"4,194,305 bytes.*the limit is 4,194,304: lower limit"
        ):
            world.memory.query(a)
        assert 3 == len(world.memory.query(a, {"limit": 3}))
        world.memory.delete(a, "0")
        assert 3 == len(world.memory.query(a))
