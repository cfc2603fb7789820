"""Who may call at all, and whose memory it is."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    AccessDenied,
    AccessPolicy,
    Caller,
    InvalidInput,
)

ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")


class TestIdentity:
    """Who may call at all."""

    @pytest.mark.parametrize("gene_id", [None, "deployer", "v2:xyz", ""])
    def test_no_v2_identity_no_memory(self, world, a, gene_id):
        """Every call is denied and recorded, and nothing is changed."""
        world.memory.write(a, "k", b"v", "CACHE", ALL)
        nobody = Caller(gene_id, "code.format")
        for call in (
            lambda: world.memory.read(nobody, "k"),
            lambda: world.memory.read(nobody, "none"),
            lambda: world.memory.write(nobody, "k", b"", "CACHE"),
            lambda: world.memory.query(nobody),
            lambda: world.memory.delete(nobody, "k"),
        ):
            with pytest.raises(AccessDenied):
                call()

        assert ["memory.create"] + ["memory.denied"] * 5 == world.actions()
        assert b"v" == world.memory.read(a, "k").value

    def test_input_is_judged_before_access(self, world):
        """Bad input is MEMORY_INVALID_INPUT for anyone."""
        nobody = Caller(None, None)
        for call in (
            lambda: world.memory.read(nobody, ""),
            lambda: world.memory.write(nobody, "k", "text", "CACHE"),
            lambda: world.memory.query(nobody, {"limit": 0}),
            lambda: world.memory.delete(nobody, 1),
        ):
            with pytest.raises(InvalidInput):
                call()

        assert [] == world.lines()

    def test_a_door_can_deny(self, world, a):
        """A handle used outside its run is denied and recorded; a key that is none is not."""
        with pytest.raises(AccessDenied, match="read of 'k': the run is over"):
            world.memory.deny(a, "read", "k", "the run is over")
        for key in (None, "", "\ud800", 7):
            with pytest.raises(AccessDenied, match=r"^query: outside"):
                world.memory.deny(Caller(None, None), "query", key, "outside")

        assert ["k", None, None, None, None] == [line["key"] for line in world.lines()]

    @pytest.mark.parametrize("agent_id", ["", "a\0b"])
    def test_an_agent_has_an_id_without_nul(self, world, agent_id):
        """The NUL parts agent and key in an entry's id."""
        with pytest.raises(InvalidInput, match="agent's id"):
            world.agent(agent_id)

    def test_agents_do_not_see_each_other(self, world, a):
        """The same key in two agents is two entries; usage, order and deleting are their own."""
        other = world.agent("other")
        one = world.memory.write(a, "k", b"1", "CACHE")
        two = other.write(a, "k", b"22", "CACHE")

        assert one.entry_id != two.entry_id
        assert (2, 3) == (world.memory.usage(), other.usage())
        assert (1, 1) == (one.order, two.order)
        other.delete(a, "k")
        assert (["k"], []) == (world.keys(), world.keys(other))
