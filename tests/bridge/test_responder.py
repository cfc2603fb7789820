"""The reply socket is closed again and again, with a thread in a receive on it (design §2)."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a process of its own: what goes wrong here is nng's panic, which ends the whole process. Closed
# while the thread was still inside, two of three such runs ended so within 5,000 closes.
CLOSES = """
import socket, sys, threading
from rotifer_bridge._nng import Responder

for number in range(int(sys.argv[1])):
    ours, theirs = socket.socketpair()
    responder = Responder(ours.detach(), max_message=4096)
    receiver = threading.Thread(target=lambda: list(iter(responder.recv, None)))
    receiver.start()
    theirs.sendall(bytes([0, 0x53, 0x50, 0, 0, 0x30, 0, 0]))
    if number % 2:
        theirs.recv(8)  # both have said hello
    if number % 3 == 0:
        theirs.close()  # the worker is gone already
    responder.stop()
    receiver.join()
    responder.close()
    theirs.close()
print("well")
"""


@pytest.mark.parametrize(
    "closes", [2_000, pytest.param(40_000, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
def test_closing_while_a_thread_receives(closes):
    """Thousands of closes, at every stage of the connection: the process lives."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSES, str(closes)], capture_output=True, text=True, check=False
    )

    assert (0, "well\n", "") == (done.returncode, done.stdout, done.stderr)
