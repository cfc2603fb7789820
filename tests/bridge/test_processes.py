"""Nothing is lost and nothing is left behind: descriptors, threads, processes (design §2)."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from tests.held import given_back, settled

from rotifer_bridge import RotiferError
from rotifer_bridge._inmost import inmost
from rotifer_engine import SqliteStore, replay

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]

COUNTER = """
export function express({ from, count, pause }, { memory }) {
  for (let i = from; i < from + count; i++) {
    memory.writeMemory(`key/${i}`, new TextEncoder().encode(String(i)), 'PATTERN');
  }
  return count;
}
"""


def children_of(pid):
    """Process ids of the children of a process, also of its dead threads' children."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry))
    return found


def descendants_of(pid):
    """Process ids of the children of a process, of their children, and so on: walls start one another."""
    found = children_of(pid)
    return found + [below for child in found for below in descendants_of(child)]


def running(pid):
    """Whether a process is there and not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.timeout(240)
def test_three_hundred_workers_leak_nothing(bench):
    """300 workers, ended in every way: the same descriptors and threads as after the first few."""
    bench.gene(
        "g",
        {"index.ts": "export function express({ how }) { if (how === 1) process.exit(1); if (how === 2) process.kill(process.pid, 'SIGKILL'); if (how === 3) throw 1; return 1; }"},
    )  # fmt: skip
    bench.record(1, genome=["g"])
    project = bench.project()

    def run(number):
        with project.agent("keeper") as agent:
            if number % 5 == 4:
                agent.run({}) if number % 10 == 4 else None  # some never get to a run
                return
            with contextlib.suppress(RotiferError):
                agent.run({"how": number % 5})

    for number in range(10):
        run(number)
    with given_back():
        for number in range(300):
            run(number)

    assert [] == children_of(os.getpid())


def test_a_killed_worker_is_noticed_at_once(bench):
    """A worker killed from outside is an error within a second, not a wait for the time limit."""
    bench.gene("g", {"index.ts": "export function express() { console.log('up'); for (;;); }"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        killed = []

        def kill(_gene, _line):
            [worker] = children_of(os.getpid())
            os.kill(inmost(worker), signal.SIGKILL)
            killed.append(time.monotonic())

        with pytest.raises(RotiferError, match="gene 'g': its process was killed by SIGKILL"):
            agent.run({}, time_limit=30, on_log=kill)
        noticed = time.monotonic()

    assert noticed - killed[0] < 1


def test_ctrl_c_ends_the_run_and_leaves_nothing(bench):
    """SIGINT while a gene loops: exit 130 within a second, no process left."""
    bench.gene("g", {"index.ts": "export function express() { console.log('up'); for (;;); }"})
    bench.record(1, genome=["g"])

    with subprocess.Popen([*ROTIFER, "agent", "run", "keeper"], cwd=bench.root, stderr=subprocess.PIPE, text=True) as child:  # fmt: skip
        assert "up" in child.stderr.readline()
        workers = children_of(child.pid)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert 130 == child.wait(10)
        assert time.monotonic() - sent < 1.5
        assert "Traceback" not in child.stderr.read()

    assert workers
    assert not any(running(pid) for pid in workers)


def test_two_processes_write_at_once(bench):
    """Two supervisors, 500 entries each, one agent: all there, quota exact, every line whole."""
    bench.gene("g", {"index.ts": COUNTER})
    bench.record(1, genome=["g"])

    runs = [
        subprocess.Popen(
            [*ROTIFER, "agent", "run", "keeper", "--json", "--input", json.dumps({"from": start, "count": 500})],
            cwd=bench.root,
            stdout=subprocess.PIPE,
        )
        for start in (0, 500)
    ]  # fmt: skip
    for run in runs:
        out, _ = run.communicate(timeout=100)
        assert 0 == run.returncode
        assert 500 == json.loads(out)["output"]

    memory = bench.project().agent("keeper").memory
    entries = list(memory.list())
    assert {f"key/{i}" for i in range(1000)} == {entry.key for entry in entries}
    assert sum(entry.size for entry in entries) == memory.usage()
    with open(bench.path(".rotifer", "audit.jsonl"), "rb") as log:
        lines = log.read().splitlines()
    assert 1000 == len(lines)
    assert {f"key/{i}" for i in range(1000)} == {json.loads(line)["key"] for line in lines}


@pytest.mark.timeout(300)
def test_a_supervisor_killed_at_any_moment(bench):
    """Kill -9 of the supervisor, 50 times: nothing between, nothing unrecorded, nothing running."""
    bench.gene("g", {"index.ts": COUNTER})
    bench.gene("loop", {"index.ts": "export function express(input, { memory }) { memory.writeMemory('loop', new Uint8Array(1), 'CACHE'); for (;;); }"})  # fmt: skip
    bench.record(1, name="writer", genome=["g"])
    bench.record(2, name="looper", genome=["loop"])
    for name in (
        "writer",
        "looper",
    ):  # what is made once is made: each run comes to its calls early
        subprocess.run(
            [
                *ROTIFER,
                "agent",
                "run",
                name,
                "--time-limit",
                "5",
                "--input",
                '{"from": 0, "count": 1}',
            ],
            cwd=bench.root,
            capture_output=True,
            check=False,
        )
    choice = random.Random(7)
    left, seen = [], 0

    for number in range(250):
        if number >= 50 and seen > 25:
            break
        name = "looper" if number % 5 == 0 else "writer"
        given = json.dumps({"from": number * 100, "count": 100_000})
        child = subprocess.Popen(
            [*ROTIFER, "agent", "run", name, "--input", given],
            cwd=bench.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(choice.uniform(0.02, 0.5))
        child.send_signal(signal.SIGSTOP)  # so that none is started between looking and killing
        workers = descendants_of(child.pid)
        seen += bool(workers)
        child.kill()
        child.wait()
        deadline = time.monotonic() + 2
        while any(running(pid) for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.02)
        left += [pid for pid in workers if running(pid)]

    assert [] == left
    assert seen > 25, "hardly a worker was up when its supervisor was killed: it shows nothing"
    with SqliteStore(bench.path(".rotifer", "playground.db")) as store:
        last_change = store.last_change()
    with open(bench.path(".rotifer", "audit.jsonl"), "rb") as log:
        recorded = replay(log, last_change=last_change)
    for name in ("writer", "looper"):
        with bench.project().agent(name) as agent:
            entries = list(agent.memory.list())
            assert entries, f"{name} was never far enough to write: the test shows nothing"
            assert sum(entry.size for entry in entries) == agent.memory.usage()
            # Exactly: no change without its line, no line without its change but the abandoned.
            assert {entry.key for entry in entries} == recorded[agent.record.id]
    database = sqlite3.connect(bench.path(".rotifer", "playground.db"))
    assert [("ok",)] == database.execute("PRAGMA integrity_check").fetchall()
    database.close()


def test_many_threads_of_one_program(bench):
    """Agents run in threads that come and go: workers outlive the thread that asked for them."""
    bench.gene("g", {"index.ts": "let n = 0; export const express = () => ++n;"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        outputs = []
        for _ in range(5):
            thread = threading.Thread(target=lambda: outputs.append(agent.run({}).output))
            thread.start()
            thread.join()

    assert [1, 2, 3, 4, 5] == outputs


def printed(bench, script):
    """The lines that a program of the project prints; it must say nothing else and end well."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=bench.root, capture_output=True, text=True, check=False
    )
    assert ("", 0) == (done.stderr, done.returncode)
    return done.stdout.splitlines()


