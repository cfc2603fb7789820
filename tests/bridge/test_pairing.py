"""A worker and what serves it share a processor that no other supervisor has claimed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from rotifer_bridge import _pairing

# In a process of its own: what has run an agent has its processor already.
SCRIPT = """
import json, os, socket, sys, time
from contextlib import ExitStack, suppress
from rotifer_bridge._pairing import Pairing

node, everywhere = sys.argv[1], os.sched_getaffinity(0)
pid = os.posix_spawn(node, [node, "-e", "setInterval(() => {}, 1e6)"], {})
pairing, seen = Pairing(pid), {}

def ask():
    pairing.enter()
    pairing.leave()
    return pairing.held, len(os.listdir("/proc/self/fd"))

try:
    with ExitStack() as claims:
        for processor in everywhere:
            claim = claims.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            with suppress(OSError):  # it is claimed already: as good
                claim.bind(f"\\0rotifer-bridge/processor/{processor}")
        pairing.found(pid)
        seen["refused"] = [ask()[0] for _ in range(3)]
        seen["unmoved"] = everywhere == os.sched_getaffinity(pid)
        before = ask()[1] - len(everywhere)
    end = time.monotonic() + 3  # others on this machine may have what there is
    while not ask()[0] and time.monotonic() < end:
        pass
    seen["descriptors"] = ask()[1] - before
finally:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(node_path):
    """What a supervisor finds while every processor is claimed, and after that."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, node_path], capture_output=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_no_processor_is_taken_that_another_supervisor_has(seen):
    """While every processor is claimed nothing is moved, however often it is asked for."""
    assert [False, False, False] == seen["refused"]
    assert seen["unmoved"]


def test_a_claim_takes_no_further_descriptor(seen):
    """A processor that becomes free later is claimed with the descriptor of the first try."""
    assert 0 == seen["descriptors"]


POLICIES = """
import json, os, sys
from rotifer_bridge import Project
from rotifer_bridge._pairing import _Place, _place

def claim(self, preferred):  # others on this machine may have all of them
    self._processor = preferred
    return True

_Place._claim_one = claim

def policies():
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/comm") as file:
            name = file.read().strip()
        if name in {"nng:task", "nng:poll:epoll"}:
            found.setdefault(name, set()).add(os.sched_getscheduler(int(thread)))
    return {name: sorted(values) for name, values in found.items()}

with Project.find(sys.argv[1]).agent("keeper") as agent:
    agent.run({})
    [pairing] = [worker._pairing for worker in agent._warm._runners.values()]
    seen = {"held": pairing.held, "together": policies()}
    with _place.lock:
        pairing.part()
    seen["apart"] = policies()
print(json.dumps(seen))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor for all")
def test_nng_stops_nobody_on_the_shared_processor(bench):
    """Paired, nng's threads wait until another has come to its end; parted, they are as they were."""
    bench.gene("g", {"index.ts": "export const express = (x: object) => x;"})
    bench.record(1, genome=["g"])
    done = subprocess.run(
        [sys.executable, "-c", POLICIES, bench.root],
        capture_output=True,
        check=True,
        timeout=60,
    )
    seen = json.loads(done.stdout)

    batch, normal = [os.SCHED_BATCH], [os.SCHED_OTHER]
    assert seen["held"]
    assert {"nng:task": batch, "nng:poll:epoll": batch} == seen["together"]
    assert {"nng:task": normal, "nng:poll:epoll": normal} == seen["apart"]


class Place:
    """A processor that is always free."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()

    def gather(self, _pairing):
        """Moved."""
        return True

    def spread(self, _pairing):
        """Moved back."""


def test_what_was_given_up_is_tried_again(monkeypatch):
    """After a quarter of a second, twice as long each time, two at most; from anew when it held."""
    now = 100.0
    monkeypatch.setattr(_pairing, "monotonic", lambda: now)
    monkeypatch.setattr(_pairing, "_place", Place())
    pairing = _pairing.Pairing(0)
    waited, turns = 0, 0
    monkeypatch.setattr(pairing, "_wait", lambda: (waited, turns))
    pairing.enter()
    pairing.found(1)

    def after(kept):
        """How long it is given up for, if the worker has to wait when it was paired so long."""
        nonlocal now, waited, turns
        now, waited, turns = now + kept, waited + 300_000, turns + 1
        pairing.check()
        assert not pairing.held
        began = now
        while not pairing.held:
            assert pairing.changes
            now += 1 / 16
            pairing.check()
        return now - began

    assert [0.25, 0.5, 1.0, 2.0, 2.0] == [after(1 / 8) for _ in range(5)]
    assert [0.25, 0.5] == [after(3), after(1 / 8)]
    waited, turns = waited + 190_000, turns + 1
    pairing.check()
    assert pairing.held
