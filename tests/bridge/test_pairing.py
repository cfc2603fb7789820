"""A worker and what serves it share a processor that no other supervisor has claimed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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
