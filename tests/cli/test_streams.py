"""Standard streams, signals and odd files, met by the real command."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]


@pytest.fixture
def keeper(bench):
    """A project with one agent of one gene."""
    bench.gene(
        "g", {"index.ts": "export const express = (x) => { while (x.loop) {} return { got: x }; };"}
    )
    bench.record(1, genome=["g"])
    return bench


def shell(bench, line):
    """Run a line of shell in the project; ``rotifer`` is the command."""
    python = f"'{sys.executable}' -m rotifer_bridge"
    return subprocess.run(
        ["bash", "-c", line.replace("rotifer ", python + " ")],
        cwd=bench.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["agent run keeper", "agent list", "--help", "--version", "doctor", "agent memory list keeper"])  # fmt: skip
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_end_quietly(keeper, command, closed):
    """A stream that was closed before the start is no reason to fail, nor to print a traceback."""
    done = shell(keeper, f"rotifer {command} {closed}")

    assert (0, False) == (done.returncode, "Traceback" in done.stderr + done.stdout)


def test_input_from_a_closed_standard_input_is_an_error(keeper):
    """There is nothing to read: said, exit 1."""
    done = shell(keeper, "rotifer agent run keeper --input - <&-")

    assert 1 == done.returncode
    assert done.stderr.startswith("error: ")


def test_an_early_interrupt_ends_with_130(keeper):
    """SIGINT at any moment after Python's own start: 130, no traceback, no process left."""
    faults = []
    for number in range(20):
        with subprocess.Popen(
            [*ROTIFER, "agent", "run", "keeper"],
            cwd=keeper.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            # Node is started first of all: from then on it is ours to end well.
            children = f"/proc/{child.pid}/task/{child.pid}/children"
            while child.poll() is None:
                with open(children, encoding="ascii") as file:
                    if file.read():
                        break
            time.sleep(number * 0.004)  # any moment will do
            child.send_signal(signal.SIGINT)
            errors = child.communicate(timeout=20)[1]
        if child.returncode not in {0, 130} or "Traceback" in errors:
            faults.append((number, child.returncode, errors))

    assert [] == faults


@pytest.mark.parametrize("where", [".rotifer/agents/x.json", ".rotifer/agents/y.json/z"])
def test_a_folder_among_the_records_hides_nothing(keeper, where):
    """What is no record is said with its path; the agents are listed and run all the same."""
    os.makedirs(keeper.path(where))

    listed = shell(keeper, "rotifer agent list")
    ran = shell(keeper, "rotifer agent run keeper --json --input 1")

    assert "keeper" in listed.stdout
    assert ".json" in listed.stderr
    assert {"got": 1} == json.loads(ran.stdout)["output"]


def test_a_folder_in_the_place_of_a_genes_file_is_an_error(keeper):
    """phenotype.json as a folder: the path and what is wrong."""
    os.unlink(keeper.path("genes/g/phenotype.json"))
    os.makedirs(keeper.path("genes/g/phenotype.json"))

    done = shell(keeper, "rotifer agent run keeper")

    assert 1 == done.returncode
    assert "not a regular file" in done.stderr
    assert "phenotype.json" in done.stderr


def test_a_held_lock_is_not_waited_for_without_end(keeper):
    """Another process holds the agents' folder: an error after some seconds, which says so."""
    fd = os.open(keeper.path(".rotifer/agents"), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        done = shell(keeper, "rotifer agent create other -g g")
    finally:
        os.close(fd)

    assert 1 == done.returncode
    assert "another process has held this folder" in done.stderr


def test_a_node_that_is_none(keeper):
    """A program that is not Node, and one that never ends: said in time, nothing left running."""
    for script, seconds in (("echo garbage", 5), ("sleep 300", 8)):
        path = keeper.put("no node", f"#!/bin/sh\n{script}\n", 0o755)
        started = time.monotonic()
        done = shell(keeper, f"ROTIFER_NODE='{path}' rotifer agent run keeper --time-limit 3")
        assert 1 == done.returncode
        assert done.stderr.startswith("error[E0052]")
        assert "Traceback" not in done.stderr
        assert time.monotonic() - started < seconds
    left = subprocess.run(["pgrep", "-f", "^sleep 300$"], capture_output=True, check=False)
    assert b"" == left.stdout


def test_odd_json_is_refused_with_its_file(keeper):
    """A genes_dir that is no text, a number out of range: an error each, no traceback."""
    keeper.put("rotifer.json", '{"genes_dir": "\\ud800"}')
    first = shell(keeper, "rotifer agent list")
    keeper.put("rotifer.json", '{"name": 1e999}')
    second = shell(keeper, "rotifer agent list")

    for done in (first, second):
        assert 1 == done.returncode
        assert "rotifer.json" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("limit", "cached", "said"),
    [
        ("-t 1", True, "was killed by SIGKILL (ulimit -t is 1 s) before it answered"),
        ("-S -t 1", True, "was killed by SIGXCPU (ulimit -t is 1 s) before it answered"),
        ("-d 300000", True, "ran out of memory (ulimit -d is 300,000 KiB) before it answered"),
        ("-v 1000000", False, " (ulimit -v is 1,000,000 KiB): Fatal"),
    ],
)
def test_a_limit_that_ends_node_is_named(keeper, limit, cached, said):
    """Which it is that is set, its figure, and what to do."""
    if cached:
        shell(keeper, "rotifer agent run keeper --input '{}'")
    done = shell(keeper, f"ulimit {limit}; rotifer agent run keeper --input '{{\"loop\": 1}}'")
    errors = done.stderr[done.stderr.index("error") :]

    assert 1 == done.returncode
    assert said in errors
    assert "raise it" in errors.splitlines()[-1]
