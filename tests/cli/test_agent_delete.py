"""``rotifer agent delete``, and ``agent set --data-policy``."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from rotifer_engine import (
    AgentMemory,
    AuditLog,
    Caller,
    FileSystem,
    SqliteStore,
    StorageError,
    Telemetry,
)

GENE = Caller("v2:" + "ab" * 32, "code")
MARK = b"a value that nobody may find again"
DAY = 86_400_000


@pytest.fixture
def memory(bench):
    """An agent that remembers two things and has a fitness file, and a second agent."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    bench.record(2, "other", ("one",))
    bench.put(".rotifer/agents/keeper.fitness.json", '{"one": 0.5}')
    bench.put(".rotifer/agents/other.fitness.json", '{"one": 0.5}')
    project = bench.project()
    memory = project.memory(project.record("keeper"))
    memory.write(GENE, "a", MARK * 10_000, "PREFERENCE")
    memory.write(GENE, "b", MARK, "CACHE")
    project.memory(project.record("other")).write(GENE, "theirs", b"", "PATTERN")
    project.close()


def remembered(bench):
    """The keys that stand in the database for the first agent, whether it is there or not."""
    store = SqliteStore(bench.path(".rotifer/playground.db"))
    memory = AgentMemory(
        store,
        "00000000-0000-4000-8000-000000000001",
        audit=AuditLog(bench.path(".rotifer/audit.jsonl")),
        telemetry=Telemetry(bench.path(".rotifer/telemetry.jsonl"), enabled=False),
    )
    try:
        return [row.key for row in memory.list()]
    finally:
        store.close()


def agents(bench):
    """The files in the agents' folder."""
    return sorted(os.listdir(bench.path(".rotifer/agents")))


OTHERS = ["00000000-0000-4000-8000-000000000002.json", "other.fitness.json"]


def actions(bench):
    """What the log says, in short."""
    lines = map(json.loads, bench.text(".rotifer/audit.jsonl").splitlines())
    return [(line["action"], line["key"], line["gene_id"]) for line in lines]


class TestDelete:
    """The agent goes, with all that belongs to it, and nothing else."""

    def test_with_yes(self, rotifer, cli, bench, memory):
        """Record, fitness file and entries are gone, each entry's line is there."""
        done = rotifer("agent", "delete", "keeper", "--yes")

        assert (0, "Agent 'keeper' deleted, and 2 entries of its memory\n", "") == done
        assert agents(bench) == OTHERS
        assert [
            ("memory.delete", "a", "deployer"),
            ("memory.delete", "b", "deployer"),
            ("memory.erase", None, "deployer"),
        ] == actions(bench)[3:]
        assert "error[E0050]" in cli("agent", "memory", "list", "keeper").err
        assert "theirs" in cli("agent", "memory", "list", "other").out
        assert 0 == cli("agent", "memory", "check", "other").code

    def test_the_values_are_in_no_file(self, rotifer, bench, memory):
        """Not in the database, not in its companions, nowhere in the project."""
        search = ["grep", "-rlF", MARK.decode(), bench.root]
        assert b"playground.db" in subprocess.run(search, capture_output=True, check=True).stdout
        rotifer("agent", "delete", "keeper", "--yes")

        assert b"" == subprocess.run(search, capture_output=True, check=False).stdout

    def test_one_that_never_remembered_anything(self, cli, bench):
        """It is deleted, and no database is made for it."""
        bench.record(1, "keeper", ("gone",))
        done = cli("agent", "delete", "keeper", "--yes")

        assert (0, "Agent 'keeper' deleted, and 0 entries of its memory\n") == done[:2]
        assert [] == agents(bench)
        assert ["agents"] == os.listdir(bench.path(".rotifer"))

    def test_without_a_terminal(self, rotifer, bench, memory):
        """It is refused, not taken for a yes."""
        for settings in ({}, {"input": b"y\n"}):
            done = rotifer("agent", "delete", "keeper", **settings)
            assert (1, "") == done[:2]
            assert "there is no terminal to ask at" in done.err
            assert "help: rotifer agent delete keeper --yes" in done.err

        assert 4 == len(agents(bench))
        assert 3 == len(actions(bench))

    @pytest.mark.parametrize(
        ("answer", "code", "left"),
        [(b"y\n", 0, 2), (b"n\n", 1, 4), (b"\n", 1, 4), (b"\x04", 130, 4)],
    )
    def test_at_a_terminal(self, bench, memory, answer, code, left):
        """It asks, and only a yes is one."""
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "rotifer_bridge", "agent", "delete", "keeper"],
                cwd=bench.root,
                stdin=theirs,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            asked = b""
            while not asked.endswith(b"[y/N]: "):
                asked += process.stderr.read(1)
            os.write(ours, answer)
            out, _ = process.communicate(timeout=60)
        finally:
            os.close(ours)
            os.close(theirs)

        assert b"Delete agent 'keeper' and all that it remembers (332.1 KB)?" in asked
        assert (code, left) == (process.returncode, len(agents(bench)))
        assert (code == 0) == bool(out)

    @pytest.mark.parametrize("name", ["nobody", "../keeper", ""])
    def test_no_such_agent(self, cli, bench, memory, name):
        """It is told, and nothing is deleted."""
        done = cli("agent", "delete", name, "--yes")

        assert 1 == done.code
        assert "error[E0050]" in done.err
        assert 4 == len(agents(bench))

    def test_two_of_that_name(self, cli, bench, memory):
        """Neither is chosen."""
        bench.record(3, "keeper", ("one",))

        assert "2 agents are named 'keeper'" in cli("agent", "delete", "keeper", "--yes").err
        assert 5 == len(agents(bench))

    def test_a_link_in_the_place_of_the_fitness_file(self, cli, bench, memory):
        """The link goes, not what it leads to."""
        bench.put("precious", "mine")
        fitness = bench.path(".rotifer/agents/keeper.fitness.json")
        os.unlink(fitness)
        os.symlink(bench.path("precious"), fitness)

        assert 0 == cli("agent", "delete", "keeper", "--yes").code
        assert agents(bench) == OTHERS
        assert "mine" == bench.text("precious")

    def test_while_somebody_reads_the_database(self, cli, bench, memory):
        """The agent goes; that values may still stand in a file is said."""
        project = bench.project()
        with project.memory(project.record("other"))._store.snapshot():
            done = cli("agent", "delete", "keeper", "--yes")
        project.close()

        assert 0 == done.code
        assert "warning: another process uses the database" in done.err
        assert agents(bench) == OTHERS


