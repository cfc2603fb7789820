"""``rotifer agent memory check``, ``export`` and ``import``, and a ``list`` of any length."""

from __future__ import annotations

import base64
import errno
import io
import json
import os
import shlex
import stat
import subprocess
import sys

import pytest

from rotifer_bridge._transfer import output_file
from rotifer_bridge.errors import ProjectError, UsageError
from rotifer_engine import Caller

GENE = Caller("v2:" + "ab" * 32, "code")
_IMPORT = f"{shlex.quote(sys.executable)} -m rotifer_bridge agent memory import empty -"
NASTY = "esc\x1b[2J\u202eend"


@pytest.fixture
def memory(bench):
    """An agent that remembers four things, beside one that remembers nothing."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",), memoryQuotaBytes=4096)
    bench.record(2, "empty", ("one",), memoryQuotaBytes=4096)
    project = bench.project()
    memory = project.memory(project.record("keeper"))
    memory.write(GENE, "b", b"x" * 200, "CACHE")
    memory.write(GENE, "a", b"secret", "PREFERENCE")
    memory.write(GENE, "c", b"", "CONTEXT")
    memory.write(GENE, NASTY, b"y", "PATTERN")
    yield memory
    project.close()


@pytest.fixture
def other(bench, memory):
    """The memory of the agent that remembers nothing."""
    project = bench.project()
    yield project.memory(project.record("empty"))
    project.close()


class TestCheck:
    """Findings, their remedies, and what was looked at."""

    def test_nothing_found(self, cli, memory):
        """It says so, and what was checked."""
        done = cli("agent", "memory", "check", "keeper")

        assert (0, "") == (done.code, done.err)
        assert [
            "no findings",
            "checked: the database, its tables and their references",
            "checked: 4 entries, 223 bytes of keys and values",
            "checked: 4 lines of the audit log",
        ] == done.out.splitlines()

    def test_as_json(self, cli, memory):
        """One document with the same."""
        document = json.loads(cli("agent", "memory", "check", "keeper", "--json").out)

        assert {
            "ok": True,
            "findings": [],
            "entries": 4,
            "usageBytes": 223,
            "auditLines": 4,
            "foreignLines": 0,
            "foreignLineNumbers": [],
            "otherDatabaseLines": 0,
            "tornLines": 0,
            "logWhole": True,
        } == document

    def test_findings(self, cli, bench, memory):
        """One line each with the remedy, keys escaped; the exit code is 1."""
        with open(bench.path(".rotifer/audit.jsonl"), "a", encoding="ascii") as file:
            file.write('{"action":"wrap"}\n{"torn\n')
            file.write(
                json.dumps(
                    {
                        "action": "memory.create",
                        "agent_id": memory.agent_id,
                        "change_id": json.loads(bench.text(".rotifer/audit.jsonl").splitlines()[3])[
                            "change_id"
                        ],
                        "key": NASTY + "2",
                        "size": 3,
                    }
                )
                + "\n"
            )
        done = cli("agent", "memory", "check", "keeper")
        lines = done.out.splitlines()

        assert (1, "") == (done.code, done.err)
        assert lines[0].startswith("audit log: line 6 is not JSON: a crash can leave such a line")
        assert r"an entry 'esc\x1b[2J\u202eend2', and it is not there" in lines[2]
        assert "3 findings" == lines[3]
        assert "checked: 7 lines of the audit log (1 of other programs: line 5)" == lines[-1]
        document = json.loads(cli("agent", "memory", "check", "keeper", "--json").out)
        assert not document["ok"]
        assert {"part", "message", "remedy"} == set(document["findings"][0])

    def test_half_a_line(self, cli, bench, memory):
        """It is no finding before the next line that tells of it, nor after."""
        with open(bench.path(".rotifer/audit.jsonl"), "ab") as file:
            file.write(b'{"ts":"2026-01-01T00:00:00.000Z","act')
        said = "lines of the audit log (1 left half written by a killed process; no change was made of it)"  # fmt: skip
        before = cli("agent", "memory", "check", "keeper")
        memory.write(GENE, "new", b"", "CACHE")
        after = cli("agent", "memory", "check", "keeper")

        assert (0, f"checked: 5 {said}") == (before.code, before.out.splitlines()[-1])
        assert (0, f"checked: 7 {said}") == (after.code, after.out.splitlines()[-1])

    def test_a_rotated_log(self, cli, bench, memory):
        """It is said that older entries are not in it."""
        os.rename(bench.path(".rotifer/audit.jsonl"), bench.path(".rotifer/old.jsonl"))
        memory.write(GENE, "new", b"", "CACHE")
        done = cli("agent", "memory", "check", "keeper")

        assert 0 == done.code
        assert "2 lines of the audit log (it was rotated, so older entries are not in it)" in done.out  # fmt: skip

    def test_a_database_that_is_none(self, cli, bench):
        """That is the finding, with the remedy; nothing else was looked at."""
        bench.gene("one")
        bench.record(1, "keeper", ("one",))
        bench.put(".rotifer/playground.db", b"not a database" * 100, 0o600)
        done = cli("agent", "memory", "check", "keeper")
        finding, count = done.out.splitlines()

        assert (1, "1 finding") == (done.code, count)
        assert finding.startswith("database: the memory file ")
        assert "move it away, or put the right file there" in finding

    def test_no_such_agent(self, cli, memory):
        """It is told as everywhere."""
        done = cli("agent", "memory", "check", "nobody")

        assert (1, "") == (done.code, done.out)
        assert "error[E0050]" in done.err


class TestAudit:
    """The records, one a line, as `agent memory list` shows its entries."""

    def test_lines(self, cli, memory, bench):
        """A gene of the project by its name, another by its identity; keys as they are read."""
        memory.write(Caller(bench.project().gene("one").v2_id, "code"), "naïve", b"", "CACHE")
        done = cli("agent", "memory", "audit", "keeper")

        assert (0, "") == (done.code, done.err)
        lines = [line.split("  ", 1)[1] for line in done.out.splitlines()]
        assert "memory.create  'b'  201 B  v2:abababababab…" == lines[0]
        assert "memory.create  'naïve'  6 B  one" == lines[-1]
        assert "memory.create  'esc\\x1b[2J\\u202eend'" in lines[3]

    def test_as_json(self, cli, memory):
        """Each record whole, with the whole identity."""
        done = cli("agent", "memory", "audit", "keeper", "--json")
        records = [json.loads(line) for line in done.out.splitlines()]

        assert ["b", "a", "c", NASTY] == [record["key"] for record in records]
        assert {GENE.gene_id} == {record["gene_id"] for record in records}


class TestExport:
    """A private file, whole or not there."""

    def test_a_file(self, cli, bench, memory):
        """It is for its owner only, holds the values, and nothing else is left."""
        done = cli("agent", "memory", "export", "keeper", "out.jsonl")
        first, *entries, last = bench.text("out.jsonl").splitlines()

        assert (0, "3 entries exported (22 bytes of keys and values); CACHE was left out\n", "") == done  # fmt: skip
        assert 0o600 == stat.S_IMODE(os.lstat(bench.path("out.jsonl")).st_mode)
        assert ["out.jsonl"] == [name for name in os.listdir(bench.root) if name.startswith("out")]
        assert ("rotifer-memory", 1) == tuple(json.loads(first).values())[:2]
        assert [b"secret", b"", b"y"] == [
            base64.b64decode(json.loads(line)["value"]) for line in entries
        ]
        assert {"end": True, "entries": 3} == json.loads(last)

    def test_with_cache(self, cli, bench, memory):
        """All of it, when it is asked for."""
        done = cli("agent", "memory", "export", "keeper", "out.jsonl", "--with-cache")

        assert "4 entries exported (223 bytes of keys and values)\n" == done.out
        assert 6 == len(bench.text("out.jsonl").splitlines())

    @pytest.mark.parametrize("umask", [0o000, 0o077])
    def test_private_whatever_the_umask(self, cli, bench, memory, umask):
        """Others can never read it, not even while it is written."""
        before = os.umask(umask)
        try:
            cli("agent", "memory", "export", "keeper", "out.jsonl")
        finally:
            os.umask(before)

        assert 0o600 == stat.S_IMODE(os.lstat(bench.path("out.jsonl")).st_mode)

    @pytest.mark.parametrize("there", ["file", "link", "folder"])
    def test_what_is_there_stays(self, cli, bench, memory, there):
        """It is not overwritten, whatever it is."""
        target = bench.path("out.jsonl")
        if there == "file":
            bench.put("out.jsonl", "mine")
        elif there == "link":
            os.symlink("nowhere", target)
        else:
            os.mkdir(target)
        done = cli("agent", "memory", "export", "keeper", "out.jsonl")

        assert (1, "") == (done.code, done.out)
        assert "there is something already" in done.err
        assert "help: --force replaces it" in done.err
        assert ["out.jsonl"] == [name for name in os.listdir(bench.root) if name.startswith("out")]

    @pytest.mark.parametrize("there", ["pipe", "a link to a device"])
    def test_what_is_no_file_is_not_replaced(self, cli, bench, memory, there):
        """A device or a pipe that others use stays, with --force, too."""
        target = bench.path("out.jsonl")
        if there == "pipe":
            os.mkfifo(target)
        else:
            os.symlink(os.devnull, target)
        before = os.lstat(target)
        for more in ((), ("--force",)):
            done = cli("agent", "memory", "export", "keeper", "out.jsonl", *more)

            assert 1 == done.code
            assert "a device, a pipe or a socket, and is not replaced" in done.err
            assert "'-' is the standard output" in done.err
        assert (before.st_ino, before.st_mode) == (
            os.lstat(target).st_ino,
            os.lstat(target).st_mode,
        )

    def test_force(self, cli, bench, memory):
        """A file is replaced, and a link is, not what it leads to."""
        bench.put("precious", "mine")
        os.symlink("precious", bench.path("out.jsonl"))
        done = cli("agent", "memory", "export", "keeper", "out.jsonl", "--force")

        assert 0 == done.code
        assert not os.path.islink(bench.path("out.jsonl"))
        assert "mine" == bench.text("precious")

    @pytest.mark.parametrize(
        ("target", "words"),
        [("no/such/out.jsonl", "no such file"), ("genes", "is a directory")],
    )
    def test_where_it_cannot_be(self, cli, bench, memory, target, words):
        """The system's reason, and no draft is left."""
        done = cli("agent", "memory", "export", "keeper", target, "--force")

        assert 1 == done.code
        assert words in done.err
        assert not any(name.endswith(".tmp") for name in os.listdir(bench.root))

    def test_nothing_is_left_of_one_that_failed(self, cli, bench, memory):
        """A database that is none leaves no file behind."""
        memory._store.close()
        bench.put(".rotifer/playground.db", b"not a database" * 100, 0o600)
        done = cli("agent", "memory", "export", "keeper", "out.jsonl")

        assert 1 == done.code
        assert "error[MEMORY_STORAGE_ERROR]" in done.err
        assert not [name for name in os.listdir(bench.root) if name.startswith("out")]

    @pytest.mark.parametrize("links", [True, False], ids=["", "no links"])
    def test_a_file_that_came_to_be_there_meanwhile(self, bench, links, monkeypatch):
        """It stays, also on a disk that has no hard links."""

        def refused(*_):
            raise PermissionError(1, "Operation not permitted")

        if not links:
            monkeypatch.setattr(os, "link", refused)
            monkeypatch.setattr("rotifer_bridge._files._UNNAMED", 0)
        with (
            pytest.raises(UsageError, match="there is something already"),
            output_file(bench.path("out.jsonl"), force=False) as file,
        ):
            file.write(b"ours")
            bench.put("out.jsonl", "mine")
        assert "mine" == bench.text("out.jsonl")
        with output_file(bench.path("new.jsonl"), force=False) as file:
            file.write(b"ours")

        assert "ours" == bench.text("new.jsonl")
        assert {"genes", "new.jsonl", "out.jsonl", "rotifer.json"} == set(os.listdir(bench.root))

    @pytest.mark.parametrize("end", ["SIGKILL", "SIGINT", "SIGTERM"])
    def test_an_end_in_the_middle(self, bench, end):
        """Nothing is left of what was not whole, and what was there stays."""
        bench.put("out.jsonl", "mine")
        script = f"""if True:
            import os, signal
            from rotifer_bridge._transfer import output_file
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # as the command line does
            with output_file("out.jsonl", force=True) as file:
                file.write(b"secret" * 1_000_000)
                file.flush()
                os.kill(os.getpid(), signal.{end})
        """
        done = subprocess.run([sys.executable, "-c", script], check=False, cwd=bench.root)

        assert 0 != done.returncode
        assert "mine" == bench.text("out.jsonl")
        assert {"genes", "out.jsonl", "rotifer.json"} == set(os.listdir(bench.root))

    def test_a_file_system_without_unnamed_files(self, bench, monkeypatch):
        """The file comes about under another name; nothing but it is left."""
        monkeypatch.setattr("rotifer_bridge._files._UNNAMED", 0)
        for force in (False, True):
            with output_file(bench.path("out.jsonl"), force=force) as file:
                file.write(b"ours")

        assert "ours" == bench.text("out.jsonl")
        assert {"genes", "out.jsonl", "rotifer.json"} == set(os.listdir(bench.root))

    def test_a_full_disk(self, bench, monkeypatch):
        """A message, and nothing is left."""

        def full(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with (
            pytest.raises(ProjectError, match="no space left on device"),
            output_file(bench.path("out.jsonl"), force=False) as file,
        ):
            file.write(b"ours")

        assert {"genes", "rotifer.json"} == set(os.listdir(bench.root))

    def test_standard_output(self, rotifer, bench, memory):
        """The file is the whole of stdout; what a person wants to know is on stderr."""
        done = rotifer("agent", "memory", "export", "keeper", "-")

        assert 0 == done.code
        assert "3 entries exported" in done.err
        assert {"end": True, "entries": 3} == json.loads(done.out.splitlines()[-1])

    def test_a_stdout_that_was_closed(self, bench, memory):
        """Nothing was exported, so it is no success, nor said to be one."""
        command = (
            f"{shlex.quote(sys.executable)} -m rotifer_bridge agent memory export keeper - >&-"
        )
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=bench.root, capture_output=True, timeout=60, check=False
        )

        assert 1 == done.returncode
        assert b"error: stdout is closed, and the export would go nowhere\nhelp: " in done.stderr
        assert b"exported" not in done.stderr

    def test_a_closed_pipe(self, bench, memory):
        """It ends quietly."""
        memory.write(GENE, "big", bytes(3_000), "PATTERN")
        command = f"{shlex.quote(sys.executable)} -m rotifer_bridge agent memory export keeper - | head -c 1"
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=bench.root, capture_output=True, timeout=60, check=False
        )

        assert b"{" == done.stdout
        assert b"Traceback" not in done.stderr


