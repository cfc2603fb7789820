"""``rotifer doctor``."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def doctor(cli):
    """The checks by name, and the exit code."""

    def call():
        done = cli("doctor", "--json")
        document = json.loads(done.out)
        assert document["ok"] is (done.code == 0)
        return {check["name"]: check for check in document["checks"]}, done.code

    return call


def test_a_project_that_is_well(doctor, bench):
    """Everything is ok, before the first run and after it."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    os.chmod(bench.path(".rotifer"), 0o700)
    os.chmod(bench.path(".rotifer/agents"), 0o700)
    for _ in range(2):
        checks, code = doctor()
        assert 0 == code
        for name in ("python", "node", "pynng", "jsonschema-rs", "project", "genes", "agents"):
            assert "ok" == checks[name]["status"], checks[name]
        for name in ("state folder", "database", "audit log"):
            assert "ok" == checks[name]["status"], checks[name]
        project = bench.project()
        project.memory(project.record("keeper")).delete_category("CACHE")
        project.close()
    assert "opens" in checks["database"]["detail"]


def test_it_makes_nothing(doctor, bench):
    """Looking is not making."""
    doctor()

    assert not os.path.exists(bench.path(".rotifer"))


def test_a_line_for_each_check(cli):
    """Status, name, detail; help below what is not ok."""
    done = cli("doctor")

    assert "" == done.err
    for line in done.out.splitlines():
        assert line.split()[0] in {"ok", "warn", "fail", "help:"}


def test_no_node(doctor, monkeypatch, tmp_path):
    """A Node that is none is a failure with a remedy."""
    monkeypatch.setenv("ROTIFER_NODE", str(tmp_path / "none"))
    checks, code = doctor()

    assert 1 == code
    assert "fail" == checks["node"]["status"]
    assert checks["node"]["help"]


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo v18.1.0", "18.1.0"), ("exit 3", "exit code 3"), ("echo hello", "does not run")],
)
def test_an_odd_node(doctor, monkeypatch, bench, script, words):
    """Too old, broken, or something else: said with what was found."""
    node = bench.put("odd-node", f"#!/bin/sh\n{script}\n", 0o755)
    monkeypatch.setenv("ROTIFER_NODE", node)
    checks, code = doctor()

    assert 1 == code
    assert "fail" == checks["node"]["status"]
    assert words in checks["node"]["detail"]


def test_outside_a_project(doctor, monkeypatch, tmp_path):
    """No project is no failure: the rest is looked at."""
    monkeypatch.chdir(tmp_path)
    checks, code = doctor()

    assert 0 == code
    assert "warn" == checks["project"]["status"]
    assert "database" not in checks


@pytest.mark.parametrize(
    ("name", "break_it", "status"),
    [
        ("project", lambda b: b.put("rotifer.json", "{"), "fail"),
        ("genes", lambda b: b.put("genes/x/phenotype.json", "{"), "warn"),
        ("agents", lambda b: b.put(".rotifer/agents/x.json", "{"), "warn"),
        ("state folder", lambda b: b.put(".rotifer/audit.jsonl", "", 0o644), "warn"),
        ("state folder", lambda b: b.put(".rotifer", "", 0o600), "fail"),
        ("tokens", lambda b: b.put(".rotifer/tokens.json", "{", 0o600), "fail"),
        ("database", lambda b: b.put(".rotifer/playground.db", b"x" * 5000, 0o600), "fail"),
        ("audit log", lambda b: os.makedirs(b.path(".rotifer/audit.jsonl")), "fail"),
    ],
)
def test_what_is_ill_is_said(doctor, bench, name, break_it, status):
    """Each check sees its own fault, and the exit code follows."""
    break_it(bench)
    checks, code = doctor()

    assert status == checks[name]["status"]
    assert checks[name]["help"]
    assert (status == "fail") is (code == 1)


def test_a_disk_that_is_nearly_full(doctor, bench, monkeypatch):
    """It is said before a change fails."""
    real = os.statvfs(bench.root)
    sizes = {"f_bavail": 3, "f_frsize": 4_096}
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(**sizes))
    checks, code = doctor()

    assert 1 == code
    assert ("fail", "make room") == (checks["disk"]["status"], checks["disk"]["help"])
    assert "12,288 bytes are free" in checks["disk"]["detail"]
    sizes.update(f_bavail=real.f_blocks, f_frsize=real.f_frsize)
    assert "ok" == doctor()[0]["disk"]["status"]


