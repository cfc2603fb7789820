"""One supervisor that calls an agent's memory on a server, for a while: its calls, as JSON.

``_supervisor.py URL NUMBER SECONDS WHAT``: ``read``, ``write``, ``mixed`` (a write in ten calls).
"""

from __future__ import annotations

import json
import sys
import time

from rotifer_engine import AgentMemory, Caller, PostgresAudit, PostgresStore, Telemetry

GENE = Caller("v2:" + "a" * 64, "bench")
KEYS = 100


def main(url: str, number: str, seconds: str, what: str) -> None:
    store = PostgresStore(url)
    memory = AgentMemory(
        store,
        f"bench-{number}",
        audit=PostgresAudit(store),
        telemetry=Telemetry("/nowhere", enabled=False),
    )
    for each in range(KEYS):
        memory.write(GENE, f"{each}", bytes(100), "CONTEXT")
    print("ready", flush=True)
    sys.stdin.readline()
    calls = 0
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        key = f"{calls % KEYS}"
        if what == "write" or (what == "mixed" and calls % 10 == 0):
            memory.write(GENE, key, b"%0100d" % calls, "CONTEXT")
        else:
            memory.read(GENE, key)
        calls += 1
    store.close()
    print(json.dumps(calls), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
