"""readMemory: what a gene gets back."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    AccessDenied,
    InvalidInput,
)


class TestRead:
    """readMemory(key, category?)."""

    def test_a_written_entry_is_read_back(self, world, a):
        """The whole entry comes back, its bytes exactly."""
        written = world.memory.write(a, "k", bytes(range(256)), "CACHE")

        assert written == world.memory.read(a, "k")

    def test_absent_is_none(self, world, a):
        """No entry is None: in an empty memory, for another key, for a key that differs in case."""
        assert world.memory.read(a, "k") is None
        world.memory.write(a, "k", b"", "CACHE")
        assert world.memory.read(a, "K") is None
        assert world.memory.read(a, "k ") is None

    def test_unicode_forms_are_different_keys(self, world, a):
        """Nothing is normalized: composed and decomposed letters are two keys."""
        world.memory.write(a, "\u00e9", b"1", "CACHE")

        assert world.memory.read(a, "e\u0301") is None

    def test_another_category_is_none(self, world, a):
        """With a category given, only an entry of that category counts."""
        world.memory.write(a, "k", b"v", "CACHE")

        assert world.memory.read(a, "k", "CACHE").value == b"v"
        assert world.memory.read(a, "k", "PATTERN") is None

    def test_an_entry_that_may_not_be_read_is_denied_never_none(self, world, a, c):
        """Also when the category given differs: access is judged first."""
        world.memory.write(a, "k", b"v", "CACHE")

        for arguments in (("k",), ("k", "CACHE"), ("k", "PATTERN")):
            with pytest.raises(AccessDenied, match="read of 'k': readScope is SAME_DOMAIN"):
                world.memory.read(c, *arguments)

    def test_it_sets_who_accessed_last(self, world, a, b):
        """The reader is in the answer and in what is read later."""
        world.memory.write(a, "k", b"v", "CACHE")

        assert world.memory.read(b, "k").last_accessed_by == b.gene_id
        assert next(world.memory.list()).last_accessed_by == b.gene_id

    def test_it_changes_nothing_else(self, world, a, b):
        """Reading is no update: times and order stay."""
        before = world.memory.write(a, "k", b"v", "CACHE")
        world.clock.move(5)
        after = world.memory.read(b, "k")

        assert before == after._replace(last_accessed_by=a.gene_id)

    def test_a_read_that_finds_no_match_touches_nothing(self, world, a, b):
        """A category that differs is no successful read."""
        world.memory.write(a, "k", b"v", "CACHE")
        world.memory.read(b, "k", "PATTERN")

        assert next(world.memory.list()).last_accessed_by == a.gene_id

    def test_plain_reads_are_not_recorded(self, world, a, b):
        """Only the creation is in the log."""
        world.memory.write(a, "k", b"v", "CACHE")
        world.memory.read(b, "k")
        world.memory.query(b)

        assert ["memory.create"] == world.actions()

    @pytest.mark.parametrize("category", [None, "cache", 1])
    def test_a_bad_category_is_refused(self, world, a, category):
        """Null is not the same as absent."""
        with pytest.raises(InvalidInput, match="category"):
            world.memory.read(a, "k", category)