def test_a_folder_that_may_not_be_written(doctor, bench, monkeypatch):
    """What of it may not be is named, the files beside the database, too."""
    bench.record(1, "keeper", ("one",))
    bench.put(".rotifer/playground.db-shm", b"", 0o600)
    for folder in (".rotifer", ".rotifer/agents"):
        os.chmod(bench.path(folder), 0o700)
    monkeypatch.setattr(os, "access", lambda path, _mode: not path.endswith("-shm"))
    state = doctor()[0]["state folder"]

    assert ("fail", "may not be written: .rotifer/playground.db-shm") == (
        state["status"],
        state["detail"],
    )
    assert "chmod" in state["help"]


def test_no_advice_loses_the_memory(doctor, bench):
    """What is wrong stands in the message; the file is to be kept, and no error is Python's."""
    bench.put(".rotifer/playground.db", b"x" * 5000, 0o600)
    os.makedirs(bench.path(".rotifer/audit.jsonl"))
    checks, _ = doctor()

    assert "is not an SQLite database" in checks["database"]["detail"]
    assert "keep a copy" in checks["database"]["help"]
    assert f"Is a directory: {bench.path('.rotifer/audit.jsonl')}" == checks["audit log"]["detail"]


@pytest.fixture
def no_wasmtime(monkeypatch):
    """As if the extra ``wasm`` were not installed."""
    monkeypatch.setitem(sys.modules, "wasmtime", None)


@pytest.mark.parametrize(
    ("genome", "reason", "remedy"),
    [
        (
            ("gone",),
            "gene 'gone' does not exist",
            "the project's genes: bare, cloud, odd, one, swift",
        ),
        ([], "empty genome", "rotifer agent set keeper -g GENE"),
        (("one", "bare"), "no source", "write index.ts"),
        (("swift", "one"), "wasmtime is not installed", "pip install 'rotifer-bridge[wasm]'"),
        (("odd",), "is not JSON", "correct the file"),
        (("cloud",), "was installed from outside", "--trust-unsigned"),
    ],
)
@pytest.mark.usefixtures("no_wasmtime")
def test_agents_that_cannot_run(doctor, bench, genome, reason, remedy):
    """What would end a run is told with the agent, the reason and the remedy."""
    bench.gene("one")
    bench.gene("bare", {"notes.md": ""})
    bench.gene("swift", {"gene.ir.wasm": b"\0asm"})
    bench.gene("cloud", {"index.ts": "", ".cloud-manifest.json": "{}"})
    bench.put("genes/odd/phenotype.json", "{")
    bench.record(1, "keeper", genome)
    checks, code = doctor()

    assert (0, "warn") == (code, checks["agents"]["status"])
    assert "agent 'keeper'" in checks["agents"]["detail"]
    assert reason in checks["agents"]["detail"]
    assert remedy in checks["agents"]["help"]


def test_each_fault_has_its_line(cli, bench):
    """Several agents and genes with faults are several lines, each with its help."""
    bench.gene("bare", wrapped=False)
    bench.gene("plain", wrapped=False)
    bench.record(1, "lost", ("gone",))
    bench.record(2, "idle", [])
    bench.record(3, "faulty", memoryQuotaBytes=0)
    lines = cli("doctor").out.splitlines()

    for words in (
        "'bare' was never wrapped",
        "'plain' was never",
        "'lost'",
        "'idle'",
        "'faulty' is faulty: memoryQuota",
    ):
        (at,) = [number for number, line in enumerate(lines) if words in line]
        assert lines[at].startswith("warn")
        assert lines[at + 1].startswith("      help: ")


def test_another_node_is_no_fault(doctor, monkeypatch, bench):
    """What is there and not needed reads like what it is."""
    bin_dir = os.path.dirname(bench.put("bin/node", "#!/bin/sh\n", 0o755))
    monkeypatch.setenv("PATH", bin_dir + os.pathsep + os.environ["PATH"])
    checks, _ = doctor()

    assert "ok" == checks["node"]["status"]
    assert checks["node"]["detail"].endswith("(it comes before the one from PATH)")


def test_a_planted_link(doctor, bench, tmp_path):
    """A link in the place of a private file is a failure."""
    os.makedirs(bench.path(".rotifer"), 0o700)
    os.symlink(tmp_path / "elsewhere", bench.path(".rotifer/playground.db"))
    checks, code = doctor()

    assert 1 == code
    assert "symbolic link" in checks["state folder"]["detail"]
