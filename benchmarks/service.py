"""What the HTTP service does in a second, beside a bare FastAPI endpoint in the same run.

64 clients, each with one connection, send their next request when their answer is there. The
endpoint validates the body of a write and gives it back; the service lets the token in, judges the
write, records it, makes it durable and answers. The rounds take turns; of each figure the median
over the rounds is given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from statistics import median
from typing import Any

from _tables import save, table

HERE = os.path.dirname(os.path.abspath(__file__))
ROTIFER = [sys.executable, "-m", "rotifer_bridge"]
CLIENTS = 64
FLOOR = 0.5  # of the bare endpoint's requests a second
BARE = "bare FastAPI endpoint"
WRITE = {
    "key": "bench/@C/@N",
    "value": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh",
    "category": "CACHE",
}


def main() -> int:
    """Measure, print, and say by the exit code whether the floor was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder, ExitStack() as stack:
        plans = make_plans(folder, stack)
        rounds = [
            {name: load({**plan, "seconds": options.seconds}) for name, plan in plans.items()}
            for _ in range(options.rounds)
        ]
    return 0 if report(rounds) else 1


def make_plans(folder: str, stack: ExitStack) -> dict[str, dict[str, Any]]:
    """What each kind of client sends, and to which of the two servers."""
    with open(os.path.join(folder, "rotifer.json"), "w", encoding="utf-8") as file:
        file.write('{"name": "bench"}')
    gene = os.path.join(folder, "genes", "bench")
    os.makedirs(gene)
    with open(os.path.join(gene, "index.mjs"), "w", encoding="utf-8") as file:
        file.write("export const express = (input) => input;\n")
    rotifer(folder, "wrap", "bench", "-d", "bench")
    rotifer(folder, "agent", "create", "bench", "-g", "bench", "--memory-quota", "256MB")
    identity = json.loads(rotifer(folder, "info", "bench", "--json"))["geneIdV2"]
    as_gene = rotifer(folder, "token", "create", "--gene", identity, "--agent", "bench").strip()
    alice = rotifer(folder, "token", "create", "--actor", "alice").strip()
    service = start(folder, stack, [*ROTIFER, "serve"])
    bare = start(folder, stack, [sys.executable, os.path.join(HERE, "_bare_service.py")])
    memory = "/agents/bench/memory/"
    note = {"layer": "about_me", "actor": "alice", "content": "@C @N"}
    calls = {
        BARE: (bare, "/write", "", WRITE),
        "write of a gene, durable": (service, memory + "write", as_gene, WRITE),
        "read of a gene": (service, memory + "read", as_gene, {"key": "bench/1/1"}),
        "write to a layer, durable": (service, "/memory", alice, note),
    }
    names = ("port", "path", "token", "body")
    return {
        what: {**dict(zip(names, call, strict=True)), "clients": CLIENTS}
        for what, call in calls.items()
    }


def rotifer(folder: str, *words: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        [*ROTIFER, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return done.stdout


def start(folder: str, stack: ExitStack, command: list[str]) -> int:
    """Start a server, to be ended with the stack; its port, which it prints."""
    process = stack.enter_context(
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    return int(process.stdout.readline().rpartition(":")[2].strip())


def load(plan: dict[str, Any]) -> dict[str, Any]:
    """Let the clients send; what came of it."""
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "_http_load.py")],
        input=json.dumps(plan),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(rounds: list[dict[str, dict[str, Any]]]) -> bool:
    """Print the table, save the figures, and give whether the floor was kept."""
    names = list(rounds[0])
    rates = {name: median(one[name]["rate"] for one in rounds) for name in names}
    ratios = {
        name: median(one[name]["rate"] / one[BARE]["rate"] for one in rounds) for name in names
    }
    rows = []
    wrong = 0
    for name in names:
        wrong += sum(
            count
            for one in rounds
            for status, count in one[name]["statuses"].items()
            if status not in {"200", "201"}
        )
        times = [median(one[name][part] * 1000 for one in rounds) for part in ("median", "p99")]
        rows.append(
            (name, f"{rates[name]:,.0f}", *(f"{t:,.0f}" for t in times), f"{ratios[name]:.2f}")
        )
    table(
        f"The HTTP service: {CLIENTS} clients",
        ["call", "a second", "median ms", "p99 ms", "to the bare endpoint"],
        rows,
    )
    print()
    kept = wrong == 0
    print(
        f"  answers that were no success: {wrong:,}, none wanted: {'kept' if kept else 'NOT KEPT'}"
    )
    for name in names:
        if name != BARE:
            good = ratios[name] >= FLOOR
            kept &= good
            print(
                f"  {name} / bare endpoint: {ratios[name]:.2f}, at least {FLOOR:.2f}: "
                f"{'kept' if good else 'NOT KEPT'}"
            )
    save("service", {"rates": rates, "ratios": ratios})
    return kept


if __name__ == "__main__":
    sys.exit(main())
