"""deleteMemory."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    AccessDenied,
    AccessPolicy,
    EntryNotFound,
)


class TestDelete:
    """deleteMemory(key)."""

    def test_a_deleted_entry_is_gone(self, world, a):
        """It can be neither read nor deleted again; writing creates anew."""
        world.memory.write(a, "k", b"v", "CACHE")
        world.memory.delete(a, "k")
        world.clock.move(9)

        assert world.memory.read(a, "k") is None
        with pytest.raises(EntryNotFound, match="there is no entry with the key 'k'"):
            world.memory.delete(a, "k")
        assert world.clock.now == world.memory.write(a, "k", b"v", "CACHE").created_at

    @pytest.mark.parametrize("scope", ["CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES"])
    def test_it_needs_write_permission(self, world, a, c, scope):
        """The write scope decides, and a refusal leaves the entry."""
        world.memory.write(a, "k", b"", "CACHE", AccessPolicy("ALL_GENES", scope, "PRIVATE"))
        if scope == "ALL_GENES":
            world.memory.delete(c, "k")
            assert [] == world.keys()
        else:
            with pytest.raises(AccessDenied, match=f"delete of 'k': writeScope is {scope}"):
                world.memory.delete(c, "k")
            assert ["k"] == world.keys()

    def test_keys_in_messages_are_printable(self, world, a):
        """A key cannot drive the terminal through an error."""
        with pytest.raises(EntryNotFound) as caught:
            world.memory.delete(a, "\x1b[2J\n")

        assert str(caught.value).isprintable()
