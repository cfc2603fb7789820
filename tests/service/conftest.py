"""Commands and services, each test's own."""

from __future__ import annotations

import pytest

from rotifer_bridge._cli import run


@pytest.fixture
def cli(bench, capsys, monkeypatch):
    """Run a command in the bench's folder, in this process: its exit code, stdout and stderr."""
    monkeypatch.chdir(bench.root)

    def call(*argv):
        capsys.readouterr()
        code = run(list(argv))
        return (code, *capsys.readouterr())

    return call
