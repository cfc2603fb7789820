"""Quota and eviction, seen from outside."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    ABSENT,
    AccessPolicy,
    QuotaExceeded,
    RetentionPolicy,
)

DAY = 86_400_000
MINE = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")


class TestQuota:
    """Quota and eviction, seen from outside."""

    def test_usage_counts_bytes_of_keys_and_values(self, world, a):
        """UTF-8 bytes, not characters; replacing and deleting give back."""
        usage = [world.memory.usage()]
        world.memory.write(a, "é", bytes(10), "CACHE")
        usage.append(world.memory.usage())
        world.memory.write(a, "é", bytes(3), "PATTERN")
        usage.append(world.memory.usage())
        world.memory.delete(a, "é")
        usage.append(world.memory.usage())

        assert [0, 12, 5, 0] == usage

    def test_the_oldest_cache_goes_first_then_pattern_then_context(self, world, a, c):
        """One at a time, only until it fits, whoever created them; each with a line."""
        memory = world.agent(quota_bytes=100)
        for caller, key, category in (
            (c, "x1", "CONTEXT"),
            (a, "p1", "PATTERN"),
            (c, "c1", "CACHE"),
            (a, "p2", "PATTERN"),
            (a, "c2", "CACHE"),
        ):
            memory.write(caller, key, bytes(18), category, MINE)
        memory.write(c, "c1", bytes(18), "CACHE")  # now c2 is the older one

        steps = []
        for number in range(5):
            memory.write(a, f"n{number}", bytes(18), "PREFERENCE")
            steps.append(sorted(set(world.keys(memory)) & {"x1", "p1", "p2", "c1", "c2"}))

        assert [
            ["c1", "p1", "p2", "x1"],
            ["p1", "p2", "x1"],
            ["p2", "x1"],
            ["x1"],
            [],
        ] == steps
        evicted = [line["key"] for line in world.lines() if line["action"] == "memory.evict"]
        assert ["c2", "c1", "p1", "p2", "x1"] == evicted

    def test_preferences_never_go(self, world, a):
        """A memory full of them refuses the next write."""
        memory = world.agent(quota_bytes=20)
        memory.write(a, "p", bytes(19), "PREFERENCE")
        for category in ("CACHE", "PREFERENCE"):
            with pytest.raises(QuotaExceeded, match="the quota is 20"):
                memory.write(a, "k", b"", category)

        assert ["p"] == world.keys(memory)

    def test_a_refused_write_removes_nothing(self, world, a):
        """Decide first, then delete: what could have been evicted is still there."""
        memory = world.agent(quota_bytes=100)
        memory.write(a, "p", bytes(59), "PREFERENCE")
        memory.write(a, "c", bytes(19), "CACHE")
        for size in (40, 99, 100, 500):
            with pytest.raises(QuotaExceeded):
                memory.write(a, "n", bytes(size), "CACHE")
            with pytest.raises(QuotaExceeded):
                memory.write(a, "c", bytes(size), "CACHE")

        assert (["c", "p"], 80) == (world.keys(memory), memory.usage())
        assert bytes(19) == memory.read(a, "c").value

    def test_a_quota_is_filled_to_the_byte(self, world, a):
        """Exactly the quota fits, one byte more does not."""
        memory = world.agent(quota_bytes=20)
        memory.write(a, "k", bytes(19), "PREFERENCE")
        with pytest.raises(QuotaExceeded):
            memory.write(a, "k", bytes(20), "PREFERENCE")

        assert 20 == memory.usage()

    def test_overwriting_counts_the_old_bytes_as_free(self, world, a):
        """Rewriting the one big entry evicts nothing, not even itself."""
        memory = world.agent(quota_bytes=100)
        memory.write(a, "big", bytes(80), "CACHE")
        memory.write(a, "s", bytes(10), "CACHE")
        memory.write(a, "big", bytes(86), "CACHE")

        assert ["big", "s"] == world.keys(memory)

    def test_the_entry_being_written_is_never_evicted(self, world, a):
        """A growing CACHE entry pushes out the younger ones, not its own old self."""
        memory = world.agent(quota_bytes=30)
        memory.write(a, "a", bytes(9), "CACHE")
        memory.write(a, "b", bytes(9), "CACHE")
        memory.write(a, "c", bytes(9), "CACHE")
        memory.write(a, "a", bytes(12), "CACHE")

        assert ["a", "c"] == world.keys(memory)
        assert ["memory.evict", "memory.update"] == world.actions()[-2:]

    def test_a_smaller_quota_is_kept_at_the_next_write(self, world, a):
        """After the quota was lowered a write evicts until the whole memory fits."""
        for number in range(5):
            world.memory.write(a, f"{number}", bytes(9), "CACHE")
        small = world.agent(quota_bytes=25)
        small.write(a, "4", bytes(8), "CACHE")

        assert (["3", "4"], 19) == (world.keys(small), small.usage())

    def test_expired_entries_do_not_count(self, world, a):
        """They make room before anything is evicted."""
        memory = world.agent(quota_bytes=20)
        memory.write(a, "old", bytes(7), "PREFERENCE", ABSENT, RetentionPolicy(1, False, False))
        memory.write(a, "new", bytes(7), "CACHE")
        world.clock.move(DAY)

        assert 10 == memory.usage()
        memory.write(a, "k", bytes(9), "CACHE")
        assert ["k", "new"] == world.keys(memory)

    def test_one_line_for_a_refused_write(self, world, a):
        """The line has what was asked for, and the code."""
        memory = world.agent(quota_bytes=5)
        with pytest.raises(QuotaExceeded):
            memory.write(a, "k", bytes(9), "CACHE")
        (line,) = world.lines()

        expected = ("memory.quota_exceeded", "k", "CACHE", 10, "refused", "MEMORY_QUOTA_EXCEEDED")
        assert expected == tuple(
            line[name] for name in ("action", "key", "category", "size", "result", "code")
        )
