"""The supervisor is killed at each of its steps: nothing goes on running, nothing is in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from rotifer_bridge._sandbox import WALLS
from rotifer_bridge._sandbox_here import tried
from rotifer_engine import SqliteStore, replay

GENES = {
    "first": """
export function express({ size }: { size: number }, { memory }: any) {
  memory.writeMemory('kept', new Uint8Array(10), 'CONTEXT');
  memory.writeMemory('kept', new Uint8Array(size), 'CONTEXT');
  memory.writeMemory('gone', new Uint8Array(5), 'CACHE');
  const found = memory.queryMemory({ keyPrefix: 'gone' }).length;
  memory.deleteMemory('gone');
  return { found };
}
""",
    "second": """
export function express({ found }: { found: number }, { memory }: any) {
  memory.writeMemory('found', new Uint8Array(found), 'PATTERN');
  return memory.readMemory('kept').value.length + found;
}
""",
    "loop": "export function express() { console.log('up'); for (;;); }",
}

# The command, which ends itself in front of the step that has the number, in whichever thread makes
# it. With number 0 it says on stderr how many there are.
RUN = """
import itertools, os, signal, sys, threading

at, steps = int(sys.argv.pop(1)), set(sys.argv.pop(1).split())
count, leave = itertools.count(1), os._exit

def step(frame, event, called):
    if event == "c_call" and called.__name__ in steps and next(count) == at:
        os.kill(os.getpid(), signal.SIGKILL)

def end(code):
    sys.setprofile(None)
    print(next(count) - 1, file=sys.stderr, flush=True)
    leave(code)

os._exit = end
threading.setprofile(step)
sys.setprofile(step)
from rotifer_bridge.__main__ import main
main()
"""
AGENT_RUN = ("agent", "run", "keeper", "--input", '{"size": 20}')
POINTS = 6
STEPS = (
    "connect execute fdatasync flock fsync kill killpg link mkdir nng_ctx_recvmsg nng_ctx_sendmsg "
    "nng_listen pidfd_open pipe posix_spawn replace socketpair start_new_thread waitpid write"
)
"""What is done to the disk, to other processes, to the database and by a socket."""


@pytest.fixture(params=WALLS)
def wall(request, node_path, monkeypatch):
    """Each wall in turn; one that this machine does not build is not tried."""
    if request.param != "none" and tried(None, node_path, request.param) != "works":
        pytest.skip(f"{request.param}: {tried(None, node_path, request.param)}")
    monkeypatch.setenv("ROTIFER_SANDBOX", request.param)
    return request.param


@pytest.fixture
def keeper(bench, monkeypatch):
    """A project whose agent has two genes, and whose name is in the environment of what is started."""
    for name, source in GENES.items():
        bench.gene(name, {"index.ts": source}, outputSchema={})
    bench.record(1, genome=["first", "second"])
    bench.record(2, name="looper", genome=["loop"])
    monkeypatch.setenv("LANG", bench.root)  # a worker gets this one, the compiler the other
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{bench.root}")
    return bench


def command(bench, point, *words, steps=STEPS):
    """Run a command, killed at this step; None, or how many steps it had if it came to its end."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(point), steps, *words],
        cwd=bench.root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == -signal.SIGKILL:
        return None
    assert 0 == done.returncode, done.stderr
    return int(done.stderr.splitlines()[-1])


def left_running(bench):
    """Command lines of the processes that were started for the project, by whomever."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        told = []
        for part in ("cmdline", "environ"):
            with suppress(OSError), open(f"/proc/{name}/{part}", "rb") as file:
                told.append(file.read())
        if int(name) != os.getpid() and any(os.fsencode(bench.root) in text for text in told):
            found.append(told[0])
    return found


def assert_nothing_runs(bench):
    """What was started for the project ends; how long that may take is no matter of this test."""
    deadline = time.monotonic() + 10
    while left_running(bench) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [] == left_running(bench)


def forget(bench):
    """Take away all that runs have made: the next one is the first."""
    shutil.rmtree(bench.path(".rotifer", "cache"))
    for name in os.listdir(bench.path(".rotifer")):
        if os.path.isfile(bench.path(".rotifer", name)):
            os.unlink(bench.path(".rotifer", name))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "points", [POINTS, pytest.param(400, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_a_supervisor_killed_at_each_step(keeper, wall, points):
    """Nothing outlives it, the memory is that of the log, and the next run is as any other."""
    first, later = command(keeper, 0, *AGENT_RUN), command(keeper, 0, *AGENT_RUN)
    killed = 0

    for number in range(points):
        if number % 2 == 0:
            forget(keeper)
        share = (len(WALLS) * number + WALLS.index(wall)) / (len(WALLS) * points)
        at = 1 + int((later if number % 2 else first) * share)
        killed += command(keeper, at, *AGENT_RUN) is None
        assert_nothing_runs(keeper)

        with keeper.project().agent("keeper") as agent:
            assert () == tuple(agent.memory.check().findings)
            with SqliteStore(keeper.path(".rotifer", "playground.db")) as store:
                last_change = store.last_change()
            recorded = {}
            with (
                suppress(FileNotFoundError),
                open(keeper.path(".rotifer", "audit.jsonl"), "rb") as log,
            ):
                recorded = replay(log, last_change=last_change)
            entries = {entry.key for entry in agent.memory.list()}
            assert entries == recorded.get(agent.record.id, set())
            assert 21 == agent.run({"size": 20}).output
            assert left_running(keeper)  # so one would be seen
    assert killed >= points * 0.8  # the last steps vary a little


def test_a_supervisor_killed_while_a_gene_loops(keeper, wall):
    """The gene is not left alone with the processor, behind whichever wall."""
    with subprocess.Popen(
        [sys.executable, "-m", "rotifer_bridge", "agent", "run", "looper"],
        cwd=keeper.root,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert any("up" in line for line in child.stderr)
        assert left_running(keeper)
        child.kill()

    assert_nothing_runs(keeper)


def test_a_command_killed_while_it_changes_an_agent(keeper):
    """The record is the old one or the new one, and nothing is left of one that was not whole."""
    folder, words = keeper.path(".rotifer", "agents"), ("agent", "set", "keeper", "--memory-quota")
    there = sorted(os.listdir(folder))

    for number, step in enumerate(("flock", "fsync", "link", "fsync"), 1):
        last = number == 4
        assert command(keeper, 1 + last, *words, f"{number}MB", steps=step) is None
        quota = keeper.project().record("keeper").document.get("memoryQuotaBytes")
        assert (4 * 1024 * 1024 if last else None) == quota
        assert there == sorted(os.listdir(folder))
