"""The check finds what is wrong, by its place, and nothing where nothing is."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import tracemalloc

import pytest

from rotifer_engine import (
    ABSENT,
    AgentMemoryError,
    DataPolicy,
    FileSystem,
    Finding,
    QuotaExceeded,
    RetentionPolicy,
    StorageError,
)

DAY = 86_400_000


def found(world, memory=None):
    """The findings as lines, after closing everything, as another process would see it."""
    world.close()
    world.open()
    return [str(finding) for finding in (memory or world.memory).check().findings]


def change(world, *statements, **settings):
    """Change the database by hand, past all rules."""
    world.close()
    with sqlite3.connect(world.database) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement, settings)
    connection.close()


def log(world):
    """The lines of the log."""
    with open(world.audit_path, "rb") as file:
        return file.read().splitlines(keepends=True)


def rewrite(world, lines):
    """Put these lines in the place of the log."""
    with open(world.audit_path, "wb") as file:
        file.writelines(lines)


@pytest.fixture
def filled(world, a):
    """A world with three entries."""
    for key in ("one", "two", "three"):
        world.memory.write(a, key, b"value", "PATTERN")
    return world


class TestNothing:
    """All is well, and what was looked at is told."""

    def test_a_memory_that_was_never_used(self, world):
        """It has nothing, and nothing is wrong with it."""
        assert ([], 0, 0, 0, 0, 0, False, (), 0) == world.memory.check()
        assert world.memory.check().ok

    def test_everything_that_may_happen(self, make_world, a, c):
        """Eviction, expiry, refusals, a change that failed, imports' and other agents' lines."""

        class Failing(FileSystem):
            broken = False

            def sync(self, fd):
                if self.broken:
                    raise OSError(5, "Input/output error")

        world = make_world(files=Failing())
        memory = world.agent(quota_bytes=60, data_policy=DataPolicy(1, False, False))
        world.agent("other").write(a, "k", b"theirs", "CACHE")
        memory.write(a, "old", b"", "CACHE")
        world.clock.move(DAY)
        for number in range(9):
            memory.write(a, f"{number}", bytes(number), "CACHE")
        memory.write(a, "8", bytes(30), "PREFERENCE")
        memory.delete(a, "7")
        memory.delete_key("8")
        memory.write(a, "8", b"again", "PREFERENCE")
        for call in (
            lambda: memory.write(a, "big", bytes(100), "CACHE"),
            lambda: memory.read(c, "8"),
        ):
            with pytest.raises(AgentMemoryError):
                call()
        world.files.broken = True
        with pytest.raises(StorageError):
            memory.write(a, "failed", b"", "CACHE")
        assert memory.check().ok
        world.files.broken = False
        assert memory.check().ok
        memory.write(a, "after", b"", "CACHE")
        report = memory.check()

        assert [] == report.findings
        assert (len(world.keys(memory)), memory.usage()) == (report.entries, report.size)
        assert (len(world.lines()), 0, 0, True, (), 0) == report[3:]

    def test_an_entry_that_expired_and_was_not_purged(self, world, a):
        """It is still a row, and still in the log; a check purges nothing."""
        world.memory.write(a, "k", b"", "CACHE", ABSENT, RetentionPolicy(1, False, False))
        world.clock.move(DAY)

        assert ([], 1) == world.memory.check()[:2]
        assert ["memory.create"] == world.actions()

    def test_the_ends_of_time(self, world, a):
        """The longest retention, before 1970 and in year 9999."""
        for now in (-62_167_219_200_000, 253_402_300_799_999):
            world.clock.now = now
            policy = RetentionPolicy(2_147_483_647, False, False)
            world.memory.write(a, f"{now}", b"", "CACHE", ABSENT, policy)

        assert world.memory.check().ok

    def test_lines_of_other_programs(self, filled, a):
        """Objects without a change of ours are counted, empty lines passed over."""
        with open(filled.audit_path, "ab") as file:
            file.write(b'{"action":"wrap","gene":"x"}\n\n{"action":"memory.create","key":"q"}\r\n')
            file.write(b'{"action":"memory.delete","change_id":"0badf00d-1","key":"one"}\n')
        filled.memory.write(a, "four", b"", "CACHE")

        assert ([], 4, 30, 7, 2, 1, True, (4, 6), 0) == filled.memory.check()

    def test_a_log_that_was_rotated(self, filled, a):
        """What it does not tell of is no finding; what it tells must be so."""
        os.rename(filled.audit_path, filled.audit_path + ".1")
        report = filled.memory.check()
        assert ([], 3, 0, False) == (
            report.findings,
            report.entries,
            report.lines,
            report.log_whole,
        )
        filled.memory.write(a, "one", b"new", "PATTERN")
        filled.memory.delete(a, "two")
        filled.memory.write(a, "four", b"", "PATTERN")

        assert "memory.continued" == filled.actions()[0]
        assert ([], 3, False) == (filled.memory.check()[0], *filled.memory.check()[1::5])

    def test_it_changes_nothing(self, filled):
        """The files are the same, byte for byte."""

        def state():
            filled.close()
            filled.open()
            with open(filled.database, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest(), log(filled)

        before = state()
        filled.memory.check()

        assert before == state()

    def test_while_others_write(self, world, a):
        """The rows and the log are always those of one moment."""
        stop = threading.Event()
        failed = []

        def write():
            memory = world.agent(quota_bytes=400)
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    memory.write(a, f"{number % 37}", bytes(number % 50), "CACHE")
                    if number % 3 == 0:
                        memory.delete_key(f"{number % 37}")
                except AgentMemoryError as error:
                    failed.append(error)

        threads = [threading.Thread(target=write) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            findings = [world.memory.check().findings for _ in range(30)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()

        assert [[]] * 30 == findings
        assert all("there is no entry" in error.message for error in failed)


NEW = "export the memory and import it into a new agent"

ROWS = {
    "used": (
        "UPDATE agent_memory SET used = used + 5",
        "entries: the entries have 26 bytes of keys and values; 31 are counted against the quota",
    ),
    "no value": (
        "UPDATE agent_memory_entry SET value = x'' WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' counts as 8 bytes; it has 3",
    ),
    "bad key": (
        "UPDATE agent_memory_entry SET key = x'ff6f65' WHERE key = CAST('one' AS BLOB)",
        r"entries: the entry '\\xffoe' has a key that is not UTF-8",
    ),
    "NUL": (
        "UPDATE agent_memory_entry SET key = x'006f65' WHERE key = CAST('one' AS BLOB)",
        r"entries: the entry '\x00oe' has a bad key: key has a NUL character at byte 0",
    ),
    "creator": (
        "UPDATE agent_memory_entry SET created_by = 'me' WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' has a createdBy that is not a v2 identity",
    ),
    "accessed": (
        "UPDATE agent_memory_entry SET last_accessed_by = '' WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' has a lastAccessedBy that is not a v2 identity",
    ),
    "days": (
        "UPDATE agent_memory_entry SET max_retention_days = -1 WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' has a maxRetentionDays of -1",
    ),
    "expiry": (
        "UPDATE agent_memory_entry SET expires_at = 1 WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' expires at another time than its retention policy says",
    ),
    "value": (
        "UPDATE agent_memory_entry SET value = zeroblob(1048577), size = 1048580 WHERE update_order = 1",
        "entries: the entry 'one' has a value of 1,048,577 bytes; the limit is 1,048,576",
    ),
    "order": (
        "UPDATE agent_memory_entry SET update_order = 2 WHERE key = CAST('one' AS BLOB)",
        "has no place of its own in the update order",
    ),
    "later": (
        "UPDATE agent_memory_entry SET update_order = 9 WHERE key = CAST('one' AS BLOB)",
        "entries: the entry 'one' has no place of its own in the update order",
    ),
}


class TestRows:
    """Rows that are not as the rules leave them."""

    @pytest.mark.parametrize("name", ROWS)
    def test_a_row_that_was_changed_by_hand(self, filled, name):
        """The entry is named, and what to do."""
        statement, words = ROWS[name]
        change(filled, statement)
        [*_, finding] = [line for line in found(filled) if words in line]

        assert finding.endswith(f": {NEW}")

    def test_not_a_million_lines(self, world, a):
        """Of many findings of a kind, the first ones and how many more there are."""
        for number in range(50):
            world.memory.write(a, f"{number:02}", b"", "CACHE")
        change(world, "UPDATE agent_memory_entry SET created_by = 'x', last_accessed_by = 'y'")
        lines = found(world)

        assert 42 == len(lines)
        assert "entries: the entry '19' has a lastAccessedBy that is not a v2 identity" in lines[39]
        assert all("30 more like this" in line for line in lines[40:])


class TestDatabase:
    """A file that is not as SQLite and this version leave it."""

    @pytest.mark.parametrize(
        ("statement", "words"),
        [
            ("DROP INDEX agent_memory_entry_expiry", "the index agent_memory_entry_expiry is missing"),
            (
                "CREATE TRIGGER t AFTER INSERT ON agent_memory_entry BEGIN SELECT 1; END",
                "the trigger 't' is not ours and changes what happens to our tables",
            ),
            (
                "ALTER TABLE agent_memory ADD COLUMN more INTEGER",
                "the table agent_memory is not as this version makes it",
            ),
            ("UPDATE agent_memory SET number = number + 7", "3 entries belong to no agent"),
            (
                "UPDATE agent_memory_entry SET category = 'MINE' WHERE update_order = 1",
                "CHECK constraint failed in agent_memory_entry",
            ),
        ],
    )  # fmt: skip
    def test_what_was_changed_by_hand(self, filled, statement, words):
        """It is named, and what to do."""
        change(filled, statement)
        [finding] = [line for line in found(filled) if line.startswith("database:")]

        assert words in finding
        assert finding.endswith("restore a copy, or export what can be read and import it in a new project")  # fmt: skip

    def test_tables_of_other_programs_are_none_of_our_business(self, filled):
        """The file may hold them."""
        change(filled, "CREATE TABLE theirs (x)", "CREATE INDEX theirs_x ON theirs (x)")

        assert [] == found(filled)

    def test_a_damaged_page(self, world, a):
        """SQLite's words, and what to do."""
        for number in range(200):
            world.memory.write(a, f"{number}", bytes(300), "PATTERN")
        world.close()
        size = os.path.getsize(world.database)
        with open(world.database, "r+b") as file:
            file.seek(size // 2 // 4096 * 4096)
            file.write(b"\xff" * 4096)
        lines = found(world)

        assert lines
        assert all(line.startswith(("database: ", "entries: ", "audit log: ")) for line in lines)
        assert "restore a copy" in lines[0]

    def test_no_database(self, filled):
        """It is a finding, not an error, and is left as it is."""
        filled.close()
        with open(filled.database, "wb") as file:
            file.write(b"not a database" * 100)
        filled.open()
        report = filled.memory.check()

        assert not report.ok
        assert "is not an SQLite database; it was left as it is" in str(report.findings[0])
        with open(filled.database, "rb") as file:
            assert file.read(14) == b"not a database"

    def test_a_database_that_was_begun_anew(self, filled, a):
        """The lines about the one before are counted, and are no finding."""
        filled.close()
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(filled.database + suffix):
                os.rename(filled.database + suffix, filled.database + suffix + ".old")
        filled.open().write(a, "new", b"", "CACHE")

        assert ([], 1, 3, 4, 0, 3, True, (), 0) == filled.memory.check()

    def test_locked_for_longer_than_the_wait(self, filled):
        """That is told, too."""
        with sqlite3.connect(filled.database, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            filled.open(busy_timeout_ms=20)
            [finding] = filled.memory.check().findings
        other.close()

        assert ("database", "") == (finding.part, finding.remedy)
        assert "is locked" in finding.message


COPY = "restore both from the same copy"


class TestLog:
    """A log that does not say what the rows say, and lines that say nothing."""

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (b'{"t":"2026-01-01T00:00:00.000Z","acti', "line 4 is not JSON"),
            (b"\xff\xfe", "line 4 is not JSON"),
            (b"[" * 100_000, "line 4 is not JSON"),
            (b"1" * 10_000, "line 4 is not JSON"),
            (b"7", "line 4 is no JSON object"),
            (b"[1]", "line 4 is no JSON object"),
            (b"x" * 3_000_000, "line 4 has more than 1,048,576 bytes"),
        ],
    )
    @pytest.mark.parametrize("place", ["middle", "end"])
    def test_torn_lines(self, filled, a, line, words, place):
        """By their number, whether more lines follow or not."""
        with open(filled.audit_path, "ab") as file:
            file.write(line)
        if place == "middle":
            filled.memory.write(a, "four", b"", "CACHE")
        report = filled.memory.check()

        assert [f"audit log: {words}: a crash can leave such a line; look at it, then take it out or rotate the log"] == [str(finding) for finding in report.findings]  # fmt: skip
        assert (0, True) == report[4:7:2]
        assert report.lines == len([line for line in log(filled) if line.strip()])

    @pytest.mark.parametrize(
        "torn", [b"{", b'{"ts":"2026-', b'{"ts":"2026-01-01T00:00:00.000Z"\n{"ts']
    )
    @pytest.mark.parametrize("line_end", [b"", b"\n"])
    def test_half_a_line_of_ours(self, filled, a, torn, line_end):
        """At the end, where a killed process leaves it, it is none; nor behind the next append."""
        with open(filled.audit_path, "ab") as file:
            file.write(torn + line_end)
        count = len(torn.splitlines())
        assert ([], count) == (found(filled), filled.memory.check().torn_lines)
        filled.memory.write(a, "four", b"", "CACHE")
        filled.memory.write(a, "five", b"", "CACHE")

        assert ([], count) == (found(filled), filled.memory.check().torn_lines)

    def test_half_a_line_that_nothing_tells_of(self, filled, a):
        """A line that somebody cut off, among whole ones: no process leaves that."""
        lines = log(filled)
        rewrite(filled, [lines[0], lines[1][:40] + b"\n", lines[2]])

        assert "audit log: line 2 is not JSON: a crash can leave such a line" in found(filled)[0]
        assert "it does not know the entry 'two'" in found(filled)[1]

    def test_a_last_line_cut_off(self, filled):
        """Of a change that was made: that its line is not whole shows in the database."""
        rewrite(filled, [*log(filled)[:2], log(filled)[2][:40]])

        assert "its last change is not the last one of the database" in found(filled)[0]

    def test_many_torn_lines(self, filled):
        """The first ones by number, and how many more."""
        with open(filled.audit_path, "ab") as file:
            file.write(b"[\n" * 100)
        lines = found(filled)

        assert 21 == len(lines)
        assert lines[19].startswith("audit log: line 23 is not JSON")
        assert "audit log: 80 more like this (torn or foreign lines)" == lines[20]

    def test_a_line_taken_out(self, filled):
        """An entry whose creation is not told."""
        rewrite(filled, log(filled)[:1] + log(filled)[2:])

        assert [f"audit log: it does not know the entry 'two': one of the two was changed by hand or is an older copy: {COPY}"] == found(filled)  # fmt: skip

    def test_a_row_taken_out(self, filled):
        """An entry that must be there and is not."""
        change(
            filled,
            "DELETE FROM agent_memory_entry WHERE update_order = 2",
            "UPDATE agent_memory SET used = used - 8",
        )
        [line] = found(filled)

        assert "audit log: it says that there is an entry 'two', and it is not there" in line

    def test_a_row_put_back(self, filled, a):
        """An entry that must be gone and is there, also in a log that was rotated."""
        with sqlite3.connect(filled.database) as connection:
            before = connection.execute("SELECT * FROM agent_memory_entry").fetchone()
        connection.close()
        os.rename(filled.audit_path, filled.audit_path + ".1")
        filled.memory.delete_key("one")
        change(filled, "UPDATE agent_memory SET used = used + 8")
        with sqlite3.connect(filled.database) as connection:
            marks = ", ".join("?" * len(before))
            connection.execute(f"INSERT INTO agent_memory_entry VALUES ({marks})", before)
        connection.close()
        [line] = found(filled)

        assert "audit log: it says that the entry 'one' was removed, and it is there" in line

    def test_a_size_that_differs(self, filled):
        """The two figures are told."""
        change(
            filled,
            "UPDATE agent_memory_entry SET value = x'00', size = 4 WHERE update_order = 1",
            "UPDATE agent_memory SET used = used - 4",
        )
        [line] = found(filled)

        assert "audit log: it says that the entry 'one' has 8 bytes; it has 4" in line

    def test_an_older_database(self, filled, a, tmp_path):
        """A copy of before, beside a log that went on."""
        filled.close()
        with open(filled.database, "rb") as file:
            old = file.read()
        filled.open().write(a, "one", b"other", "PATTERN")
        filled.memory.write(a, "one", b"value", "PATTERN")
        filled.close()
        with open(filled.database, "wb") as file:
            file.write(old)

        assert [f"audit log: its last change is not the last one of the database: one of the two was changed by hand or is an older copy: {COPY}"] == found(filled)  # fmt: skip

    def test_an_older_log(self, filled, a):
        """A copy of before, beside a database that went on."""
        before = log(filled)
        filled.memory.write(a, "one", b"other", "PATTERN")
        filled.memory.write(a, "one", b"value", "PATTERN")
        rewrite(filled, before)

        assert "its last change is not the last one of the database" in found(filled)[0]

    @pytest.mark.parametrize(
        ("field", "value", "words"),
        [
            ("entry_id", "0" * 64, "line 2 has an entry_id that is not that of its key"),
            ("key", None, "line 2 has an entry_id that is not that of its key"),
            ("key", "\ud800", "line 2 has an entry_id that is not that of its key"),
            ("action", "memory.forget", "line 2 has the action 'memory.forget', which this version does not know"),
            ("action", None, "line 2 has the action None, which this version does not know"),
            ("size", "big", "it says that the entry 'two' has 'big' bytes; it has 8"),
        ],
    )  # fmt: skip
    def test_a_line_changed_by_hand(self, filled, field, value, words):
        """It is named by its number or its entry."""
        lines = log(filled)
        fields = {**json.loads(lines[1]), field: value}
        rewrite(filled, [lines[0], json.dumps(fields).encode() + b"\n", lines[2]])

        assert f"audit log: {words}: " in found(filled)[0]

    def test_a_log_behind_a_link(self, filled, tmp_path):
        """It is not followed, and that is a finding."""
        filled.close()
        os.rename(filled.audit_path, tmp_path / "elsewhere")
        os.symlink(tmp_path / "elsewhere", filled.audit_path)
        [line] = found(filled)

        assert "audit.jsonl cannot be read: " in line
        assert "put a regular file of your own there" in line

    def test_a_log_that_fails_while_it_is_read(self, make_world, a):
        """A finding, and the rows are checked all the same."""

        class Failing(FileSystem):
            broken = False

            def read_at(self, fd, offset, size):
                if self.broken:
                    raise OSError(5, "Input/output error")
                return super().read_at(fd, offset, size)

        world = make_world(files=Failing())
        world.memory.write(a, "k", b"", "CACHE")
        world.files.broken = True
        report = world.memory.check()

        assert [Finding("audit log", "it cannot be read to its end: Input/output error", "check the disk")] == report.findings  # fmt: skip
        assert 1 == report.entries

    def test_a_log_of_any_size(self, filled):
        """It is read in pieces: neither a long line nor many lines are held."""
        with open(filled.audit_path, "ab") as file:
            file.write(b'{"action":"wrap"}\n' * 200_000)
            file.truncate(file.tell() + 128 * 1024 * 1024)  # one line, all holes
        tracemalloc.start()
        report = filled.memory.check()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 8 * 1024 * 1024
        assert (200_004, 200_000) == report[3:5]
        assert ["line 200,004 has more than 1,048,576 bytes"] == [f.message for f in report.findings]  # fmt: skip

    def test_a_refused_write_is_no_change(self, world, a):
        """A log of nothing but refusals, and a store that committed nothing, agree."""
        memory = world.agent(quota_bytes=1)
        with pytest.raises(QuotaExceeded):
            memory.write(a, "k", b"1", "CACHE")

        assert ([], 0, 0, 1, 0, 0, True, (), 0) == memory.check()
