"""What tests of the bridge's parts share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rotifer_bridge._transform import ready


class Making:
    """Calls ``ready`` with a Node that writes a line for each time it is started."""

    PLAIN = {"index.ts": b"export const express = (x: number): number => x;\n"}  # noqa: RUF012
    ENUM = {"index.ts": b"enum E { A }\nexport const express = () => E.A;\n"}  # noqa: RUF012

    def __init__(self, tmp_path, node_path):
        self.folder = str(tmp_path / "genes" / "g")
        self.cache = tmp_path / ".rotifer" / "cache"
        self.log = tmp_path / "starts"
        self.node = str(tmp_path / "node")
        self.real_node = node_path
        self.script(f'exec "{node_path}" "$@"')

    def script(self, *lines):
        """Replace the Node by a shell script."""
        text = "\n".join(["#!/bin/sh", f'echo started >> "{self.log}"', *lines, ""])
        with open(self.node, "w") as file:
            file.write(text)
        os.chmod(self.node, 0o755)

    def __call__(self, files=PLAIN, **options):
        """The ready files by path."""
        given = {"node": self.node, "cache_dir": str(self.cache), **options}
        made = ready(files, given.pop("folder", self.folder), **given)
        return {file.path: file for file in made}

    @property
    def starts(self):
        """How often Node was started."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def kept(self):
        """The one file of the cache."""
        [path] = self.cache.iterdir()
        return path


@pytest.fixture
def making(tmp_path, node_path):
    """A gene about to be made ready, and a Node that counts."""
    return Making(tmp_path, node_path)


@pytest.fixture
def rotifer_process(bench):
    """Run a command in the bench's folder, as a process of its own."""

    def call(*argv, code=None):
        program = ["-m", "rotifer_bridge"] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *program, *argv],
            cwd=bench.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return call
