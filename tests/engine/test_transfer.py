"""A memory that travels: the format of an export, and what an import takes and refuses."""

from __future__ import annotations

import base64
import io
import json
import tracemalloc

import pytest

from rotifer_engine import (
    ABSENT,
    AccessDenied,
    AccessPolicy,
    Caller,
    DataPolicy,
    InvalidInput,
    QuotaExceeded,
    RetentionPolicy,
    entry_id,
    replay,
)

DAY = 86_400_000
MINE = AccessPolicy("CREATOR_GENE_ONLY", "ALL_GENES", "PRIVATE")
SHARED = AccessPolicy("ALL_GENES", "ALL_GENES", "KNOWLEDGE_GENE")
ONE_DAY = RetentionPolicy(1, False, False)
FOREVER = RetentionPolicy(None, True, True)
SHARING = DataPolicy(None, False, True)
HEADER = {
    "format": "rotifer-memory",
    "version": 1,
    "agentId": "x",
    "exportedAt": "2026-01-31T08:30:00.000Z",
}
ENTRY = {
    "category": "PATTERN",
    "key": "k",
    "value": "AQID",
    "createdBy": "v2:" + "a" * 64,
    "createdDomain": "code.format",
    "lastAccessedBy": "v2:" + "b" * 64,
    "createdAt": "2026-01-31T08:30:00.000Z",
    "updatedAt": "2026-01-31T08:30:00.001Z",
    "accessPolicy": MINE.to_json(),
    "retentionPolicy": None,
}


def exported(memory, **options):
    """The bytes of an export."""
    file = io.BytesIO()
    memory.export_to(file, **options)
    return file.getvalue()


def body(data):
    """All of an export but its first line, which names the agent and the time."""
    return data.split(b"\n", 1)[1]


