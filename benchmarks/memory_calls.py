"""What a memory call costs, beside what it cannot do without, all in the same run.

Prints medians and 99th percentiles in microseconds, and ratios; machines are noisy, ratios less so.
The rounds take turns, and of each figure the median over the rounds is given.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from statistics import median

from _fill import copies
from _project import bench_project
from _tables import Limit, judged, percentile, save, table, typical
from _yardsticks import RIVALS, durable, echo, rival, selected, upserts

from rotifer_bridge import Agent, Project

SIZES = {"100 B": 100, "10 KB": 10_240, "1 MiB": 1_048_576}
COUNTS = {"100 B": 3_000, "10 KB": 1_000, "1 MiB": 100}
ENTRIES = 1_000
ROWS = "1,000 x 1 KB"

Samples = dict[tuple[str, str], list[list[float]]]
"""``(what, of what size) -> one list of microseconds a round``."""


def main() -> int:
    """Measure, print, and say by the exit code whether the limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--entries", type=int, default=1_000_000, help="of the large memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
        samples = measure(bench_project(folder), folder, options.rounds, options.entries)
    limits, figures = report(samples)
    kept = judged(limits)
    save("memory_calls", figures)
    return 0 if kept else 1


class Gene:
    """The gene that measures, in one agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def times(self, call: str, *, count: int, **more: int) -> list[float]:
        """Microseconds of so many calls."""
        result = self.agent.run({"call": call, "count": count, **more}, time_limit=600)
        times: list[float] = result.output
        return times


def measure(project: Project, folder: str, rounds: int, entries: int) -> Samples:
    """Everything, in turns."""
    samples: Samples = {}

    def add(what: str, size: str, times: list[float] | None) -> None:
        if times is not None:
            samples.setdefault((what, size), []).append(times)

    filled(project, "thousand", ENTRIES)
    filled(project, "million", entries)
    with (
        project.agent("bench") as agent,
        project.agent("thousand") as thousand,
        project.agent("million") as million,
    ):
        call = Gene(agent).times
        call("fill", size=1_024, count=ENTRIES)
        for _ in range(rounds):
            for name, size in SIZES.items():
                count = COUNTS[name]
                add("plain socket echo", name, echo("plain", size, count))
                add("bare pynng echo", name, echo("nng", size, count))
                add("readMemory", name, call("read", size=size, count=count))
                add("fdatasync + SQLite FULL upsert", name, durable(folder, size, count // 5))
                add("writeMemory", name, call("write", size=size, count=count // 5))
            add(
                "readMemory, one of 1,000",
                "100 B",
                Gene(thousand).times("any", count=2_000, among=ENTRIES),
            )
            add(LARGE, "100 B", Gene(million).times("any", count=2_000, among=entries))
            with busy_thread():
                add(
                    "readMemory, a busy thread beside it",
                    "100 B",
                    call("read", size=100, count=500),
                )
            add("queryMemory", ROWS, call("query", count=60))
            add("bare pynng echo", ROWS, echo("nng", ENTRIES * 1_024, 60))
            database = os.path.join(folder, ".rotifer", "playground.db")
            add(
                "SQLite's own select",
                ROWS,
                selected(database, agent.record.id, b"bench/fill/", ENTRIES, 60),
            )
            for other in RIVALS:
                add(other, "100 B", rival(other, folder, 100, 5 if other == "sync-rpc" else 300))
            writes, reads = upserts(folder, 100, 300)
            add("Python's sqlite3 read", "100 B", reads)
            add("Python's sqlite3 upsert", "100 B", writes)
    return samples


LARGE = "readMemory, one of the large memory"


def filled(project: Project, name: str, count: int) -> None:
    """Give an agent so many entries of 100 bytes."""
    with project.agent(name) as agent:
        Gene(agent).times("model", size=100, count=1)
        path = os.path.join(project.root, ".rotifer", "playground.db")
        agent_id = agent.record.id
    copies(path, agent_id, count)


class busy_thread:  # noqa: N801 - reads as what it is: `with busy_thread():`
    """A thread of the supervisor that computes all the while."""

    def __enter__(self) -> None:
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.spin)
        self.thread.start()

    def spin(self) -> None:
        """Compute until it is over."""
        while not self.over.is_set():
            for _ in range(10_000):
                pass

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        self.thread.join()


def report(samples: Samples) -> tuple[list[Limit], dict[str, float]]:
    """Print the table; the limits, and all medians."""
    medians = {key: typical(rounds) for key, rounds in samples.items()}
    sizes = list(dict.fromkeys(size for _, size in medians))
    rows = [
        (
            what,
            size,
            f"{value:,.0f}",
            f"{typical(samples[what, size], 0.99):,.0f}",
            f"{value / medians['bare pynng echo', size]:.2f}",
        )
        for (what, size), value in sorted(medians.items(), key=lambda item: sizes.index(item[0][1]))
    ]
    table(
        "Memory calls from a gene (µs)", ["call", "value", "median", "p99", "to pynng echo"], rows
    )

    def ratio(what: str, size: str, per: Callable[[int], float]) -> float:
        """The median over the rounds of a ratio whose two sides were measured in one round."""
        each = [percentile(times, 0.5) for times in samples[what, size]]
        return median(value / per(number) for number, value in enumerate(each))

    def of(what: str, size: str) -> Callable[[int], float]:
        return lambda number: percentile(samples[what, size][number], 0.5)

    def synced(size: str, number: int) -> float:
        return of("fdatasync + SQLite FULL upsert", size)(number)

    bare = {size: of("bare pynng echo", size) for size in sizes}
    select = of("SQLite's own select", ROWS)
    read = samples["readMemory", "100 B"]
    tail = median(percentile(times, 0.99) / percentile(times, 0.5) for times in read)
    limits = [
        Limit(
            "readMemory 100 B / bare pynng echo", ratio("readMemory", "100 B", bare["100 B"]), 1.25
        ),
        Limit("readMemory 100 B, p99 / its own median", tail, 3.0),
        Limit(
            "readMemory, one of a million (--short: 50,000) / one of 1,000",
            ratio(LARGE, "100 B", of("readMemory, one of 1,000", "100 B")),
            1.15,
        ),
        Limit(
            "writeMemory 100 B / (echo + 1.3 x synced line and upsert)",
            ratio("writeMemory", "100 B", lambda n: bare["100 B"](n) + 1.3 * synced("100 B", n)),
            1.0,
        ),
        Limit(
            "readMemory 1 MiB / bare pynng echo of it",
            ratio("readMemory", "1 MiB", bare["1 MiB"]),
            1.8,
        ),
        Limit(
            # SQLite alone takes several echoes for a durable MiB: no part of the bridge.
            "writeMemory 1 MiB / (echo of it + synced line and upsert of it)",
            ratio("writeMemory", "1 MiB", lambda n: bare["1 MiB"](n) + synced("1 MiB", n)),
            1.8,
        ),
        Limit(
            "queryMemory 1,000 x 1 KB / (SQLite's select + echo)",
            ratio("queryMemory", ROWS, lambda n: select(n) + bare[ROWS](n)),
            2.0,
        ),
        Limit(
            "readMemory beside a busy thread / alone",
            ratio("readMemory, a busy thread beside it", "100 B", of("readMemory", "100 B")),
            2.0,
        ),
    ]
    return limits, {f"{what} {size}": value for (what, size), value in medians.items()}


if __name__ == "__main__":
    sys.exit(main())
