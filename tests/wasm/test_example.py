"""The polyglot example: its demonstration runs, and its page names what is there."""

from __future__ import annotations

import os
import subprocess
import sys

from tests import npm
from tests.genes import building

EXAMPLE = os.path.join(building.TOP, "examples", "polyglot")


def test_the_demonstration_shows_what_it_says():
    """It builds its AssemblyScript gene, runs to its end, and checks itself at each step."""
    npm.installed(npm.ASC)
    done = subprocess.run(
        [sys.executable, os.path.join(EXAMPLE, "demo.py")],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "[curator] 'the' is a common word: to be passed over from now on\n" in done.stderr
    assert "Done: each gene has learned from the other, across languages and processes." in done.stdout  # fmt: skip


def test_the_page_of_the_example_builds_as_the_demonstration_does():
    """The options of asc are the same on the page, in the source and in the demonstration."""
    told = f"asc assembly/spotter.ts {' '.join(building.ASC_FLAGS)} -o gene.wasm"
    for path in ("README.md", "genes/spotter/assembly/spotter.ts"):
        with open(os.path.join(EXAMPLE, path), encoding="utf-8") as file:
            assert told in file.read()
    with open(os.path.join(EXAMPLE, "demo.py"), encoding="utf-8") as file:
        words = ", ".join(f'"{flag}"' for flag in ("assembly/spotter.ts", *building.ASC_FLAGS, "-o", "gene.wasm"))  # fmt: skip
        assert words in file.read()