def made_of(*lines):
    """A file of these lines, objects as JSON."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return io.BytesIO("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass"))


def export_of(*entries):
    """A whole export that holds these entries."""
    return made_of(HEADER, *entries, {"end": True, "entries": len(entries)})


def filled(world, a, c):
    """A memory with every category and policy, keys and values of every sort."""
    memory = world.agent(data_policy=SHARING)
    memory.write(a, "z", bytes(range(256)), "PREFERENCE", MINE, FOREVER)
    world.clock.move(1)
    memory.write(c, "é\U0001f600\u202e\x1b", b"", "PATTERN", SHARED)
    memory.write(Caller("v2:" + "d" * 64, None), "nowhere", b"x", "CONTEXT", ABSENT, ONE_DAY)
    memory.write(a, "cache", b"again", "CACHE")
    memory.write(a, "z", b"new", "PREFERENCE")
    memory.read(c, "é\U0001f600\u202e\x1b")
    return memory


class TestExport:
    """What is written, and when it is from."""

    def test_the_format(self, world, a, b):
        """A first line, one line an entry in a fixed order of fields, a closing line."""
        world.memory.write(a, "k\n", b"\x01", "PATTERN", MINE, ONE_DAY)
        world.clock.move(1)
        world.memory.write(b, "k\n", b"\x01\x02\x03", "PATTERN")
        world.clock.move(1)

        assert (
            '{"format":"rotifer-memory","version":1,"agentId":"' + world.memory.agent_id + '",'
            '"exportedAt":"2023-11-14T22:13:20.002Z"}\n'
            '{"category":"PATTERN","key":"k\\n","value":"AQID",'
            f'"createdBy":"{a.gene_id}","createdDomain":"code.format",'
            f'"lastAccessedBy":"{b.gene_id}","createdAt":"2023-11-14T22:13:20.000Z",'
            '"updatedAt":"2023-11-14T22:13:20.001Z","accessPolicy":{"readScope":'
            '"CREATOR_GENE_ONLY","writeScope":"ALL_GENES","sharePolicy":"PRIVATE"},'
            '"retentionPolicy":{"maxRetentionDays":1,"autoDeleteOnTermination":false,'
            '"anonymizationSupported":false}}\n'
            '{"end":true,"entries":1}\n'
        ) == exported(world.memory).decode("ascii")

    def test_update_order_without_cache(self, world, a, c):
        """The least recently updated first; what may be left behind only when it is asked for."""
        memory = filled(world, a, c)

        def keys(data):
            return [json.loads(line).get("key") for line in data.splitlines()[1:-1]]

        assert ["é\U0001f600\u202e\x1b", "nowhere", "z"] == keys(exported(memory))
        assert ["é\U0001f600\u202e\x1b", "nowhere", "cache", "z"] == keys(
            exported(memory, with_cache=True)
        )

    def test_what_it_says_of_itself(self, world, a):
        """How many entries, and their bytes."""
        world.memory.write(a, "k", b"123", "PATTERN")
        world.memory.write(a, "c", b"123", "CACHE")

        assert (1, 4) == world.memory.export_to(io.BytesIO())
        assert (2, 8) == world.memory.export_to(io.BytesIO(), with_cache=True)
        assert (0, 0) == world.agent("nobody").export_to(io.BytesIO())

    def test_expired_entries_are_absent(self, world, a):
        """They are left out, by both kinds of policy; nothing is purged or recorded by it."""
        memory = world.agent(data_policy=DataPolicy(2, False, False))
        memory.write(a, "own", b"", "PATTERN", ABSENT, ONE_DAY)
        memory.write(a, "agent's", b"", "PATTERN")
        world.clock.move(DAY)
        assert b'"entries":1' in exported(memory)
        world.clock.move(DAY)
        assert b'"entries":0' in exported(memory)

        assert ["memory.create"] * 2 == world.actions()

    def test_one_moment(self, world, a):
        """What is written, deleted and accessed meanwhile is not in it."""

        class Busy(io.BytesIO):
            def write(self, data):
                world.memory.write(a, f"late/{self.tell()}", b"", "PATTERN")
                if b'"k/10"' in data:
                    world.memory.delete(a, "k/20")
                    world.memory.write(a, "k/30", b"other", "PATTERN")
                return super().write(data)

        for number in range(50):
            world.memory.write(a, f"k/{number}", b"v", "PATTERN")
        before = body(exported(world.memory))
        file = Busy()
        world.memory.export_to(file)

        assert before == body(file.getvalue())

    def test_a_big_memory_is_not_held(self, world, a):
        """An export of many large values needs the room of a few."""
        memory = world.agent(quota_bytes=10**9)
        for number in range(24):
            memory.write(a, f"{number}", bytes(1_048_576), "PATTERN")

        class Nowhere(io.RawIOBase):
            def write(self, data):
                return len(data)

        tracemalloc.start()
        memory.export_to(Nowhere())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 12 * 1_048_576


class TestImport:
    """What is taken."""

    def test_round_trip(self, world, a, c):
        """Another agent, and again from it: the same bytes but for the first line."""
        data = exported(filled(world, a, c), with_cache=True)
        other = world.agent("other", data_policy=SHARING)

        assert (4, 0, 0) == other.import_from(io.BytesIO(data))[:3]
        assert body(data) == body(exported(other, with_cache=True))
        assert other.check().ok

    def test_entries_are_as_they_were(self, world, a, b):
        """Creator, its domain, times, policies, value; the id is made for the new agent."""
        memory = world.agent("new")
        memory.import_from(export_of(ENTRY))
        [row] = memory.list()

        assert (
            entry_id("new", b"k"),
            "PATTERN",
            a.gene_id,
            "code.format",
            b.gene_id,
            1_769_848_200_000,
            1_769_848_200_001,
            MINE,
            None,
        ) == (
            row.entry_id,
            row.category,
            row.created_by,
            row.created_domain,
            row.last_accessed_by,
            row.created_at,
            row.updated_at,
            row.access_policy,
            row.retention_policy,
        )
        assert bytes([1, 2, 3]) == memory.read(a, "k").value
        with pytest.raises(AccessDenied):
            memory.read(b, "k")

    def test_they_come_after_what_is_there(self, world, a):
        """In the order of the file they are the most recently updated, so they are evicted last."""
        memory = world.agent(quota_bytes=40)
        world.clock.now = 2 * 10**12
        memory.write(a, "here", bytes(6), "PATTERN")
        memory.import_from(
            export_of(*({**ENTRY, "key": key, "value": ""} for key in ("second", "first")))
        )
        memory.write(a, "big", bytes(20), "PATTERN")
        assert ["first", "second"] == world.keys(memory)[1:]
        memory.write(a, "big", bytes(30), "PATTERN")

        assert ["big", "first"] == world.keys(memory)

    def test_every_entry_is_recorded(self, world, a):
        """One line each, the deployer's, all of one change; replaying gives the keys."""
        world.memory.write(a, "k", b"old", "PATTERN")
        world.memory.import_from(export_of({**ENTRY, "key": "n"}, ENTRY), replace=True)
        _, *lines = world.lines()

        assert [
            ("memory.create", "n", 4, "import", "deployer"),
            ("memory.update", "k", 4, "import", "deployer"),
        ] == [
            (line["action"], line["key"], line["size"], line["operation"], line["gene_id"])
            for line in lines
        ]
        assert 1 == len({line["change_id"] for line in lines})
        assert {"k", "n"} == replay(world.raw_lines())[world.memory.agent_id]

    def test_replace(self, world, b):
        """The whole entry is the file's, its creator and its times too; others stay."""
        world.memory.write(b, "k", b"old", "PREFERENCE")
        world.memory.write(b, "other", b"old", "PREFERENCE")
        imported = world.memory.import_from(export_of(ENTRY), replace=True)
        rows = {row.key: row for row in world.memory.list()}

        assert (0, 1, 0, 4) == imported
        assert (ENTRY["createdBy"], "PATTERN", 1_769_848_200_000) == (
            rows["k"].created_by,
            rows["k"].category,
            rows["k"].created_at,
        )
        assert b"old" == world.memory.read(b, "other").value
        assert world.memory.usage() == sum(row.size for row in rows.values())

    @pytest.mark.parametrize(
        ("own", "agents", "moved", "taken"),
        [
            (1, None, DAY - 1, 1),
            (1, None, DAY, 0),
            (None, 1, 10 * DAY, 0),
            (None, 20, 10 * DAY, 1),
            (1, 1, DAY, 0),
        ],
    )
    def test_expired_entries_are_left_out(self, world, own, agents, moved, taken):
        """By their own policy or the new agent's, at the very instant; counted, not recorded."""
        memory = world.agent(data_policy=DataPolicy(agents, False, False))
        world.clock.now = 1_769_848_200_001 + moved
        policy = None if own is None else RetentionPolicy(own, False, False).to_json()
        imported = memory.import_from(export_of({**ENTRY, "retentionPolicy": policy}))

        assert (taken, 0, 1 - taken) == imported[:3]
        assert taken == len(world.lines()) == len(list(memory.list()))

    def test_an_expired_entry_that_is_there_is_no_hindrance(self, world, a):
        """It is purged first; the imported one is new."""
        world.memory.write(a, "k", b"", "PATTERN", ABSENT, ONE_DAY)
        world.clock.move(DAY)
        world.memory.import_from(export_of(ENTRY))

        assert ["memory.create", "memory.expire", "memory.create"] == world.actions()

    def test_an_empty_export(self, world):
        """It is taken, and leaves no line."""
        assert (0, 0, 0, 0) == world.memory.import_from(export_of())
        assert [] == world.lines()

    def test_a_byte_order_mark_and_other_line_ends(self, world):
        """An editor's habits are no fault."""
        text = export_of(ENTRY).getvalue().replace(b"\n", b"\r\n").removesuffix(b"\r\n")

        assert 1 == world.memory.import_from(io.BytesIO(b"\xef\xbb\xbf" + text)).created

    @pytest.mark.parametrize("time", ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"])
    @pytest.mark.parametrize("days", [1, 2_147_483_647])
    def test_the_ends_of_time(self, world, time, days):
        """The first and the last instant there is, with the longest retention, come through."""
        world.clock.now = -70_000_000_000_000
        policy = RetentionPolicy(days, False, False).to_json()
        entry = {**ENTRY, "createdAt": time, "updatedAt": time, "retentionPolicy": policy}
        world.memory.import_from(export_of(entry))

        assert json.dumps(entry, separators=(",", ":")).encode() in exported(world.memory)

    def test_a_big_file_is_not_held(self, world):
        """An import of many large values needs the room of a few."""
        memory = world.agent(quota_bytes=10**9)
        value = base64.b64encode(bytes(1_048_576)).decode()

        class Endless(io.RawIOBase):
            lines = iter(
                [
                    json.dumps(HEADER),
                    *(f'{{"number":{number}}}' for number in range(24)),
                    '{"end":true,"entries":24}',
                ]
            )

            def readline(self, limit=-1):
                line = json.loads(next(self.lines, "null"))
                if line is not None and "number" in line:
                    line = {**ENTRY, "key": f"{line['number']}", "value": value}
                return b"" if line is None else json.dumps(line).encode() + b"\n"

        tracemalloc.start()
        memory.import_from(Endless())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 16 * 1_048_576
        assert 24 == len(list(memory.list()))


def without(name):
    """The entry without a field."""
    return {field: value for field, value in ENTRY.items() if field != name}


BAD_LINES = {
    "not JSON": ("{", "it is not JSON from column 2 on; is it a whole line of an export?"),
    "not UTF-8": ("\udcff", "it is not JSON"),
    "empty": ("", "it is not JSON"),
    "no object": ("[1]", "it must be an object; got an array"),
    "deep": ("[" * 200_000, "it is not JSON"),
    "many digits": ('{"end":' + "1" * 5_000 + "}", "it is not JSON"),
    "twice": ('{"key":"a","key":"b"}', "a field stands there twice"),
    "unknown": ({**ENTRY, "entryId": "x"}, "the entry has an unknown field 'entryId'"),
    **{f"no {name}": (without(name), f"the entry has no field {name}") for name in ENTRY},
    "category": ({**ENTRY, "category": "cache"}, "category must be one of"),
    "no key": ({**ENTRY, "key": ""}, "key is empty"),
    "key": ({**ENTRY, "key": "é" * 515}, "key is 1,030 bytes; the limit is 1,024"),
    "NUL": ({**ENTRY, "key": "a\0b"}, "key has a NUL character"),
    "surrogate": ({**ENTRY, "key": "\ud800"}, "a lone surrogate U+D800"),
    "value": ({**ENTRY, "value": None}, "value must be a base64 string; got null"),
    "base64": ({**ENTRY, "value": "AQI"}, "value is not base64"),
    "canonical": ({**ENTRY, "value": "AR=="}, "value is not canonical base64"),
    "large": (
        {**ENTRY, "value": base64.b64encode(bytes(1_048_577)).decode()},
        "value is 1,048,577 bytes; the limit is 1,048,576",
    ),
    "gene": ({**ENTRY, "createdBy": "deployer"}, "createdBy must be a v2 identity"),
    "gene type": ({**ENTRY, "createdBy": 1}, "createdBy must be a v2 identity"),
    "accessed": ({**ENTRY, "lastAccessedBy": "v2:" + "A" * 64}, "lastAccessedBy must be a v2"),
    "domain": ({**ENTRY, "createdDomain": 1}, "createdDomain must be a string; got a number"),
    "domain text": ({**ENTRY, "createdDomain": "\udfff"}, "createdDomain is not well-formed"),
    "time": ({**ENTRY, "createdAt": "yesterday"}, "createdAt is not an RFC 3339 time"),
    "offset": (
        {**ENTRY, "updatedAt": "2026-01-31T09:30:00.000+01:00"},
        "an export has 2026-01-31T08:30:00.000Z",
    ),
    "digits": ({**ENTRY, "updatedAt": "2026-01-31T08:30:00.0001Z"}, "UTC, milliseconds"),
    "access": ({**ENTRY, "accessPolicy": {}}, "accessPolicy has no field readScope"),
    "scope": ({**ENTRY, "accessPolicy": None}, "accessPolicy must be an object; got null"),
    "days": (
        {**ENTRY, "retentionPolicy": {**ONE_DAY.to_json(), "maxRetentionDays": 0}},
        "retentionPolicy.maxRetentionDays is 0",
    ),
}  # fmt: skip


class TestRefused:
    """What is not taken: then nothing of the file is."""

    def refused(self, world, file, kind, words, **options):
        """The import fails so, and the memory is as it was."""
        memory = options.pop("memory", world.memory)
        before = exported(memory, with_cache=True), len(world.lines())
        with pytest.raises(kind) as caught:
            memory.import_from(file, **options)

        assert all(part in caught.value.message for part in words.split(" … "))
        assert caught.value.message.isprintable()
        assert before[0] == exported(memory, with_cache=True)
        assert memory.check().ok
        return world.lines()[before[1] :]

    @pytest.mark.parametrize("name", BAD_LINES)
    def test_a_bad_line(self, world, a, name):
        """The message has its number and what is wrong with it; nothing is recorded."""
        line, words = BAD_LINES[name]
        world.memory.write(a, "here", b"", "CACHE")
        file = made_of(HEADER, {**ENTRY, "key": "good"}, line, {"end": True, "entries": 2})

        assert [] == self.refused(world, file, InvalidInput, f"line 3: … {words}")

    def test_a_line_without_end(self, world):
        """Not more is read of it than the longest entry needs."""
        file = made_of(HEADER, '{"key":"' + "x" * 4 * 1024 * 1024)

        assert [] == self.refused(world, file, InvalidInput, "line 2: it has more than 4,194,304")

    @pytest.mark.parametrize(
        ("first", "words"),
        [
            ("", "line 1: it is not JSON"),
            (ENTRY, 'line 1: this is no export of a memory: it has no "format":"rotifer-memory"'),
            ({**HEADER, "version": 2}, "version 2; this rotifer-bridge knows 1"),
            ({**HEADER, "version": True}, "version a boolean"),
            ({**HEADER, "version": "1"}, "version '1'"),
            ({**HEADER, "more": 1}, "line 1: the first line has an unknown field 'more'"),
            ({**HEADER, "agentId": 1}, "line 1: agentId must be a string"),
            ({**HEADER, "exportedAt": "x"}, "line 1: exportedAt is not an RFC 3339 time"),
        ],
    )
    def test_a_bad_first_line(self, world, first, words):
        """What is no export, or one of a newer version, is told so."""
        file = made_of(first, ENTRY, {"end": True, "entries": 1})

        assert [] == self.refused(world, file, InvalidInput, words)

    @pytest.mark.parametrize(
        ("last", "words"),
        [
            ([{"end": True, "entries": 3}], "counts 3 entries; there are 1: the file is not whole"),
            ([{"end": True, "entries": 10**30}], "counts a number of more than 20 digits entries"),
            ([{"end": 1, "entries": 1}], "must be"),
            ([{"end": True, "entries": True}], "must be"),
            ([{"end": True}], "the closing line has no field entries"),
            ([{"end": True, "entries": 1}, ENTRY], "line 4: something follows the closing line"),
            ([{"end": True, "entries": 1}, HEADER], "line 4: something follows the closing line"),
            ([HEADER], "the entry has an unknown field 'format'"),
        ],
    )
    def test_a_bad_end(self, world, last, words):
        """Lines that are missing, or too many, are noticed."""
        assert [] == self.refused(world, made_of(HEADER, ENTRY, *last), InvalidInput, words)

    def test_a_file_cut_off_anywhere(self, world, a, c):
        """Whatever is missing at its end, nothing of it is taken."""
        data = exported(filled(world, a, c), with_cache=True)
        other = world.agent("other", data_policy=SHARING)
        for size in [*range(0, len(data) - 1, 37), len(data) - 2]:
            with pytest.raises(InvalidInput):
                other.import_from(io.BytesIO(data[:size]))

        assert [] == world.keys(other)

    def test_a_key_that_is_there(self, world, a):
        """It refuses the import unless it is to be replaced."""
        world.memory.write(a, "k", b"", "CACHE")
        file = export_of({**ENTRY, "key": "new"}, ENTRY)

        assert [] == self.refused(world, file, InvalidInput, "line 3: there is an entry with the key 'k'")  # fmt: skip

    @pytest.mark.parametrize("replace", [False, True])
    def test_a_key_twice(self, world, replace):
        """A file that has a key twice is none of ours."""
        file = export_of(ENTRY, ENTRY)

        assert [] == self.refused(world, file, InvalidInput, "line 3: the key 'k' stands in the file twice", replace=replace)  # fmt: skip

    def test_no_room(self, world, a):
        """The figures are told and the refusal is recorded; nothing is evicted."""
        memory = world.agent(quota_bytes=17)
        memory.write(a, "here", bytes(6), "CACHE")
        file = export_of(*({**ENTRY, "key": key} for key in "xy"))
        [line] = self.refused(world, file, QuotaExceeded, "8 bytes (keys and values) and would bring the memory to 18 bytes; the quota is 17", memory=memory)  # fmt: skip

        assert ("memory.quota_exceeded", "deployer", "import", None, 8) == (
            line["action"],
            line["gene_id"],
            line["operation"],
            line["key"],
            line["size"],
        )

    def test_far_too_much(self, world):
        """What is more than the quota by itself is counted to its end and not kept."""
        memory = world.agent(quota_bytes=10)
        file = export_of(*({**ENTRY, "key": f"{number:04}"} for number in range(1_000)))

        assert 1 == len(self.refused(world, file, QuotaExceeded, "7,000 bytes", memory=memory))

    def test_exactly_enough_room(self, world, a):
        """The last byte may be used, and what is replaced counts as free, wherever it stands."""
        memory = world.agent(quota_bytes=18)
        memory.write(a, "k", bytes(9), "PREFERENCE")
        memory.write(a, "here", b"", "PREFERENCE")
        memory.import_from(export_of({**ENTRY, "key": "more789"}, ENTRY), replace=True)

        assert 18 == memory.usage()

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            (
                {"retentionPolicy": RetentionPolicy(31, False, False).to_json()},
                "maxRetentionDays is 31; the agent's data policy allows 30",
            ),
            ({"retentionPolicy": FOREVER.to_json()}, "maxRetentionDays is null (forever)"),
            ({"accessPolicy": SHARED.to_json()}, "sharePolicy KNOWLEDGE_GENE needs an agent"),
            (
                {"accessPolicy": {**MINE.to_json(), "writeScope": "DEPLOYER_CONFIGURED"}},
                "writeScope DEPLOYER_CONFIGURED cannot be set",
            ),
        ],
    )
    def test_the_data_policy(self, world, entry, words):
        """An entry that it forbids is named, with the remedy; the refusal is recorded."""
        memory = world.agent(data_policy=DataPolicy(30, False, False))
        world.clock.now = 1_769_848_200_001
        file = export_of({**ENTRY, "key": "good"}, {**ENTRY, **entry})
        [line] = self.refused(world, file, AccessDenied, f"{words}", memory=memory)

        assert ("memory.denied", "import", "k") == (line["action"], line["operation"], line["key"])
        file.seek(0)
        self.refused(world, file, AccessDenied, "line 3: import of 'k'", memory=memory)
        file.seek(0)
        self.refused(world, file, AccessDenied, "rotifer agent set --data-policy", memory=memory)
