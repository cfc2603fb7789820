"""``rotifer doctor``."""

from __future__ import annotations

import json
import os

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
        ("database", lambda b: b.put(".rotifer/playground.db", b"x" * 5000, 0o600), "fail"),
        ("audit log", lambda b: os.makedirs(b.path(".rotifer/audit.jsonl")), "fail"),
    ],
)
def test_what_is_ill_is_said(doctor, bench, name, break_it, status):
    """Each check sees its own fault, and the exit code follows."""
    break_it(bench)
    checks, code = doctor()

    assert status == checks[name]["status"]
    assert (status == "fail") is (code == 1)


def test_a_planted_link(doctor, bench, tmp_path):
    """A link in the place of a private file is a failure."""
    os.makedirs(bench.path(".rotifer"), 0o700)
    os.symlink(tmp_path / "elsewhere", bench.path(".rotifer/playground.db"))
    checks, code = doctor()

    assert 1 == code
    assert "symbolic link" in checks["state folder"]["detail"]
