"""writeMemory: creating and replacing."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    ABSENT,
    AccessDenied,
    AccessPolicy,
    Caller,
    DataPolicy,
    InvalidInput,
    RetentionPolicy,
    entry_id,
)

MIB = 1_048_576
ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
MINE = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")
WEEK = RetentionPolicy(7, False, False)


class TestCreate:
    """writeMemory for a key that is not there."""

    def test_what_a_new_entry_holds(self, world, a):
        """Id, creator, times and the default policies are those of the page."""
        entry = world.memory.write(a, "k", b"v", "PREFERENCE")

        assert entry_id(world.memory.agent_id, b"k") == entry.entry_id
        assert (a.gene_id, a.gene_id, a.domain) == (
            entry.created_by,
            entry.last_accessed_by,
            entry.created_domain,
        )
        assert (world.clock.now, world.clock.now) == (entry.created_at, entry.updated_at)
        assert AccessPolicy("SAME_DOMAIN", "SAME_DOMAIN", "PRIVATE") == entry.access_policy
        assert entry.retention_policy is None

    @pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB])
    def test_values_up_to_a_mebibyte(self, world, a, size):
        """The empty value and the largest come back whole."""
        world.memory.write(a, "k", bytes(size), "CACHE")

        assert bytes(size) == world.memory.read(a, "k").value

    def test_policies_may_be_given_as_mappings(self, world, a):
        """The JSON form and the tuple are the same policy."""
        entry = world.memory.write(a, "k", b"", "CACHE", ALL.to_json(), WEEK.to_json())

        assert (ALL, WEEK) == (entry.access_policy, entry.retention_policy)
        assert entry == world.memory.write(a, "k", b"", "CACHE", ALL, WEEK)._replace(order=1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("", b"", "CACHE"), "key is empty"),
            (("k", "text", "CACHE"), "value must be bytes"),
            (("k", bytes(MIB + 1), "CACHE"), "value is 1,048,577 bytes; the limit is 1,048,576"),
            (("k", b"", "cache"), "category must be one of"),
            (("k", b"", "CACHE", None), "accessPolicy must be an object; got null"),
            (("k", b"", "CACHE", {}), "accessPolicy has no field readScope"),
            (("k", b"", "CACHE", ABSENT, {}), "retentionPolicy has no field maxRetentionDays"),
        ],
    )
    def test_bad_arguments_are_refused_and_nothing_written(self, world, a, arguments, message):
        """Each is named; there is no line about it either."""
        with pytest.raises(InvalidInput, match=message):
            world.memory.write(a, *arguments)

        assert ([], []) == (world.keys(), world.lines())

    @pytest.mark.parametrize("share", ["ANONYMIZED_SHARE", "KNOWLEDGE_GENE"])
    def test_sharing_needs_an_agent_that_can_anonymize(self, world, a, share):
        """Denied by default, allowed by a data policy that supports it."""
        policy = ALL._replace(share_policy=share)
        with pytest.raises(AccessDenied, match="anonymizationSupported: true"):
            world.memory.write(a, "k", b"", "CACHE", policy)
        able = world.agent(data_policy=DataPolicy(None, False, True))

        assert policy == able.write(a, "k", b"", "CACHE", policy).access_policy

    @pytest.mark.parametrize("field", ["read_scope", "write_scope"])
    def test_deployer_configured_cannot_be_set(self, world, a, field):
        """A known word, but not one that a write may set in this version."""
        with pytest.raises(AccessDenied, match="DEPLOYER_CONFIGURED cannot be set"):
            world.memory.write(a, "k", b"", "CACHE", ALL._replace(**{field: "DEPLOYER_CONFIGURED"}))

    @pytest.mark.parametrize(
        ("days", "allowed"), [(29, True), (30, True), (31, False), (None, False)]
    )
    def test_retention_within_the_agents_limit(self, world, a, days, allowed):
        """As long as the agent allows, not longer; null counts as forever."""
        memory = world.agent(data_policy=DataPolicy(30, False, False))
        policy = RetentionPolicy(days, False, False)
        if allowed:
            assert policy == memory.write(a, "k", b"", "CACHE", ABSENT, policy).retention_policy
        else:
            with pytest.raises(AccessDenied, match="the agent's data policy allows 30"):
                memory.write(a, "k", b"", "CACHE", ABSENT, policy)
            assert [] == world.keys(memory)

    def test_following_the_agent_is_always_allowed(self, world, a):
        """Null asks for nothing of its own."""
        memory = world.agent(data_policy=DataPolicy(1, False, False))

        assert memory.write(a, "k", b"", "CACHE", ABSENT, None).retention_policy is None

    def test_what_the_creator_may_not_even_read_itself(self, world):
        """A gene without a domain shares none: SAME_DOMAIN then lets nobody in, its creator neither."""
        homeless = Caller("v2:" + "d" * 64, None)
        world.memory.write(homeless, "k", b"", "CACHE")

        with pytest.raises(AccessDenied):
            world.memory.read(homeless, "k")


class TestReplace:
    """writeMemory for a key that is there."""

    def test_what_stays_and_what_changes(self, world, a, b):
        """Creator, creation, id and policies stay; value, category, update and accessor change."""
        old = world.memory.write(a, "k", b"old", "CACHE", ALL, WEEK)
        world.clock.move(1_000)
        new = world.memory.write(b, "k", b"new", "PATTERN")

        expected = old._replace(
            value=b"new",
            category="PATTERN",
            updated_at=old.updated_at + 1_000,
            last_accessed_by=b.gene_id,
            order=old.order + 1,
        )
        assert expected == new
        assert expected == world.memory.read(b, "k")

    @pytest.mark.parametrize(
        "case",
        [("CREATOR_GENE_ONLY", ""), ("SAME_DOMAIN", "b"), ("ALL_GENES", "bc")],
    )
    def test_it_needs_write_permission(self, world, a, b, c, case):
        """The write scope decides, whatever may be read."""
        scope, allowed = case
        world.memory.write(a, "k", b"old", "CACHE", AccessPolicy("ALL_GENES", scope, "PRIVATE"))
        for name, caller in (("b", b), ("c", c)):
            if name in allowed:
                world.memory.write(caller, "k", name.encode(), "CACHE")
                assert name.encode() == world.memory.read(a, "k").value
            else:
                before = world.memory.read(caller, "k")
                with pytest.raises(AccessDenied, match=f"writeScope is {scope}"):
                    world.memory.write(caller, "k", b"no", "CACHE")
                assert before == world.memory.read(caller, "k")

    def test_the_creators_domain_counts_not_the_last_writers(self, world, a, b, c):
        """SAME_DOMAIN is judged by the domain of the creation."""
        world.memory.write(
            a, "k", b"", "CACHE", AccessPolicy("SAME_DOMAIN", "ALL_GENES", "PRIVATE")
        )
        world.memory.write(c, "k", b"by c", "CACHE")

        assert b"by c" == world.memory.read(b, "k").value
        with pytest.raises(AccessDenied):
            world.memory.read(c, "k")

    @pytest.mark.parametrize(
        "policies",
        [(ALL,), (ALL, WEEK), (ABSENT, WEEK), (ALL.to_json(), WEEK.to_json())],
    )
    def test_an_equal_policy_is_no_change(self, world, a, b, policies):
        """Anyone who may write may repeat what is stored."""
        world.memory.write(a, "k", b"", "CACHE", ALL, WEEK)

        assert b"new" == world.memory.write(b, "k", b"new", "CACHE", *policies).value

    @pytest.mark.parametrize(
        "policies",
        [
            (MINE,),
            (ALL._replace(share_policy="KNOWLEDGE_GENE"),),
            (ABSENT, None),
            (ABSENT, RetentionPolicy(8, False, False)),
            (ABSENT, RetentionPolicy(7, True, False)),
            (ALL, RetentionPolicy(None, False, False)),
        ],
    )
    def test_only_the_creator_may_change_a_policy(self, world, a, b, policies):
        """From another gene it is denied and nothing is written; from the creator it is done."""
        memory = world.agent(data_policy=DataPolicy(None, False, True))
        memory.write(a, "k", b"old", "CACHE", ALL, WEEK)
        with pytest.raises(AccessDenied, match="only the gene that created the entry"):
            memory.write(b, "k", b"new", "CACHE", *policies)
        assert b"old" == memory.read(a, "k").value

        changed = memory.write(a, "k", b"new", "CACHE", *policies)
        access, retention = (*policies, ABSENT)[:2]
        assert (ALL if access is ABSENT else access) == changed.access_policy
        assert (WEEK if retention is ABSENT else retention) == changed.retention_policy

    def test_absent_and_null_retention_are_different(self, world, a):
        """Absent keeps the stored policy, null makes the entry follow the agent again."""
        world.memory.write(a, "k", b"", "CACHE", ABSENT, WEEK)

        assert WEEK == world.memory.write(a, "k", b"", "CACHE").retention_policy
        assert world.memory.write(a, "k", b"", "CACHE", ABSENT, None).retention_policy is None

    def test_repeating_a_policy_is_not_judged_anew(self, world, a, b):
        """What the agent allowed once may be repeated after its data policy became stricter."""
        share = ALL._replace(share_policy="KNOWLEDGE_GENE")
        world.agent(data_policy=DataPolicy(None, False, True)).write(
            a, "k", b"", "CACHE", share, WEEK
        )
        strict = world.agent(data_policy=DataPolicy(1, False, False))

        assert b"1" == strict.write(b, "k", b"1", "CACHE", share, WEEK).value
        assert b"2" == strict.write(b, "k", b"2", "CACHE").value
        with pytest.raises(AccessDenied):
            strict.write(a, "k", b"3", "CACHE", ABSENT, RetentionPolicy(6, False, False))
