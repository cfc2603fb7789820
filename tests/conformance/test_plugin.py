"""The pytest plugin: a store's author gets one test for each case."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from rotifer_engine import SqliteStore
from rotifer_engine.conformance import cases
from rotifer_engine.pytest_plugin import CaseForTest

TOP = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir)
PLUGIN = "rotifer_engine.pytest_plugin"

AUTHOR = """
import pytest
from rotifer_engine import SqliteStore

class Forgetful(SqliteStore):
    def touch(self, agent_id, entry, gene_id):
        pass

@pytest.fixture
def store(tmp_path):
    with Forgetful(str(tmp_path / "memory.db"), durable=False) as store:
        yield store

def test_conformance(conformance_case, store):
    conformance_case.check(store)

def test_of_another_kind():
    pass
"""


@pytest.fixture
def author(tmp_path):
    """Runs pytest in the folder of somebody who writes a store, with the plugin alone."""
    (tmp_path / "test_store.py").write_text(AUTHOR)

    def run(*options):
        words = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", os.devnull]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", PLUGIN, *words, *options, "test_store.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_pytest_finds_the_plugin_by_itself():
    """The package's metadata names it."""
    with open(os.path.join(TOP, "pyproject.toml"), "rb") as file:
        entry_points = tomllib.load(file)["project"]["entry-points"]

    assert {"pytest11": {"rotifer-conformance": PLUGIN}} == entry_points


def test_each_case_is_one_test(author):
    """As many as there are cases, by their names, and the author's other tests as they are."""
    code, printed = author("--collect-only")

    assert 0 == code, printed
    assert len(cases()) == printed.count("::test_conformance[")
    assert all(f"::test_conformance[{case.name}]" in printed for case in cases() if case.name.isascii())  # fmt: skip
    assert 1 == printed.count("::test_of_another_kind")


def test_a_faulty_store_fails_by_the_name_of_the_rule(author):
    """The test of the case fails and says why; those of other cases pass."""
    code, printed = author("-k", "accessed")

    assert 1 == code, printed
    assert "memory §5 readMemory: a successful read sets lastAccessedBy" in printed
    assert 'lastAccessedBy expected: "B"' in printed
    assert "FAILED test_store.py::test_conformance[a read of another gene sets who accessed last]" in printed  # fmt: skip
    assert "1 failed" in printed
    assert "passed" in printed


def test_the_plugin_imports_nothing_of_the_engine_before_it_is_asked():
    """Every run of pytest on the machine pays for it."""
    code = f"import sys, {PLUGIN}; print(sorted(m for m in sys.modules if m.startswith('rotifer')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert f"['rotifer_engine', '{PLUGIN}']" == done.stdout.strip()


def test_a_case_that_passes_says_nothing(tmp_path):
    """The same call, without pytest."""
    with SqliteStore(str(tmp_path / "memory.db"), durable=False) as store:
        assert CaseForTest(cases()[0]).check(store) is None


def test_a_case_that_cannot_be_played_is_skipped(author, tmp_path):
    """A store without layers does not pass the cases on them; they say why they were left out."""
    source = tmp_path / "test_store.py"
    source.write_text(
        AUTHOR.replace(
            "def touch(self, agent_id, entry, gene_id):\n        pass", "layers = property()"
        )
    )

    code, printed = author("-rs", "-k", "consensus")

    assert 0 == code, printed
    assert "the store keeps no layers" in printed
    assert "passed" not in printed
