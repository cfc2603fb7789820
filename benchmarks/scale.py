"""Whether a memory of a million entries is as quick as one of a thousand.

Prints the medians of both in microseconds and their ratios, how long opening takes, and how much
memory a list of all entries needs. The two memories take turns, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

from _fill import copies, key_of
from _tables import percentile, save, table

from rotifer_engine import AgentMemory, AuditLog, Caller, SqliteStore, Telemetry

AGENT = "7c4a8d09-ca37-42a8-9fd1-000000000001"
GENE = Caller("v2:" + "a" * 64, "code.format")
VALUE = bytes(100)
LIMIT = 1.5  # how many times slower the large one may be


class Bench:
    """One memory with so many entries.

    Args:
        folder: where its files are.
        count: how many.
        durable: as the product is; False to see what is left without the disk.
    """

    def __init__(self, folder: str, count: int, *, durable: bool) -> None:
        self.state = os.path.join(folder, f"{count}")
        self.count = count
        self.durable = durable
        os.mkdir(self.state)
        self.path = os.path.join(self.state, "playground.db")
        self.store, self.memory = self.open()
        self.fill()
        self.store.close()
        self.store, self.memory = self.open()
        self.random = random.Random(count)
        self.made = 0

    def open(self) -> tuple[SqliteStore, AgentMemory]:
        """Open it anew."""
        store = SqliteStore(self.path, durable=self.durable)
        memory = AgentMemory(
            store,
            AGENT,
            quota_bytes=2**40,
            audit=AuditLog(os.path.join(self.state, "audit.jsonl")),
            telemetry=Telemetry(os.path.join(self.state, "telemetry.jsonl")),
        )
        return store, memory

    def fill(self) -> None:
        """Write one entry, and copy it many times."""
        self.memory.write(GENE, "model", VALUE, "CACHE")
        self.store.close()
        copies(self.path, AGENT, self.count)

    def any_key(self) -> str:
        """The key of one of them."""
        return key_of(self.random.randrange(self.count))

    # ---- what is measured

    def read(self) -> None:
        """Any entry."""
        self.memory.read(GENE, self.any_key())

    def overwrite(self) -> None:
        """Any entry, with a value of the same size."""
        self.memory.write(GENE, self.any_key(), VALUE, "CONTEXT")

    def create(self) -> None:
        """One more entry."""
        self.made += 1
        self.memory.write(GENE, f"new/{self.made}", VALUE, "CONTEXT")

    def delete(self) -> None:
        """The entry made last."""
        self.memory.delete(GENE, f"new/{self.made}")
        self.made -= 1

    def query(self) -> None:
        """The hundred most recent ones."""
        self.memory.query(GENE)

    def query_category(self) -> None:
        """The same of one category."""
        self.memory.query(GENE, {"category": "PATTERN"})

    def query_prefix(self) -> None:
        """The same of two hundred with a prefix."""
        group = self.random.randrange(self.count // 200)
        self.memory.query(GENE, {"keyPrefix": f"group{group:04}/"})

    def query_all_prefix(self) -> None:
        """The same of a prefix that nearly all have."""
        self.memory.query(GENE, {"keyPrefix": "group"})

    def usage(self) -> None:
        """The bytes of all entries."""
        self.memory.usage()

    def opening(self) -> None:
        """Open the files anew, read one entry, close them."""
        store, memory = self.open()
        memory.read(GENE, self.any_key())
        store.close()

    def listing(self) -> tuple[float, float]:
        """Seconds for all entries, and how many MiB of Python's memory that took at most."""
        start = time.perf_counter()
        seen = sum(1 for _ in self.memory.list())
        seconds = time.perf_counter() - start
        assert seen >= self.count
        tracemalloc.start()
        for _ in self.memory.list():
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return seconds, peak / 2**20


COUNTS: dict[str, int] = {
    "read": 2_000,
    "overwrite": 300,
    "create": 300,
    "delete": 300,
    "query": 100,
    "query_category": 100,
    "query_prefix": 100,
    "query_all_prefix": 100,
    "usage": 500,
    "opening": 60,
}


def timed(call: Callable[[], object], count: int) -> list[float]:
    """Microseconds of each of so many calls."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def main() -> int:
    """Measure, print, and say by the exit code whether the limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--folder", help="on which disk; the system's temporary folder if not given"
    )
    parser.add_argument("--not-durable", action="store_true", help="do not wait for the disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rotifer-scale-", dir=options.folder) as folder:
        start = time.perf_counter()
        durable = not options.not_durable
        both = [Bench(folder, count, durable=durable) for count in (1_000, options.entries)]
        print(f"filled in {time.perf_counter() - start:.0f} s")
        samples: dict[tuple[str, int], list[list[float]]] = {}
        for _ in range(options.rounds):
            for name, count in COUNTS.items():
                for bench in both:
                    times = timed(getattr(bench, name), count)
                    samples.setdefault((name, bench.count), []).append(times)
        seconds, grown = both[1].listing()
    figures = {
        name: [median(percentile(times, 0.5) for times in samples[name, b.count]) for b in both]
        for name in COUNTS
    }
    table(
        "Medians (µs)",
        ["call", "1,000 entries", f"{options.entries:,} entries", "ratio"],
        [
            (name, f"{small:,.0f}", f"{large:,.0f}", f"{large / small:.2f}")
            for name, (small, large) in figures.items()
        ],
    )
    print(f"\n  list of all: {seconds:.1f} s; at most {grown:.1f} MiB at once")
    save("scale", {**figures, "list seconds": seconds, "list MiB": grown})
    return max(large / small for small, large in figures.values()) > LIMIT


if __name__ == "__main__":
    sys.exit(main())
