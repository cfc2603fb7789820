"""``rotifer conformance`` as a person runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from tests.postgres.server import database

from rotifer_bridge import _conformance
from rotifer_bridge._cli import run
from rotifer_bridge._cli._app import root
from rotifer_engine.conformance import cases

FEW = [
    case
    for case in cases()
    if case.name
    in {
        "a closed entry is denied, never null",
        "a deleted entry is gone",
        "a field that no call knows is bad input",
    }
]


@pytest.fixture
def few(monkeypatch):
    """The command plays three cases."""
    assert 3 == len(FEW)
    monkeypatch.setattr(_conformance, "cases", lambda: tuple(FEW))


def called(*words):
    """Exit code, stdout and stderr of the command, in this process."""
    done = CliRunner().invoke(root, ["conformance", *words], standalone_mode=False)
    return done.return_value, done.stdout, done.stderr


@pytest.mark.usefixtures("few")
def test_a_table_and_the_reasons():
    """A line for each door, why a case was not applicable, and that all is well."""
    code, out, err = called("--door", "node,python")

    assert 0 == code
    assert "" == err
    assert [
        "python x sqlite: 3 / 3",
        "node x sqlite:   2 / 2  (1 not applicable)",
        "1 not applicable to node: ctx.memory takes arguments by place, so there is no field of another name",
        "all passed, all equal",
    ] == out.splitlines()


@pytest.mark.usefixtures("few")
def test_a_document():
    """One JSON document with the cells, and whether they are equal."""
    code, out, err = called("--door", "python,wasm", "--json")

    assert 0 == code
    assert "" == err
    assert {
        "cells": [
            {"door": "python", "store": "sqlite", "passed": 3, "total": 3},
            {"door": "wasm", "store": "sqlite", "passed": 3, "total": 3},
        ],
        "equal": True,
    } == json.loads(out)


@pytest.mark.usefixtures("few")
def test_a_server_is_played_beside_sqlite():
    """Two stores; the suite's own database is gone afterwards, and the server's are untouched."""
    import psycopg

    with database(migrated=False) as url, psycopg.connect(url, autocommit=True) as look:
        code, out, _ = called("--door", "python", "--store", url)
        left = look.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)",
            [f"rotifer_conformance_{os.getpid()}_"],
        ).fetchall()
        tables = look.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'rotifer'").fetchone()  # fmt: skip

    assert 0 == code
    assert ["python x sqlite:   3 / 3", "python x postgres: 3 / 3", "all passed, all equal"] == out.splitlines()  # fmt: skip
    assert (0,) == tables
    assert [] == left


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_first_difference_and_exit_1(monkeypatch, as_json):
    """Where a rule is broken: the case, the rule, the step, what was expected and what came."""
    from rotifer_engine import _memory

    monkeypatch.setattr(_memory, "allows", lambda *_: True)

    code, out, err = called("--door", "python", *(["--json"] if as_json else []))

    assert 1 == code
    told = err if as_json else out
    assert "first difference: python x sqlite: a closed entry is denied, never null" in told
    assert "rule: memory §5 readMemory: an existing entry the gene may not read" in told
    assert "step 2: B read(key='k')" in told
    assert "all passed" not in out
    if as_json:
        assert {"cells": [{"door": "python", "store": "sqlite", "passed": 2, "total": 3}], "equal": True} == json.loads(out)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--door", "smtp"], "--door: 'smtp' is no door"),
        (["--door", ""], "is no door"),
        (["--store", "sqlite:///x"], "--store takes the URL of a PostgreSQL server"),
        (["--store", "postgresql://127.0.0.1:1/none", "--door", "python"], "cannot be reached"),
    ],
)
def test_mistakes_are_told(words, says, capsys, monkeypatch):
    """Exit code 1 and what to do."""
    monkeypatch.setattr(_conformance, "cases", lambda: ())
    code = run(["conformance", *words])

    assert 1 == code
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("door", "package", "extra"), [("wasm", "wasmtime", "wasm"), ("http", "fastapi", "server")])  # fmt: skip
def test_a_missing_extra_is_named(door, package, extra, tmp_path):
    """What is missing, how to get it, and how to do without."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"raise ModuleNotFoundError('no', name={package!r})\n")  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "rotifer_bridge", "conformance", "--door", door],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 1 == done.returncode
    assert f"the door {door} needs packages that are not installed" in done.stderr
    assert f"pip install 'rotifer-bridge[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_extras_are_named_before_anything_is_played(capsys, monkeypatch):
    """All of them at once, instead of after minutes of cases that then count for nothing."""
    found = importlib.util.find_spec
    missing = {"wasmtime", "fastapi"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in missing else found(name)
    )
    code = run(["conformance"])
    out, err = capsys.readouterr()

    assert (1, "") == (code, out)
    assert "error: the doors wasm and http need packages that are not installed" in err
    assert "pip install 'rotifer-bridge[wasm,server]', or" in err
    assert err.endswith("--door python,node\n")


def test_an_interrupt_leaves_nothing_behind():
    """Ctrl-C within the cases: exit 130, and the suite's database is not left on the server."""
    import psycopg

    names = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
    with database(migrated=False) as url, psycopg.connect(url, autocommit=True) as look:
        words = ["-m", "rotifer_bridge", "conformance", "--door", "python", "--store", url]
        running = subprocess.Popen([sys.executable, "-u", *words], stdout=subprocess.PIPE)
        own = [f"rotifer_conformance_{running.pid}_"]
        first = running.stdout.readline()  # SQLite is through
        deadline = time.monotonic() + 20
        while not look.execute(names, own).fetchall():
            assert time.monotonic() < deadline
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
        code = running.wait(30)
        left = look.execute(names, own).fetchall()
        running.stdout.close()

    assert first.startswith(b"python x sqlite:")
    assert (130, b"") == (code, rest)
    assert [] == left


def test_no_project_is_needed_and_none_is_made(tmp_path, monkeypatch):
    """It works anywhere and leaves nothing there."""
    monkeypatch.setattr(_conformance, "cases", lambda: tuple(FEW[:1]))
    monkeypatch.chdir(tmp_path)

    code, _, _ = called("--door", "python")

    assert 0 == code
    assert [] == os.listdir(tmp_path)
