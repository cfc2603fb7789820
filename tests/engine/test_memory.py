"""The four calls and the deployer's, by what genes and deployers see."""

from __future__ import annotations

import pytest

from rotifer_engine import (
    ABSENT,
    AccessDenied,
    AccessPolicy,
    Caller,
    DataPolicy,
    EntryNotFound,
    InvalidInput,
    QuotaExceeded,
    RetentionPolicy,
    entry_id,
)

MIB = 1_048_576
DAY = 86_400_000
ALL = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
MINE = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")
WEEK = RetentionPolicy(7, False, False)


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
        ("scope", "allowed"),
        [("CREATOR_GENE_ONLY", ""), ("SAME_DOMAIN", "b"), ("ALL_GENES", "bc")],
    )
    def test_it_needs_write_permission(self, world, a, b, c, scope, allowed):
        """The write scope decides, whatever may be read."""
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
            InvalidInput, match="4,194,305 bytes.*the limit is 4,194,304: lower limit"
        ):
            world.memory.query(a)
        assert 3 == len(world.memory.query(a, {"limit": 3}))
        world.memory.delete(a, "0")
        assert 3 == len(world.memory.query(a))


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
            with pytest.raises(AccessDenied, match="^query: outside"):
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
