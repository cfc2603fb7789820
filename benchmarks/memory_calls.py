"""What a memory call costs, beside a plain socket echo and a bare pynng echo in the same run.

Prints medians and 99th percentiles in microseconds, and ratios; machines are noisy, ratios less so.
The rounds take turns, and of each figure the median over the rounds is given.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

from _tables import percentile, save, table, verdict

from rotifer_bridge import Project
from rotifer_bridge._node import find_node

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"100 B": 100, "10 KB": 10_240, "1 MiB": 1_048_576}
COUNTS = {"100 B": 3_000, "10 KB": 1_500, "1 MiB": 100}
ENTRIES = 1_000
LIMIT = 1.6  # of a read, in echoes

GENE = """
export function express({ call, size, count }, { memory }) {
  const value = new Uint8Array(size).fill(97);
  const prefix = `bench/${size}/`;
  const calls = {
    fill: (i) => memory.writeMemory(`bench/fill/${i % 1000}`, value, 'CONTEXT'),
    read: () => memory.readMemory(`${prefix}0`),
    write: (i) => memory.writeMemory(`${prefix}${i % 10}`, value, 'CONTEXT'),
    query: () => memory.queryMemory({ keyPrefix: 'bench/fill/', limit: 1000 }),
  };
  if (call === 'read') calls.write(0);
  const times = [];
  for (let i = 0; i < count + count / 5; i += 1) {
    const start = process.hrtime.bigint();
    calls[call](i);
    if (i >= count / 5) times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return times;
}
"""


def main() -> int:
    """Measure, print, and say by the exit code whether the limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with (
        tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder,
        bench_project(folder).agent("bench") as agent,
    ):
        samples = measure(agent.run, folder, rounds)
    return 0 if report(samples) else 1


def bench_project(folder: str) -> Project:
    """A project with one agent of one JavaScript gene, which measures."""
    gene = os.path.join(folder, "genes", "bench")
    os.makedirs(gene)
    files = {
        os.path.join(folder, "rotifer.json"): '{"name": "bench"}',
        os.path.join(gene, "index.mjs"): GENE,
    }
    for path, text in files.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    rotifer = [sys.executable, "-m", "rotifer_bridge"]
    for arguments in (
        ["wrap", "bench", "-d", "bench"],
        ["agent", "create", "bench", "-g", "bench", "--memory-quota", "64MB"],
    ):
        subprocess.run([*rotifer, *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return Project.find(folder)


def measure(
    run: Callable[..., object], folder: str, rounds: int
) -> dict[tuple[str, str], list[list[float]]]:
    """``(what, size) -> one list of microseconds a round``."""
    samples: dict[tuple[str, str], list[list[float]]] = {}

    def bridge(call: str, size: int, count: int) -> list[float]:
        result = run({"call": call, "size": size, "count": count}, time_limit=600)
        times: list[float] = result.output  # type: ignore[attr-defined]
        return times

    bridge("fill", 1_024, ENTRIES)
    for _ in range(rounds):
        for name, size in SIZES.items():
            count = COUNTS[name]
            for what, sample in (
                ("plain socket echo", echo("plain", size, count)),
                ("bare pynng echo", echo("nng", size, count)),
                ("readMemory", bridge("read", size, count)),
                ("fdatasync + SQLite FULL upsert", durable(folder, size, count // 5)),
                ("writeMemory", bridge("write", size, count // 5)),
            ):
                samples.setdefault((what, name), []).append(sample)
        samples.setdefault(("queryMemory", "1,000 x 1 KB"), []).append(bridge("query", 0, 100))
        samples.setdefault(("bare pynng echo", "1,000 x 1 KB"), []).append(
            echo("nng", 1_000 * 1_024, 100)
        )
    return samples


def echo(kind: str, size: int, count: int) -> list[float]:
    """The yardsticks' microseconds a call."""
    node = find_node(None).path
    script = os.path.join(HERE, "_echo.py")
    done = subprocess.run(
        [sys.executable, script, node, kind, str(size), str(count)],
        stdout=subprocess.PIPE,
        check=True,
    )
    times: list[float] = json.loads(done.stdout)
    return times


def durable(folder: str, size: int, count: int) -> list[float]:
    """What a durable write cannot do without: one synced log line, one synced upsert."""
    database = sqlite3.connect(os.path.join(folder, "yardstick.db"), isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE IF NOT EXISTS t (k BLOB PRIMARY KEY, v BLOB) STRICT")
    log = os.open(os.path.join(folder, "yardstick.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    line = b"a" * 400 + b"\n"
    times = []
    for i in range(count):
        # Another value each time: SQLite writes and syncs nothing when a row stays as it is.
        value = b"%08d" % i + b"a" * (size - 8)
        start = time.perf_counter()
        database.execute("BEGIN IMMEDIATE")
        os.write(log, line)
        os.fdatasync(log)
        database.execute(
            "INSERT INTO t VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
            (b"%d" % (i % 10), value),
        )
        database.execute("COMMIT")
        times.append((time.perf_counter() - start) * 1e6)
    os.close(log)
    database.close()
    return times


def report(samples: dict[tuple[str, str], list[list[float]]]) -> bool:
    """Print the table, save the figures, and give whether the limit was kept."""
    medians = {key: median(percentile(s, 0.5) for s in rounds) for key, rounds in samples.items()}
    tails = {key: median(percentile(s, 0.99) for s in rounds) for key, rounds in samples.items()}
    rows = []
    for (what, size), value in medians.items():
        bare = medians["bare pynng echo", size]
        rows.append(
            (what, size, f"{value:,.0f}", f"{tails[what, size]:,.0f}", f"{value / bare:.2f}")
        )
    rows.sort(key=lambda row: list(dict.fromkeys(size for _, size in medians)).index(row[1]))
    table(
        "Memory calls from a gene (µs)",
        ["call", "value", "median", "p99", "to pynng echo"],
        rows,
    )
    floor = medians["bare pynng echo", "100 B"] + medians["fdatasync + SQLite FULL upsert", "100 B"]
    print(
        f"\n  writeMemory 100 B / (echo + synced upsert): "
        f"{medians['writeMemory', '100 B'] / floor:.2f}"
    )
    read = medians["readMemory", "100 B"] / medians["bare pynng echo", "100 B"]
    kept = verdict("readMemory 100 B / bare pynng echo", read, LIMIT)
    save("memory_calls", {f"{what} {size}": v for (what, size), v in medians.items()})
    return kept


if __name__ == "__main__":
    sys.exit(main())