class TestInterrupted:
    """Whatever ends it in the middle, calling it again finishes."""

    @pytest.mark.parametrize("after", range(8))
    def test_stopped_anywhere(self, cli, bench, memory, monkeypatch, after):
        """After each file operation: the agent can be found as long as anything of it is there."""
        calls = []

        def counted(name):
            operation = getattr(os, name)

            def run(*arguments, **options):
                calls.append(name)
                if len(calls) == after + 1:
                    raise OSError(5, "Input/output error")
                return operation(*arguments, **options)

            return run

        with monkeypatch.context() as patch:
            for name in ("unlink", "fsync", "fdatasync"):
                patch.setattr(os, name, counted(name))
            first = cli("agent", "delete", "keeper", "--yes")
        gone = "00000000-0000-4000-8000-000000000001.json" not in agents(bench)
        if not gone:
            assert 1 == first.code
            assert 0 == cli("agent", "delete", "keeper", "--yes").code

        assert agents(bench) == OTHERS
        assert [] == remembered(bench)
        assert 1 == [action for action, *_ in actions(bench)].count("memory.erase") - (
            "memory.abandoned" in [action for action, *_ in actions(bench)]
        )
        assert 0 == cli("agent", "memory", "check", "other").code

    def test_a_log_that_cannot_be_written(self, cli, bench, memory, monkeypatch):
        """No line, no change: the agent is as it was."""

        def fail(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(FileSystem, "append", fail)
            done = cli("agent", "delete", "keeper", "--yes")

        assert 1 == done.code
        assert "error[MEMORY_STORAGE_ERROR]" in done.err
        assert 4 == len(agents(bench))
        assert ["a", "b"] == remembered(bench)

    def test_a_record_that_cannot_be_removed(self, cli, bench, memory, monkeypatch):
        """It is told that the memory is gone, and what to do."""
        unlink = os.unlink

        def fail(path, **options):
            if str(path).endswith("1.json"):
                raise PermissionError(13, "Permission denied", path)
            unlink(path, **options)

        monkeypatch.setattr(os, "unlink", fail)
        done = cli("agent", "delete", "keeper", "--yes")

        assert 1 == done.code
        assert "its memory is deleted; delete the agent again" in done.err

    def test_the_engine_raises_the_same(self, bench, memory, monkeypatch):
        """From Python, too."""

        def fail(*_):
            raise OSError(28, "No space left on device")

        project = bench.project()
        with monkeypatch.context() as patch, pytest.raises(StorageError):
            patch.setattr(FileSystem, "append", fail)
            project.delete_agent("keeper")
        assert (2, True) == project.delete_agent("keeper")
        project.close()


def policy(days, sharing=False):
    """A data policy's JSON."""
    return {
        "maxRetentionDays": days,
        "autoDeleteOnTermination": False,
        "anonymizationSupported": sharing,
    }


class TestDataPolicy:
    """`agent set --data-policy`: exactly the three fields, from a file or standard input."""

    def test_from_a_file(self, cli, bench, memory):
        """It is in the record and in force; the rest of the record stays."""
        bench.put("policy.json", policy(30, sharing=True))
        done = cli("agent", "set", "other", "--data-policy", "policy.json")
        record = bench.project().record("other")

        assert 0 == done.code
        assert (30, False, True) == record.data_policy
        assert ("one",) == record.genome
        assert 'Data policy   {"maxRetentionDays": 30, ' in done.out

    def test_from_standard_input(self, rotifer, bench, memory):
        """`-` reads it there; a byte order mark is no fault."""
        text = b"\xef\xbb\xbf" + json.dumps(policy(None)).encode()
        done = rotifer("agent", "set", "keeper", "--data-policy", "-", input=text)

        assert 0 == done.code
        assert (None, False, False) == bench.project().record("keeper").data_policy

    def test_what_expires_earlier(self, cli, bench, memory, monkeypatch):
        """How many entries are concerned, and how many of them are gone at the next call."""
        from rotifer_engine import SystemClock

        real = SystemClock().now_ms()
        monkeypatch.setattr(SystemClock, "now_ms", lambda _: real + 10 * DAY)
        bench.put("policy.json", policy(20))
        first = cli("agent", "set", "keeper", "--data-policy", "policy.json")
        assert "expire earlier now: 2\n" in first.out
        assert "time is over" not in first.out
        bench.put("policy.json", policy(7))
        second = cli("agent", "set", "keeper", "--data-policy", "policy.json")
        assert "expire earlier now: 2\n" in second.out
        assert "the next call removes them: 2\n" in second.out
        bench.put("policy.json", policy(None))
        assert "earlier" not in cli("agent", "set", "keeper", "--data-policy", "policy.json").out
        bench.put("policy.json", policy(7))
        cli("agent", "set", "keeper", "--data-policy", "policy.json")

        assert "nothing is remembered" in cli("agent", "memory", "list", "keeper").err

    def test_before_there_is_a_memory(self, cli, bench):
        """Nothing is said of entries, and no database is made."""
        bench.gene("one")
        bench.record(1, "keeper", ("one",))
        bench.put("policy.json", policy(7))
        done = cli("agent", "set", "keeper", "--data-policy", "policy.json")

        assert 0 == done.code
        assert "expire" not in done.out
        assert ["agents"] == os.listdir(bench.path(".rotifer"))

    def test_it_takes_a_file(self, cli, bench, memory):
        """The policy itself on the command line is met with where to put it."""
        done = cli("agent", "set", "other", "--data-policy", json.dumps(policy(1)))

        assert (1, "") == (done.code, done.out)
        assert "help: it takes a file, or - for standard input; " in done.err

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("{", "--data-policy is not JSON"),
            ("null", "dataPolicy must be an object; got null"),
            ("[]", "dataPolicy must be an object; got an array"),
            ('{"maxRetentionDays": 1}', "dataPolicy has no field autoDeleteOnTermination"),
            (json.dumps({**policy(1), "more": 1}), "dataPolicy has an unknown field 'more'"),
            (json.dumps(policy(0)), "dataPolicy.maxRetentionDays is 0"),
            (json.dumps(policy("7")), "must be an integer"),
            (json.dumps(policy(1, sharing=1)), "must be true or false"),
            (" " * 70_000, "it is over 65,536 bytes"),
        ],
    )
    def test_refused(self, cli, bench, memory, text, words):
        """A message, exit code 1, and the record as it was."""
        bench.put("policy.json", text)
        before = bench.text(f".rotifer/agents/{OTHERS[0]}")
        done = cli("agent", "set", "other", "--data-policy", "policy.json")

        assert (1, "") == (done.code, done.out)
        assert words in done.err
        assert before == bench.text(f".rotifer/agents/{OTHERS[0]}")

    def test_no_such_file(self, cli, memory):
        """It is named."""
        done = cli("agent", "set", "other", "--data-policy", "none.json")

        assert 1 == done.code
        assert "--data-policy: cannot read this: no such file or directory" in done.err
        assert " --> none.json" in done.err
