"""Faults of the bridge: what holds when processes die, stop, are slow, or cannot be had."""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import time
from contextlib import suppress

import pytest
from tests.held import descriptors, given_back, threads

from rotifer_bridge import NodeError, RotiferError, RunTimedOut, _starts
from rotifer_bridge._inmost import inmost

COUNTER = """
export function express({ count }, { memory }) {
  for (let i = 0; i < count; i++) memory.writeMemory(`key/${i}`, new Uint8Array(i), 'PATTERN');
  return count;
}
"""

# Sends the first bytes of a frame, then does to itself what it was told.
HALF = """
import fs from 'node:fs';
export function express({ sent, act }, { memory }) {
  memory.writeMemory('k', new Uint8Array(1), 'CACHE');
  if (act === 'ready') return 'ready';
  const body = Buffer.from('{"op":"write","run":1,"key":"half","category":"CACHE"}\\n12345');
  const frame = Buffer.alloc(12 + body.length);
  frame.writeBigUInt64BE(BigInt(4 + body.length));
  frame.writeUInt32BE(0x80000063, 8);
  body.copy(frame, 12);
  const end = sent < 0 ? frame.length + sent : sent;
  for (let at = 0; at < end; ) at += fs.writeSync(3, frame, at, end - at);
  if (act === 'end') process.reallyExit(9);
  if (act === 'close') fs.closeSync(3);
  for (;;);
}
"""


def others():
    """Descriptors but the database's: SQLite keeps those of closed connections for the next."""
    found = descriptors()
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found -= ".rotifer/" in os.readlink(f"/proc/self/fd/{name}")
    return found


@pytest.fixture
def keeper(bench):
    """A project with an agent that counts."""
    bench.gene("g", {"index.ts": COUNTER}, outputSchema={})
    bench.record(1, genome=["g"])
    return bench.project()


@pytest.mark.parametrize("act", ["end", "close", "hang"])
@pytest.mark.parametrize("sent", [0, 1, 8, 11, 12, 13, 40, -1])
def test_a_worker_that_stops_in_a_frame(bench, sent, act):
    """Dead, deaf or silent in any part of a message: an error in time, and nothing half done."""
    bench.gene("g", {"index.mjs": HALF}, outputSchema={})
    bench.record(1, genome=["g"])
    with bench.project().agent("keeper") as agent:  # so that the limit is not about compiling it
        assert "ready" == agent.run({"act": "ready"}).output
    started = time.monotonic()

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError, match="gene 'g'"):
        agent.run({"sent": sent, "act": act}, time_limit=1.5)

    assert time.monotonic() - started < 5
    with bench.project().agent("keeper") as agent:
        assert ["k"] == [entry.key for entry in agent.memory.list()]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_hit_at_any_moment(keeper, sign):
    """Killed or stopped from outside while it starts, loads and writes: one error, then it works."""
    choice = random.Random(11)
    with keeper.agent("keeper") as agent:
        agent.run({"count": 1})
    ends = []

    with given_back(others, threads):
        for _ in range(8):
            with keeper.agent("keeper") as agent:
                timer = threading.Timer(choice.uniform(0, 0.4), hit, (sign,))
                timer.start()
                try:
                    ends.append(agent.run({"count": 10**6}, time_limit=1).output)
                except RotiferError as error:
                    ends.append(type(error).__name__)
                timer.join()
                assert 3 == agent.run({"count": 3}).output

    assert set(ends) <= {"WorkerDied", "RunTimedOut"}
    with keeper.agent("keeper") as agent:
        assert sum(entry.size for entry in agent.memory.list()) == agent.memory.usage()


def hit(sign):
    """Send a signal to the one worker of this process, wherever it stands."""
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{thread}/children") as file:
            for child in file.read().split():
                os.kill(inmost(int(child)), sign)


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ENOMEM])
def test_no_process_can_be_had(keeper, monkeypatch, code):
    """No memory, or no number, for a process: an error that says so, nothing left, then it works."""
    spawn = os.posix_spawn

    def none(*_args, **_options):
        raise OSError(code, os.strerror(code))

    def fail_and_recover():
        monkeypatch.setattr(os, "posix_spawn", none)
        with keeper.agent("keeper") as agent, pytest.raises(NodeError, match="cannot start"):
            agent.run({"count": 1})
        monkeypatch.setattr(os, "posix_spawn", spawn)
        with keeper.agent("keeper") as agent:
            assert 1 == agent.run({"count": 1}).output

    fail_and_recover()
    with given_back(others, threads):
        fail_and_recover()


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_the_clock_jumps(bench, monkeypatch, step):
    """A day back or ahead in the middle of a run changes neither its limit nor its answer."""
    bench.gene("g", {"index.ts": "export function express({ loop }) { console.log('up'); if (loop) for (;;); return 1; }"}, outputSchema={})  # fmt: skip
    bench.record(1, genome=["g"])
    now = time.time

    def jump(*_):
        monkeypatch.setattr(time, "time", lambda: now() + step)

    with bench.project().agent("keeper") as agent:
        assert 1 == agent.run({}, time_limit=30, on_log=jump).output
        started = time.monotonic()
        with pytest.raises(RunTimedOut):
            agent.run({"loop": True}, time_limit=1, on_log=jump)
        assert 0.9 < time.monotonic() - started < 10


def at_once(keeper, count):
    """So many agents in so many threads, all warm at the same time; what each of them gave."""
    outputs, gate = [], threading.Barrier(count, timeout=300)

    def run():
        with keeper.agent("keeper") as agent:
            try:
                first = agent.run({"count": 2}, time_limit=300).output
            except RotiferError as error:
                gate.abort()  # nobody waits for one that does not come
                outputs.append(error.message)
                return
            with suppress(threading.BrokenBarrierError):
                gate.wait()
            outputs.append((first, agent.run({"count": 2}, time_limit=300).output))

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs


def test_agents_at_once(keeper):
    """Sixteen at the same time: each is answered, nothing is left."""
    at_once(keeper, 1)

    with given_back(others, threads):
        assert [(2, 2)] * 16 == at_once(keeper, 16)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_hundred_agents_at_once(bench):
    """Two hundred of one project at the same time, from one supervisor: all are answered."""
    bench.gene("g", {"index.ts": COUNTER}, outputSchema={})
    for number in range(201):
        bench.record(1 + number, name=f"keeper-{number}", genome=["g"])
    project = bench.project()
    names = iter([f"keeper-{number}" for number in range(201)])

    class Each:
        """A project whose agent is another one each time."""

        def agent(self, _name):
            """The next one."""
            return project.agent(next(names))

    at_once(Each(), 1)  # nng's own threads and the one that starts processes stay

    with given_back(threads):
        assert [(2, 2)] * 200 == at_once(Each(), 200)


def test_few_start_at_the_same_time(keeper, monkeypatch):
    """No more processes are on their way up than the bound says; the others wait their turn."""
    most, up = [], threading.Lock()
    taken = []
    over = _starts.Start.over

    def begun(self):
        start(self)
        with up:
            taken.append(self)
            most.append(len(taken))

    def ended(self):
        with up:
            if self in taken:
                taken.remove(self)
        over(self)

    start = _starts.Start.__init__
    monkeypatch.setattr(_starts.Start, "__init__", begun)
    monkeypatch.setattr(_starts.Start, "over", ended)
    monkeypatch.setattr(_starts, "_free", threading.BoundedSemaphore(2))

    assert [(2, 2)] * 8 == at_once(keeper, 8)
    assert 8 == len(most)
    assert 2 >= max(most)
    assert [] == taken
