"""Files of a project that are no JSON: each command says so, whatever it has imported by then."""

from __future__ import annotations

import subprocess
import sys

import pytest

BROKEN = [
    '{"name": "x"',
    "{'name': 'x'}",
    '{"name": "x",}',
    '{"name" 1}',
    "[1 2",
    '{"name": "x',
    "",
]
FILES = {
    "rotifer.json": ["agent run keeper", "agent list", "doctor", "list"],
    "genes/g/phenotype.json": ["agent run keeper", "list", "wrap g"],
    ".rotifer/agents/00000000-0000-4000-8000-000000000001.json": ["agent run keeper", "agent list"],
    ".rotifer/agents/zz.json": ["agent run keeper", "agent list"],
}


@pytest.mark.parametrize("path", FILES)
def test_a_broken_file(bench, path):
    """No command ends in a traceback; a healthy agent runs beside another one's broken record."""
    bench.gene("g", {"index.ts": "export const express = (x: object) => x;"})
    bench.record(1, genome=["g"])
    for command in FILES[path]:
        for text in BROKEN:
            bench.put(path, text)
            done = rotifer(bench, *command.split())

            assert "Traceback" not in done.stderr
            assert done.returncode in {0, 1}
            if done.returncode:
                assert "error" in done.stderr + done.stdout or "fail" in done.stdout
            if path.endswith("zz.json") and command == "agent run keeper":
                assert 0 == done.returncode


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_argument(bench, text):
    """An input or a composition that is no JSON is told with its place."""
    bench.gene("g", {"index.ts": "export const express = (x: object) => x;"})
    bench.record(1, genome=["g"])
    for words in (
        ("agent", "run", "keeper", "--input", text),
        ("agent", "create", "new", "-g", "g", "--composition", text),
    ):
        done = rotifer(bench, *words)

        assert (1, "") == (done.returncode, done.stdout)
        assert done.stderr.startswith("error")
        assert "Traceback" not in done.stderr


def rotifer(bench, *words):
    """The command in a process of its own, that has imported nothing yet."""
    script = f"import sys; sys.argv = {['rotifer', *words]!r}; from rotifer_bridge.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=bench.root, capture_output=True, text=True, check=False
    )
