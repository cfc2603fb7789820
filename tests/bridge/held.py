"""What this process holds, for tests that see whether it gives everything back."""

from __future__ import annotations

import contextlib
import os
import time


def descriptors():
    """How many descriptors this process has, but for its claim to a processor.

    That is made once, when one is free, and kept: other supervisors decide when.
    """
    with open("/proc/net/unix") as file:
        claims = {f"socket:[{line.split()[6]}]" for line in file if "@rotifer-bridge/" in line}
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{name}") not in claims
    return found


def settled(figure):
    """What a figure comes to rest at: nng gives a closed socket's descriptor back a moment later."""
    seen = [figure()]
    while len(seen) < 500 and len(set(seen[-10:])) + (len(seen) < 10) > 1:
        time.sleep(0.01)
        seen.append(figure())
    return seen[-1]
