"""Commands, run in this process and in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from rotifer_bridge._cli import run


class Done(NamedTuple):
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(bench, capsys, monkeypatch):
    """Run a command in the bench's folder, in this process."""
    monkeypatch.chdir(bench.root)

    def call(*argv):
        capsys.readouterr()
        code = run(list(argv))
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def rotifer(bench):
    """Run a command in the bench's folder, as a process of its own."""

    def call(*argv, cwd=None, env=None, **settings):
        done = subprocess.run(
            [sys.executable, "-m", "rotifer_bridge", *argv],
            cwd=cwd or bench.root,
            env={**os.environ, **(env or {})},
            stdin=settings.pop("stdin", None if "input" in settings else subprocess.DEVNULL),
            stdout=settings.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
            **settings,
        )
        return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    return call
