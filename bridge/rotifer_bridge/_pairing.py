"""Keep a worker and the threads that serve it on one processor while it is the only one that runs.

A call's parts alternate strictly: the gene waits while it is served. On one processor each part
finds it awake and its caches warm; across two, every hand-over first wakes an idle processor.
Measured on two cores, median of ``readMemory``: 74 µs for 107. The price is a processor shared with
whoever else wants it, so a processor is claimed by one supervisor at a time, and `Pairing.check`
gives the pairing up where a gene has to wait for its turn all the same.

On one processor a thread that is woken also stops the one that woke it, in the midst of its work
and of its locks: 19 switches a call. nng's threads wait for the other to come to its end instead
(the kernel's batch policy): 8 switches, and on another machine 105 µs for 129.
"""

from __future__ import annotations

import os
import threading
from _socket import AF_UNIX, SOCK_DGRAM
from _socket import socket as Socket  # noqa: N812 - a class, and the light half of `socket`
from contextlib import suppress
from time import monotonic

__all__ = ["Pairing"]

# Of a wait for the processor, on average, in ns. Handing over to each other takes 5,000-16,000;
# another program that computes on the same processor holds it for milliseconds.
_TOO_LONG_NS = 200_000
_PAUSE = 1.0  # seconds until a processor is asked for again: asking takes as long as a call
# Seconds until a pairing is tried again that was given up: each time twice as many, up to the
# last; and the first again once it has held for a while.
_RESPITES = (0.25, 2.0)
_NNG_THREADS = frozenset({"nng:poll:epoll", "nng:task"})


class Pairing:
    """One worker's place, together with its service thread.

    Args:
        tid: the service thread's native id.
    """

    def __init__(self, tid: int) -> None:
        self.pid, self.tid = 0, tid
        self.held = False
        """Whether the worker is paired now."""
        self._again = 0.0  # when to pair again after it was given up, by `monotonic`
        self._respite = _RESPITES[0]
        self._since = 0.0  # when it was paired
        self._waited = (0, 0)

    def enter(self) -> None:
        """A run begins: pair, if no other worker of this process is running; else part all."""
        with _place.lock:
            _place.running.add(self)
            self._settle()

    def found(self, pid: int) -> None:
        """The worker's Node is there, and this is its process; a run is going on."""
        with _place.lock:
            self.pid = pid
            self._settle()

    def _settle(self) -> None:
        if len(_place.running) > 1:
            for other in _place.running:
                other.part()
        elif self.pid and not self.held and monotonic() >= self._again:
            self.held = _place.gather(self)
            if self.held:
                self._waited, self._since = self._wait(), monotonic()

    def leave(self) -> None:
        """The run has ended. Stays paired: the next run finds it so."""
        with _place.lock:
            _place.running.discard(self)

    @property
    def changes(self) -> bool:
        """Whether there may be something to `check` while a run goes on."""
        return self.held or len(_place.running) == 1

    def check(self) -> None:
        """Give the pairing up for a while where the worker waits too long for its processor.

        And pair again when that is over.
        """
        if not self.held:
            with _place.lock:
                self._settle()
            return
        waited = self._wait()
        time, turns = waited[0] - self._waited[0], waited[1] - self._waited[1]
        self._waited = waited
        if time > _TOO_LONG_NS * max(turns, 1):
            with _place.lock:
                now = monotonic()
                if now - self._since > _RESPITES[1]:
                    self._respite = _RESPITES[0]
                self._again = now + self._respite
                self._respite = min(2 * self._respite, _RESPITES[1])
                self.part()

    def part(self) -> None:
        """Let the scheduler place the worker again; the caller holds the lock."""
        if self.held:
            self.held = False
            _place.spread(self)

    def _wait(self) -> tuple[int, int]:
        """Nanoseconds the worker's main thread waited to run so far, and how many times it ran."""
        try:
            with open(f"/proc/{self.pid}/schedstat", "rb") as file:
                _, waited, turns = file.read().split()
        except (OSError, ValueError):  # it has ended, or this kernel keeps no such figures
            return self._waited
        return int(waited), int(turns)


class _Place:
    """The processor that this process has claimed, and who is running."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[Pairing] = set()
        self._claim: int | None = None
        self._processor = -1
        self._again = 0.0  # when to ask for a processor again, by `monotonic`
        self._shared: list[int] | None = None

    def gather(self, pairing: Pairing) -> bool:
        """Put a worker and what serves it on one processor; whether that was done."""
        try:
            if self._processor < 0:
                if monotonic() < self._again:
                    return False
                if not self._claim_one(_last_processor(pairing.pid)):
                    self._again = monotonic() + _PAUSE
                    return False
            moved = self._move(pairing, {self._processor})
            if moved:
                self._let_wait(os.SCHED_OTHER, os.SCHED_BATCH)
        except (OSError, ValueError):
            return False
        return moved

    def spread(self, pairing: Pairing) -> None:
        """Undo `gather`."""
        self._let_wait(os.SCHED_BATCH, os.SCHED_OTHER)
        self._move(pairing, os.sched_getaffinity(0))

    def _let_wait(self, before: int, after: int) -> None:
        """Give nng's threads another of the kernel's policies, unless the program gave them one."""
        for thread in self._shared_threads():
            with suppress(OSError):
                if os.sched_getscheduler(thread) == before:
                    os.sched_setscheduler(thread, after, os.sched_param(0))

    def _claim_one(self, preferred: int) -> bool:
        """Claim a processor that no other supervisor has, the preferred one if that is free."""
        allowed = os.sched_getaffinity(0)
        if len(allowed) < 2:
            return False
        if self._claim is None:  # kept from one try to the next: descriptors stay as many
            self._claim = Socket(AF_UNIX, SOCK_DGRAM).detach()
        claim = Socket(AF_UNIX, SOCK_DGRAM, 0, self._claim)
        try:
            for processor in sorted(allowed, key=lambda each: each != preferred):
                with suppress(OSError):
                    # An abstract name: nothing on the disk, and gone with the process.
                    claim.bind(f"\0rotifer-bridge/processor/{processor}")
                    self._processor = processor
                    return True
        finally:
            claim.detach()
        return False

    def _move(self, pairing: Pairing, processors: set[int]) -> bool:
        try:
            for thread in (pairing.pid, pairing.tid, *self._shared_threads()):
                os.sched_setaffinity(thread, processors)
        except OSError:  # it has ended, or may not be moved: it is only slower
            return False
        return True

    def _shared_threads(self) -> list[int]:
        """The native ids of nng's threads that every message passes through."""
        if self._shared is None:
            found = []
            for name in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{name}/comm", "rb") as file:
                    if file.read().strip().decode("ascii", "replace") in _NNG_THREADS:
                        found.append(int(name))
            self._shared = found
        return self._shared


def _last_processor(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[36])


_place = _Place()
