"""One supervisor of the tests that need several: mixed calls on a memory that all of them share."""

from __future__ import annotations

import json
import sys

from rotifer_engine import (
    AgentMemory,
    AgentMemoryError,
    Caller,
    PostgresAudit,
    PostgresStore,
    Telemetry,
)
from rotifer_engine._postgres import Limits


def main(url, agent, letter, count, quota):
    """Count up, write, read, query and delete; print what was answered, as one line of JSON."""
    store = PostgresStore(url, durable=False, limits=Limits(lock=60, statement=61, idle=60))
    mine = AgentMemory(
        store,
        agent,
        quota_bytes=int(quota),
        audit=PostgresAudit(store),
        telemetry=Telemetry("/nowhere", enabled=False),
    )
    gene = Caller("v2:" + letter * 64, "code.format")
    print("ready", flush=True)
    sys.stdin.readline()
    state, counted, answered = int(letter, 16), 0, {}
    for number in range(int(count)):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        key, what = f"{state // 7 % 40:02}", state // 400 % 10
        name = "ok"
        try:
            if what < 4:
                mine.write(
                    gene, key, f"{letter}{number}".encode() * 5, ("CACHE", "PATTERN")[what % 2]
                )
            elif what < 5:
                # Each supervisor has a key of its own, where it sees each of its own writes.
                seen = mine.read(gene, f"own/{letter}")
                assert counted == (0 if seen is None else int(seen.value)), "an update was lost"
                mine.write(gene, f"own/{letter}", f"{counted + 1}".encode(), "PREFERENCE")
                counted += 1
            elif what < 7:
                mine.read(gene, key)
            elif what < 8:
                mine.query(gene, {"limit": 5})
            else:
                mine.delete(gene, key)
        except AgentMemoryError as error:
            if error.code != "MEMORY_NOT_FOUND":
                raise
            name = error.code
        answered[name] = answered.get(name, 0) + 1
    store.close()
    print(json.dumps({"counted": counted, "answered": answered}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
