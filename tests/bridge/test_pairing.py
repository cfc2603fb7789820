"""A worker and what serves it share a processor that no other supervisor has claimed."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress

from rotifer_bridge._pairing import Pairing


def test_no_processor_is_taken_that_another_supervisor_has(node_path):
    """While every processor is claimed nothing is moved, however often it is asked for."""
    everywhere = os.sched_getaffinity(0)
    with ExitStack() as claims:
        for processor in everywhere:
            claim = claims.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            with suppress(OSError):  # it is claimed already: as good
                claim.bind(f"\0rotifer-bridge/processor/{processor}")
        pid = os.posix_spawn(node_path, [node_path, "-e", "setInterval(() => {}, 1e6)"], {})
        try:
            pairing = Pairing(pid)
            pairing.found(pid)
            for _ in range(3):
                pairing.enter()
                pairing.leave()

            assert not pairing.held
            assert everywhere == os.sched_getaffinity(pid)
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