class TestImport:
    """From a file, or from a pipe."""

    def test_round_trip(self, cli, bench, memory, other):
        """Another agent gets the same; exporting it gives the same bytes but for the first line."""
        cli("agent", "memory", "export", "keeper", "one.jsonl", "--with-cache")
        done = cli("agent", "memory", "import", "empty", "one.jsonl")
        cli("agent", "memory", "export", "empty", "two.jsonl", "--with-cache")

        assert (0, "4 entries imported (223 bytes of keys and values): 4 new, 0 replaced\n", "") == done  # fmt: skip
        assert bench.text("one.jsonl").splitlines()[1:] == bench.text("two.jsonl").splitlines()[1:]
        assert b"secret" == other.read(GENE, "a").value
        assert 0 == cli("agent", "memory", "check", "empty").code

    def test_replace(self, cli, bench, memory):
        """Only when it is asked for; how many is said."""
        cli("agent", "memory", "export", "keeper", "one.jsonl")
        memory.write(GENE, "a", b"later", "PREFERENCE")
        refused = cli("agent", "memory", "import", "keeper", "one.jsonl")
        assert (1, "") == (refused.code, refused.out)
        assert "error[MEMORY_INVALID_INPUT]: line 2: there is an entry with the key 'a'" in refused.err  # fmt: skip
        assert b"later" == memory.read(GENE, "a").value
        done = cli("agent", "memory", "import", "keeper", "one.jsonl", "--replace")

        assert "3 entries imported (22 bytes of keys and values): 0 new, 3 replaced\n" == done.out
        assert b"secret" == memory.read(GENE, "a").value

    def test_expired_entries(self, cli, bench, memory, other):
        """How many were left out is said."""
        memory.write(GENE, "a", b"", "PATTERN", retention_policy={
            "maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False,
        })  # fmt: skip
        cli("agent", "memory", "export", "keeper", "one.jsonl")
        text = bench.text("one.jsonl").splitlines()
        entry = json.loads(text[3])
        assert "a" == entry["key"]
        bench.put("one.jsonl", "\n".join([*text[:3], json.dumps({**entry, "updatedAt": "2001-01-01T00:00:00.000Z"}), text[4]]))  # fmt: skip
        done = cli("agent", "memory", "import", "empty", "one.jsonl")

        assert "1 entry left out, because their time was over" == done.out.splitlines()[1]
        assert 2 == len(list(other.list()))

    def test_a_pipe(self, cli, rotifer, bench, memory, other):
        """It is read to its end before anybody has to wait for the database."""
        cli("agent", "memory", "export", "keeper", "one.jsonl")
        data = bench.text("one.jsonl").encode()
        done = rotifer("agent", "memory", "import", "empty", "-", input=data)

        assert (0, "") == (done.code, done.err)
        assert 3 == len(list(other.list()))
        assert {"playground.db", "audit.jsonl", "agents"} <= set(os.listdir(bench.path(".rotifer")))
        assert not [name for name in os.listdir(bench.path(".rotifer")) if "tmp" in name]

    @pytest.mark.parametrize(
        ("begin", "words"),
        [
            ("", "line 1: it has more than 4,194,304 bytes"),
            ("no export", "line 1: it is not JSON"),
            ("head -n 1 one.jsonl; echo {}", "line 2: the entry has no "),
            ("head -n 1 one.jsonl", "line 2: it has more than 4,194,304 bytes"),
        ],
        ids=["a device", "another text", "a header and no entry", "a header and a device"],
    )
    def test_an_input_without_an_end(self, bench, memory, other, begin, words):
        """It is read no further than its first bad line, and no more is kept than was good."""
        bench.put("one.jsonl", _export(memory))
        begin = f"echo {begin}" if begin == "no export" else begin or ":"
        done = subprocess.run(
            ["/bin/sh", "-c", f"ulimit -f 32768; ({begin}; cat /dev/zero) | {_IMPORT}"],
            cwd=bench.root,
            capture_output=True,
            timeout=60,
            check=False,
        )

        assert (1, b"") == (done.returncode, done.stdout)
        assert f"error[MEMORY_INVALID_INPUT]: {words}" in done.stderr.decode()
        assert [] == list(other.list())
        assert not [name for name in os.listdir(bench.path(".rotifer")) if "tmp" in name]

    def test_a_pipe_of_what_is_no_export_in_a_new_folder(self, cli, bench):
        """A device by its name, too."""
        bench.gene("one")
        bench.record(1, "keeper", ("one",))
        done = cli("agent", "memory", "import", "keeper", "/dev/null")

        assert (1, "") == (done.code, done.out)
        assert "the file is empty; an export has a first and a closing line" in done.err

    @pytest.mark.parametrize("full", ["at the first line", "before"])
    def test_a_pipe_and_a_full_disk(self, cli, bench, other, monkeypatch, full):
        """It is the disk of the private folder that is full: the input could be read."""

        def spool(**_):
            if full == "before":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return open("/dev/full", "r+b", buffering=0)

        monkeypatch.setattr("tempfile.TemporaryFile", spool)
        reading, writing = os.pipe()
        os.write(writing, _export(other))
        os.close(writing)
        try:
            done = cli("agent", "memory", "import", "empty", f"/dev/fd/{reading}")
        finally:
            os.close(reading)

        assert (1, "") == (done.code, done.out)
        error, where, remedy = done.err.splitlines()
        assert error.endswith("pipe cannot be kept until its end: no space left on device")
        assert f" --> {bench.path('.rotifer')}" == where
        assert remedy.startswith("help: make room there, or write it into a file elsewhere")
        assert [] == list(other.list())

    def test_somebody_writes_while_a_pipe_is_slow(self, bench, memory, other, cli):
        """An import that waits for its input holds nobody up."""
        cli("agent", "memory", "export", "keeper", "one.jsonl")
        data = bench.text("one.jsonl").encode()
        process = subprocess.Popen(
            [sys.executable, "-m", "rotifer_bridge", "agent", "memory", "import", "empty", "-"],
            cwd=bench.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        process.stdin.write(data[:100])
        process.stdin.flush()
        memory.write(GENE, "meanwhile", b"", "CACHE")
        out, _ = process.communicate(data[100:], timeout=60)

        assert 0 == process.returncode
        assert out.startswith(b"3 entries imported")

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("none.jsonl", "cannot read this: no such file or directory"),
            ("genes", "cannot read this: is a directory"),
            ("rotifer.json", "error[MEMORY_INVALID_INPUT]: line 1: this is no export of a memory"),
        ],
    )
    def test_what_is_no_export(self, cli, memory, name, words):
        """A message, and exit code 1."""
        done = cli("agent", "memory", "import", "keeper", name)

        assert (1, "") == (done.code, done.out)
        assert words in done.err

    def test_a_new_project(self, cli, bench, memory, tmp_path, monkeypatch):
        """A memory moves to another project, with nothing but the file."""
        cli("agent", "memory", "export", "keeper", "one.jsonl")
        source = bench.path("one.jsonl")
        elsewhere = type(bench)(tmp_path / "elsewhere")
        elsewhere.gene("one")
        elsewhere.record(7, "newcomer", ("one",))
        monkeypatch.chdir(elsewhere.root)
        from rotifer_bridge._cli import run

        assert 0 == run(["agent", "memory", "import", "newcomer", source])
        project = elsewhere.project()
        try:
            moved = project.memory(project.record("newcomer"))
            assert b"secret" == moved.read(GENE, "a").value
        finally:
            project.close()


