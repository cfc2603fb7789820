"""The line on a terminal for runs that take over a second."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]
SLOW = "export const express = async () => { await new Promise((r) => setTimeout(r, 1700)); console.log('told'); return 1; };"  # fmt: skip


def stderr_of(bench, *, term="xterm", terminal=True, source=SLOW):
    """What one run writes to stderr, a terminal or a pipe."""
    bench.gene("slow", {"index.ts": source}, outputSchema={})
    bench.record(1, genome=["slow"])
    ours, theirs = pty.openpty() if terminal else os.pipe()
    env = {**os.environ, "TERM": term, "NO_COLOR": "1"}
    child = subprocess.Popen([*ROTIFER, "agent", "run", "keeper"], cwd=bench.root, stdout=subprocess.PIPE, stderr=theirs, env=env)  # fmt: skip
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert (b"1\n", None) == child.communicate()
    assert 0 == child.returncode
    return text.decode()


def test_a_long_run_says_what_it_is_at(bench):
    """The gene and the seconds, after a second; gone before any other line, and at the end."""
    text = stderr_of(bench)

    # On a busy machine it takes longer than the second, and says so.
    told = r"(\r\x1b\[K\[1/1\] slow: [1-9] s)+\r\x1b\[K\[slow\] told\r\n"
    assert re.search(told, text.replace("\r\r", "\r"))
    assert not text.rstrip().endswith(" s")


@pytest.mark.parametrize(("term", "terminal"), [("dumb", True), ("xterm", False)])
def test_what_is_no_terminal_is_not_told(bench, term, terminal):
    """A pipe, and a terminal that cannot erase, get the gene's own lines alone."""
    text = stderr_of(bench, term=term, terminal=terminal)

    assert ["[slow] told"] == text.split("\n")[:1] or ["[slow] told\r"] == text.split("\n")[:1]
    assert "\x1b" not in text


def test_a_short_run_says_nothing(bench):
    """Under a second there is no line."""
    text = stderr_of(bench, source="export const express = () => 1;")

    assert "[1/1]" not in text or "0 s" not in text
