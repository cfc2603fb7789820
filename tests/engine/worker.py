"""One process of the tests that need several: run with a job's name, a folder, and its arguments.

It prints a line when it is ready, and others as the job says.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from rotifer_engine import (
    AgentMemory,
    AgentMemoryError,
    AuditLog,
    Caller,
    FileSystem,
    SqliteStore,
    Telemetry,
)

AGENT = "7c4a8d09-ca37-42a8-9fd1-000000000001"


class Files(FileSystem):
    """Nothing waits for the disk: a killed process loses nothing that the system has."""

    def sync(self, fd):
        """Do not wait."""


class KilledBeforeCommit(Files):
    """The process ends right after the lines of a change were written."""

    def sync(self, fd):
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)


def memory(folder, files, quota=10 * 1024 * 1024):
    """The agent's memory, as this process sees it."""
    state = os.path.join(folder, ".rotifer")
    return AgentMemory(
        SqliteStore(os.path.join(state, "playground.db"), durable=False, busy_timeout_ms=60_000),
        AGENT,
        quota_bytes=quota,
        audit=AuditLog(os.path.join(state, "audit.jsonl"), files=files),
        telemetry=Telemetry(os.path.join(state, "telemetry.jsonl"), files=files),
    )


def caller(letter):
    """A gene whose identity is made of one hex digit."""
    return Caller("v2:" + letter * 64, "code.format")


def say(*words):
    """A line for the test."""
    print(*words, flush=True)


def ready():
    """Wait until the test says go."""
    say("ready")
    sys.stdin.readline()


def write_many(folder, letter, count, size, quota):
    """Write entries of its own; print how many were refused."""
    mine = memory(folder, Files(), int(quota))
    gene = caller(letter)
    refused = 0
    ready()
    for number in range(int(count)):
        try:
            mine.write(gene, f"{letter}/{number:04}", bytes(int(size)), "PREFERENCE")
        except AgentMemoryError as error:
            if error.code != "MEMORY_QUOTA_EXCEEDED":
                raise
            refused += 1
    say(refused)


def mixed(folder, letter, count, quota):
    """Write, rewrite, read, query and delete over keys that all processes share."""
    mine = memory(folder, Files(), int(quota))
    gene = caller(letter)
    ready()
    state = int(letter, 16)
    for number in range(int(count)):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        key, what = f"{state // 7 % 40:02}", state // 400 % 10
        try:
            if what < 5:
                mine.write(
                    gene, key, f"{letter}{number}".encode() * 5, ("CACHE", "PATTERN")[what % 2]
                )
            elif what < 7:
                mine.read(gene, key)
            elif what < 8:
                mine.query(gene, {"limit": 5})
            else:
                mine.delete(gene, key)
        except AgentMemoryError as error:
            if error.code != "MEMORY_NOT_FOUND":
                raise
    say("done")


def die(folder, letter, what):
    """Die between the lines of a change and its commit."""
    mine = memory(folder, KilledBeforeCommit(), 100)
    gene = caller(letter)
    ready()
    if what == "create":
        mine.write(gene, "new", b"", "CACHE")
    elif what == "update":
        mine.write(gene, "k", b"new", "CACHE")
    elif what == "delete":
        mine.delete(gene, "k")
    elif what == "evict":
        mine.write(gene, "big", bytes(90), "CACHE")
    elif what == "deny":
        mine.write(Caller("v2:" + "f" * 64, "other"), "k", b"", "CACHE")


def write_for_ever(folder, letter):
    """Write, rewrite and delete until killed; print a line after each change."""
    mine = memory(folder, Files(), 3_000)
    gene = caller(letter)
    ready()
    number = 0
    while True:
        mine.write(gene, f"{number % 50}", bytes(number % 90), "CACHE")
        if number % 3 == 0:
            mine.delete(gene, f"{number % 50}")
        say(number)
        number += 1


def fill_disk(folder, letter):
    """Write until no file may grow any more; print the code that says so."""
    mine = memory(folder, Files())
    gene = caller(letter)
    mine.write(gene, "first", b"", "CACHE")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    ready()
    number = 0
    while True:
        try:
            mine.write(gene, f"{number}", bytes(700), "CACHE")
        except AgentMemoryError as error:
            say(error.code, number)
            assert mine.read(gene, "first") is not None
            return
        number += 1


if __name__ == "__main__":
    job, *arguments = sys.argv[1:]
    {
        "write_many": write_many,
        "mixed": mixed,
        "die": die,
        "write_for_ever": write_for_ever,
        "fill_disk": fill_disk,
    }[job](*arguments)