class TestLongList:
    """A list that is longer than one page."""

    @pytest.fixture
    def many(self, memory, other):
        """Two thousand entries with short keys, and a long one at the end."""
        head = b'{"format":"rotifer-memory","version":1,"agentId":"x","exportedAt":"2026-01-31T08:30:00.000Z"}\n'  # fmt: skip
        [line] = [
            line for line in _export(memory).splitlines(keepends=True) if b'"key":"c"' in line
        ]
        keys = [f"{number:04}" for number in range(2_000)] + ["z" * 60]
        other.quota_bytes = 10**6
        other.import_from(
            io.BytesIO(
                head
                + b"".join(line.replace(b'"key":"c"', b'"key":"%s"' % key.encode()) for key in keys)
                + b'{"end":true,"entries":2001}\n'
            )
        )
        return keys

    def test_every_line_once(self, cli, many):
        """The columns are those of the first rows; a longer key moves only its own line."""
        done = cli("agent", "memory", "list", "empty")
        head, *rows, last = done.out.splitlines()

        assert many == [row.split()[0] for row in rows]
        assert head.index("Category") == rows[0].index("CONTEXT") == rows[1999].index("CONTEXT")
        assert 62 == rows[-1].index("CONTEXT")
        assert last.endswith("4,096 bytes)")

    @pytest.mark.parametrize("sort", ["key", "category", "size", "updated"])
    def test_as_json(self, cli, many, sort):
        """One document, however long."""
        document = json.loads(cli("agent", "memory", "list", "empty", "--json", "--sort", sort).out)

        assert set(many) == {entry["key"] for entry in document["entries"]}
        assert 2_001 == len(document["entries"])

    def test_it_comes_as_it_is_read(self, cli, many, monkeypatch):
        """The first lines are printed before the last page is asked for."""
        from rotifer_engine import SqliteStore

        printed = []
        page = SqliteStore.page

        def watched(self, *arguments):
            printed.append(sys.stdout.tell())
            return page(self, *arguments)

        monkeypatch.setattr(SqliteStore, "page", watched)
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        for argv in (["list", "empty"], ["list", "empty", "--json"]):
            printed.clear()
            cli("agent", "memory", *argv)
            assert 6 == len(printed)
            assert printed[-1] > 100 * 1_000


def _export(memory):
    file = io.BytesIO()
    memory.export_to(file)
    return file.getvalue()
