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


def threads():
    """How many threads the kernel counts, those of C among them."""
    return len(os.listdir("/proc/self/task"))


def settled(figure):
    """What a figure comes to rest at.

    nng gives a closed socket's descriptor back a moment later, and the kernel counts a thread for
    a moment after it was joined.
    """
    seen = [figure()]
    while len(seen) < 500 and len(set(seen[-10:])) + (len(seen) < 10) > 1:
        time.sleep(0.01)
        seen.append(figure())
    return seen[-1]


@contextlib.contextmanager
def given_back(*figures, patience=10.0):
    """See that none of the figures is larger at the end than it was before.

    What goes a moment later has some time for it; what leaks stays.

    Args:
        figures: `descriptors` and `threads` unless said.
        patience: seconds that they may take to come back.
    """
    figures = figures or (descriptors, threads)
    before = [settled(figure) for figure in figures]
    yield
    deadline = time.monotonic() + patience
    while True:
        after = [figure() for figure in figures]
        grown = [
            f"{figure.__name__}: {then} -> {now}"
            for figure, then, now in zip(figures, before, after, strict=True)
            if now > then
        ]
        if not grown or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    assert [] == grown
