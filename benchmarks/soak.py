"""A long run of everything: memory, descriptors, threads and children stay flat.

Warm runs and cold ones, genes that throw, exit, or run out of time, memory calls of every
kind, all in one process. The first part of the time is for caches to fill; then the figures are
taken each second, and the last third is held against the first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import closing, suppress
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge import Project, RotiferError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_bridge import Agent

WARM_UP = 0.3  # of the time
GROWTH = 12 * 1024 * 1024  # bytes of memory that allocators and the database's cache may vary by
TIME_LIMIT = 0.5  # seconds that the gene which loops has

GENE = """
export function express({ number, how }, { memory }) {
  if (how === 'throw') throw new Error(`number ${number}`);
  if (how === 'exit') process.exit(3);
  if (how === 'loop') for (;;);
  const key = `key/${number % 500}`;
  memory.writeMemory(key, new Uint8Array(100 + (number % 2000)), 'CACHE');
  const found = memory.readMemory(key);
  if (number % 10 === 0) memory.queryMemory({ keyPrefix: 'key/', limit: 50 });
  if (number % 7 === 0) memory.deleteMemory(key);
  console.log(`run ${number}`);
  return { size: found.value.length };
}
"""


class Sample(NamedTuple):
    """What the supervisor holds at one moment."""

    memory: int
    """Bytes that are resident."""
    descriptors: int
    threads: int
    children: int


def main(argv: list[str] | None = None) -> int:
    """Soak, print, and say by the exit code whether all stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1_800)
    seconds = parser.parse_args(argv).seconds
    with tempfile.TemporaryDirectory(prefix="rotifer-soak-") as folder:
        make_project(folder)
        samples, runs = soak(folder, seconds)
    return 0 if report(samples, runs) else 1


def make_project(folder: str) -> None:
    """A project with one gene and one agent."""
    gene = os.path.join(folder, "genes", "g")
    os.makedirs(gene)
    phenotype = {"domain": "soak", "inputSchema": {}, "outputSchema": {}, "version": "0.1.0"}
    files = {
        "rotifer.json": json.dumps({"name": "soak"}),
        "genes/g/phenotype.json": json.dumps(phenotype),
        "genes/g/.gene-manifest.json": json.dumps({"name": "g"}),
        "genes/g/index.ts": GENE,
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    with closing(Project(folder)) as project:
        project.create_agent("soak", ["g"], memory_quota="512KB")


def soak(folder: str, seconds: float) -> tuple[list[Sample], int]:
    """Run for so long; a sample a second once the warm-up is over, and how many runs there were."""
    started = time.monotonic()
    samples: list[Sample] = []
    number = 0
    due = started + seconds * WARM_UP
    with closing(Project(folder)) as project:
        while time.monotonic() - started < seconds:
            with project.agent("soak") as agent:
                for how, limit in round_of_runs():
                    number += 1
                    one(agent, number, how, limit)
            # Between two agents: no worker is there, and none is to be.
            if time.monotonic() >= due:
                samples.append(at_rest())
                due = time.monotonic() + min(1.0, seconds / 30)
    return samples, number


def round_of_runs() -> Iterator[tuple[str, float]]:
    """How each run of one agent ends, and its time limit: warm runs, and each kind of end."""
    for how in ("throw", "exit", "loop"):
        for _ in range(30):
            yield "well", 60.0
        yield how, TIME_LIMIT if how == "loop" else 60.0


def one(agent: Agent, number: int, how: str, limit: float) -> None:
    """One run; whether it ends by an error is the gene's part."""
    with suppress(RotiferError):
        agent.run({"number": number, "how": how}, time_limit=limit, on_log=lambda *_: None)


def at_rest() -> Sample:
    """What this process holds once the kernel has cleared away.

    It counts a joined thread for a moment still, and nng a closed socket's descriptor: the least
    that is seen within 0.2 s is what stays.
    """
    seen = []
    for _ in range(20):
        seen.append(sample())
        time.sleep(0.01)
    return Sample(*map(min, zip(*seen, strict=True)))


def sample() -> Sample:
    """What this process holds now."""
    with open("/proc/self/statm", "rb") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    children = 0
    threads = os.listdir("/proc/self/task")
    for name in threads:
        with suppress(OSError), open(f"/proc/self/task/{name}/children", "rb") as file:
            children += len(file.read().split())
    return Sample(memory, len(os.listdir("/proc/self/fd")), len(threads), children)


def report(samples: list[Sample], runs: int) -> bool:
    """Print the first and the last third side by side, and give whether they are the same."""
    third = len(samples) // 3
    if third == 0:
        print(f"{runs:,} runs; too few samples to compare: soak for longer")
        return False
    allowed = Sample(GROWTH, 0, 0, 0)
    flat = True
    print(f"{runs:,} runs, {len(samples):,} samples")
    for at, what in enumerate(Sample._fields):
        first = median(each[at] for each in samples[:third])
        last = median(each[at] for each in samples[-third:])
        kept = last - first <= allowed[at]
        flat = flat and kept
        print(f"  {what:<12} {first:>14,.0f} -> {last:>14,.0f}   {'flat' if kept else 'GROWS'}")
    return flat


if __name__ == "__main__":
    sys.exit(main())
