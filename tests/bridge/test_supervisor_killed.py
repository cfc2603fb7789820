"""The supervisor is killed at each of its steps: nothing goes on running, nothing is in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from rotifer_bridge._sandbox import WALLS
from rotifer_bridge._sandbox_here import tried
from rotifer_engine import SqliteStore, replay

GENE = """
export function express({ loop }, { memory }) {
  memory.writeMemory('kept', new Uint8Array(10), 'CONTEXT');
  memory.writeMemory('kept', new Uint8Array(20), 'CONTEXT');
  memory.writeMemory('gone', new Uint8Array(5), 'CACHE');
  const size = memory.readMemory('kept').value.length;
  const found = memory.queryMemory({ keyPrefix: 'gone' }).length;
  memory.deleteMemory('gone');
  return size + found;
}
"""

# Everything is imported and tried once; then the process ends itself in front of the call of C code
# that has the number, in whichever thread makes it. With number 0 it says how many there are.
RUN = """
import itertools, os, signal, sys, threading
from rotifer_bridge import Project

at, count = int(sys.argv[1]), itertools.count(1)
project = Project.find()
with project.agent("keeper") as agent:
    agent.run({})

def step(frame, event, argument):
    if event == "c_call" and next(count) == at:
        os.kill(os.getpid(), signal.SIGKILL)

threading.setprofile(step)
sys.setprofile(step)
with project.agent("keeper") as agent:
    agent.run({})
sys.setprofile(None)
print(next(count))
"""
POINTS = 16


@pytest.fixture(params=WALLS)
def wall(request, node_path, monkeypatch):
    """Each wall in turn; one that this machine does not build is not tried."""
    if request.param != "none" and tried(None, node_path, request.param) != "works":
        pytest.skip(f"{request.param}: {tried(None, node_path, request.param)}")
    monkeypatch.setenv("ROTIFER_SANDBOX", request.param)
    return request.param


def run(bench, point):
    """Run the agent, killed at this point; what it printed if it was not."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(point)], cwd=bench.root, capture_output=True, check=False
    )
    killed = done.returncode == -signal.SIGKILL
    assert (killed or done.returncode == 0, b"") == (True, done.stderr)
    return None if killed else int(done.stdout)


def left_running(bench):
    """Processes that have the project's folder in their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if os.fsencode(bench.root) in line and int(name) != os.getpid():
            found.append(line)
    return found


def all_end(bench):
    """Whether what is still running comes to its end; what is just being started is seen late."""
    quiet, deadline = 0, time.monotonic() + 15
    while quiet < 5 and time.monotonic() < deadline:
        quiet = 0 if left_running(bench) else quiet + 1
        time.sleep(0.02)
    return quiet == 5


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "points", [POINTS, pytest.param(400, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_a_supervisor_killed_at_each_step(bench, wall, points):
    """Nothing outlives it, the memory is that of the log, and the next run is as any other."""
    bench.gene("g", {"index.ts": GENE}, outputSchema={})
    bench.record(1, genome=["g"])
    steps = run(bench, 0)
    killed = 0

    for number in range(points):
        killed += run(bench, 1 + steps * number // points) is None
        assert all_end(bench), f"{wall}, step {1 + steps * number // points}"

        with SqliteStore(bench.path(".rotifer", "playground.db")) as store:
            last_change = store.last_change()
        with open(bench.path(".rotifer", "audit.jsonl"), "rb") as log:
            recorded = replay(log, last_change=last_change)
        with bench.project().agent("keeper") as agent:
            entries = list(agent.memory.list())
            assert sum(entry.size for entry in entries) == agent.memory.usage()
            assert {entry.key for entry in entries} == recorded[agent.record.id]
            if number % 8 == 0:
                assert 21 == agent.run({}).output
                assert left_running(bench)  # so one would be seen
    assert killed >= points - 2  # the last steps vary a little
