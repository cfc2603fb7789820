"""What a memory does on a disk that is full or may not be written; each job is a program of its own.

``disk.py full FOLDER WHICH`` and ``disk.py denied FOLDER WHAT``; the verdict is printed as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

from rotifer_engine import (
    AgentMemory,
    AgentMemoryError,
    AuditLog,
    Caller,
    SqliteStore,
    Telemetry,
    replay,
)

AGENT = "7c4a8d09-ca37-42a8-9fd1-000000000001"
GENE = Caller("v2:" + "a" * 64, "code.format")
BALLAST = 96 * 1024


def memory(database, audit):
    """The agent's memory on these two files."""
    return AgentMemory(
        SqliteStore(database),
        AGENT,
        audit=AuditLog(audit),
        telemetry=Telemetry(os.path.join(os.path.dirname(audit), "telemetry.jsonl")),
    )


def outcome(call):
    """What a call answers: its result, or the code and the words."""
    try:
        return call()
    except AgentMemoryError as error:
        return f"{error.code}: {error.message}"


def full(folder, which):
    """Fill the small disk that is mounted on FOLDER/small, then make room again."""
    small, large = os.path.join(folder, "small"), os.path.join(folder, "large")
    database = os.path.join(large if which == "audit" else small, "playground.db")
    audit = os.path.join(large if which == "database" else small, "audit.jsonl")
    with open(os.path.join(small, "ballast"), "wb") as file:
        file.write(bytes(BALLAST))
    mine = memory(database, audit)
    mine.write(GENE, "first", b"v", "CACHE")
    written = ["first"]
    for number in range(10_000):
        answer = outcome(lambda n=number: mine.write(GENE, f"{n}", bytes(700), "CACHE").key)
        if answer != f"{number}":
            break
        written.append(answer)
    verdict = {
        "answer": answer,
        "count": len(written),
        "kept": sorted(written) == sorted(row.key for row in mine.list()),
        "read": mine.read(GENE, "first").value.decode(),
        "again": outcome(lambda: mine.write(GENE, "again", bytes(700), "CACHE").key),
    }
    os.unlink(os.path.join(small, "ballast"))
    mine.write(GENE, "room", b"", "CACHE")
    mine.delete(GENE, "first")
    keys = {row.key for row in mine.list()}
    verdict["works"] = {"room", *written} - {"first"} <= keys
    with open(audit, "rb") as file:
        verdict["told"] = keys == replay(file)[AGENT]
    return verdict


def denied(folder, what):
    """Have no rights but the owner's, and find one of the files closed."""
    give_up_capabilities()
    database, audit = os.path.join(folder, "playground.db"), os.path.join(folder, "audit.jsonl")
    path, mode = {
        "folder": (folder, 0o500),
        "closed folder": (folder, 0o000),
        "database": (database, 0o400),
        "closed database": (database, 0o000),
        "audit": (audit, 0o400),
    }[what]
    os.chmod(path, mode)
    mine = memory(database, audit)
    calls = {
        "write": lambda: mine.write(GENE, "k", b"new", "CACHE").key,
        "create": lambda: mine.write(GENE, "n", b"", "CACHE").key,
        "delete": lambda: mine.delete(GENE, "k"),
        "delete_key": lambda: mine.delete_key("k"),
        "read": lambda: bytes(mine.read(GENE, "k").value).decode(),
        "list": lambda: [row.key for row in mine.list()],
    }
    verdict = {name: outcome(call) for name, call in calls.items()}
    os.chmod(folder, 0o700)
    os.chmod(path, 0o700 if path == folder else 0o600)
    return verdict


def give_up_capabilities():
    """Become an ordinary owner of files even as root, whom no mode of a file stops."""
    version_3 = 0x20080522
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")


if __name__ == "__main__":
    job, *arguments = sys.argv[1:]
    print(json.dumps({"full": full, "denied": denied}[job](*arguments)))