FORK = """
import os, sys
from rotifer_bridge import Project, RotiferError
project = Project.find()
agent = project.agent("keeper")
print(agent.run({}).output, flush=True)
if (child := os.fork()) == 0:
    for other in (agent, Project.find().agent("keeper")):
        try:
            other.run({})
        except RotiferError as error:
            print(type(error).__name__, "fork" in error.message, flush=True)
        other.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(agent.run({}).output, flush=True)
"""


def test_a_fork_is_refused_and_harms_nothing(bench):
    """After a fork the child is told so, and its close leaves the parent's worker alone."""
    bench.gene("g", {"index.ts": "let n = 0; export const express = () => ++n;"})
    bench.record(1, genome=["g"])

    assert ["1", "AgentError True", "RunError True", "2"] == printed(bench, FORK)


STARVED = (
    f"import time\n{inspect.getsource(settled)}"
    """
import os, resource, threading
from rotifer_bridge import Project, RotiferError
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # no claim to a processor in the count
project = Project.find()
with project.agent("keeper") as agent:
    print(agent.run({}).output)
def used(): return settled(lambda: len(os.listdir("/proc/self/fd")))
before, threads, seen = used(), threading.active_count(), set()
for room in range(0, 40):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + room, 4096))
    try:
        with project.agent("keeper") as agent:
            print(agent.run({}).output)
            break
    except RotiferError as error:
        seen.add(type(error).__name__)
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
print(sorted(seen) != [], used() - before, threading.active_count() - threads)
"""
)


CROWDED = (
    f"import time\n{inspect.getsource(settled)}"
    """
import os, resource, sys, threading
from rotifer_bridge import Project, RotiferError
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # no claim to a processor in the count
project, ends = Project.find(), []
def one():
    try:
        with project.agent("keeper") as agent:
            ends.append(agent.run({}, time_limit=60).output)
    except RotiferError as error:
        told = "oo many open files" in error.message or "ulimit" in (error.help or "")
        ends.append("limit" if told else error.message)
    except BaseException as error:
        ends.append(repr(error))
def crowd(size):
    each = [threading.Thread(target=one) for _ in range(size)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
crowd(1)
def used(): return settled(lambda: len(os.listdir("/proc/self/fd")))
before = used(), threading.active_count()
for room in 15, 30, 60:
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] + room, 4096))
    crowd(20)
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
one()
print(len(ends), *sorted(set(ends)), (used(), threading.active_count()) == before, ends[-1])
"""
)


def test_descriptors_run_out_among_many(bench):
    """More agents at once than there are descriptors for: each is answered or told of the limit."""
    bench.gene("g", {"index.ts": "export const express = () => 'up';"})
    bench.record(1, genome=["g"])

    assert ["62 limit up True up"] == printed(bench, CROWDED)


def test_descriptors_run_out(bench):
    """With too few descriptors at any point: a clear error, nothing leaked, then it works."""
    bench.gene("g", {"index.ts": "export const express = () => 'up';"})
    bench.record(1, genome=["g"])

    assert ["up", "up", "True 0 0"] == printed(bench, STARVED)
