"""What docs/http.md and the example of the cell say is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from tests.service.running import Running

from rotifer_bridge._scaffold import init_project

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CELL = os.path.join(TOP, "examples", "cell")


def page(*path):
    """The text of a file of the repository."""
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def section(text, title):
    """The part of a page under a heading."""
    return re.search(rf"^## {title}$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]


def test_the_lines_of_the_page_can_be_copied(tmp_path):
    """Each block of `curl` lines, in one shell and in order, prints what stands below it."""
    root = init_project(str(tmp_path / "my-agent")).root
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    subprocess.run(
        ["rotifer", "agent", "create", "greeter", "-g", "hello-world"],
        cwd=root,
        env=environment,
        check=True,
        capture_output=True,
    )
    text = section(page("docs", "http.md"), "Try it")
    found = re.findall(r"^```(sh|json|text)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    scripts = [body for language, body in found if language == "sh"]
    expected = [body for language, body in found if language != "sh"]
    assert len(scripts) == len(expected) + 1  # the first one makes the tokens and prints nothing
    service = Running(root)
    try:
        mark = "--- the next block"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"\necho '{mark}'\n".join(scripts)],
            cwd=root,
            env={**environment, "URL": service.url},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    finally:
        service.stop()
    printed = [part.strip("\n") for part in done.stdout.split(mark)]

    assert 0 == done.returncode, done.stderr
    assert ["", *(body.strip("\n") for body in expected)] == printed


@pytest.mark.parametrize("program", ["cell.py", "cell.ts"])
def test_the_example_of_the_cell(shared, node_path, program):
    """In Python and in TypeScript it prints what its page shows."""
    command = sys.executable if program.endswith(".py") else node_path
    done = subprocess.run(
        [command, os.path.join(CELL, program)],
        env={
            **os.environ,
            "URL": shared.service.url,
            "ALICE": shared.alice,
            "BOB": shared.bob,
            "ADMIN": shared.admin,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    shown = re.search(r"^```text\n(.*?)^```$", page("examples", "cell", "README.md"), re.DOTALL | re.MULTILINE)[1]  # fmt: skip

    assert (0, shown) == (done.returncode, done.stdout)


def test_nothing_is_left_over_from_the_example(shared):
    """It clears what it wrote, so that it can run again."""
    for actor, token in (("alice", shared.alice), ("bob", shared.bob)):
        counts = shared.service.ask("GET", f"/memory/counts?actor={actor}", token=token).value
        assert {} == {layer: n for layer, n in counts.items() if n and layer != "environment"}
