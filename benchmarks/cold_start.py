"""What a cold ``rotifer agent run`` costs, beside ``node`` running the same ``.ts`` file.

The two take turns; the figures are wall-clock milliseconds of whole processes, and their ratio.
"""

from __future__ import annotations

import argparse
import compileall
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

from _project import bench_project
from _tables import Limit, judged, percentile, save, table

import rotifer_bridge
import rotifer_engine
import rotifer_shim
from rotifer_bridge._node import find_node

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, os.pardir, "examples", "formatter", "genes", "formatter")
INPUT = {"code": "f(\nx\n)", "indent": 4}

# What `node` runs: the same gene, with a memory that holds nothing.
ALONE = """
import { express } from './index.ts';
const memory = { readMemory: () => null, writeMemory: () => null };
process.stdout.write(JSON.stringify(express(%s, { memory })));
"""


def main() -> int:
    """Measure, print, and say by the exit code whether the limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
        limits, figures = report(measure(folder, runs))
    kept = judged(limits)
    save("cold_start", figures)
    return 0 if kept else 1


def compiled() -> None:
    """Compile the packages to bytecode, as installing a wheel does: not what is measured here."""
    for package in (rotifer_bridge, rotifer_engine, rotifer_shim):
        for folder in package.__path__:
            compileall.compile_dir(folder, quiet=1)


def measure(folder: str, runs: int) -> dict[str, list[float]]:
    """``what -> milliseconds of each run``."""
    compiled()
    gene = os.path.join(folder, "genes", "formatter")
    shutil.copytree(EXAMPLE, gene)
    with open(os.path.join(folder, "rotifer.json"), "w", encoding="utf-8") as file:
        file.write('{"name": "bench"}')
    rotifer = os.path.join(os.path.dirname(sys.executable), "rotifer")
    run([rotifer, "wrap", "formatter"], folder)
    run([rotifer, "agent", "create", "bench", "-g", "formatter"], folder)

    alone = os.path.join(folder, "alone")
    shutil.copytree(EXAMPLE, alone)
    main_file = os.path.join(alone, "main.ts")
    index = os.path.join(alone, "index.ts")
    with open(main_file, "w", encoding="utf-8") as file:
        file.write(ALONE % json.dumps(INPUT))
    with open(index, encoding="utf-8") as file:
        text = file.read()
    with open(index, "w", encoding="utf-8") as file:
        file.write(text.replace('"./reindent"', '"./reindent.ts"'))  # node wants the extension
    node = find_node(None).path

    agent_run = [rotifer, "agent", "run", "bench", "--json", "--input", json.dumps(INPUT)]
    cache = os.path.join(folder, ".rotifer", "cache")
    samples: dict[str, list[float]] = {}

    def timed(what: str, command: list[str], where: str = folder) -> None:
        samples.setdefault(what, []).append(run(command, where))

    several = os.path.join(folder, "several")
    bench_project(several)
    one, five = ([rotifer, "agent", "run", name, "--json"] for name in ("one", "five"))

    for command in (agent_run, [node, main_file], [sys.executable, "-c", "pass"]):
        run(command, folder)
    for command in (one, five):
        run(command, several)
    for _ in range(runs):
        timed("node gene.ts (type stripping)", [node, main_file])
        timed("rotifer agent run, gene seen before", agent_run)
        for kept in glob.glob(os.path.join(cache, "*.ready")):
            os.unlink(kept)
        timed("rotifer agent run, gene new", agent_run)
        timed("rotifer agent run, an idle gene", one, several)
        timed("rotifer agent run, five of them in a Seq", five, several)
        timed("node, empty script", [node, "-e", "0"])
        samples.setdefault("node, five empty scripts at once", []).append(at_once(node, 5))
        timed("python, empty script", [sys.executable, "-c", "pass"])
    return samples


def run(command: list[str], folder: str) -> float:
    """Milliseconds of one whole process, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1e3


def at_once(node: str, count: int) -> float:
    """Milliseconds until so many Nodes with nothing to do have ended: no Seq is faster."""
    start = time.perf_counter()
    started = [subprocess.Popen([node, "-e", "0"]) for _ in range(count)]
    for process in started:
        process.wait()
    return (time.perf_counter() - start) * 1e3


def report(samples: dict[str, list[float]]) -> tuple[list[Limit], dict[str, float]]:
    """Print the table; the limits, and all medians."""
    figures = {what: median(times) for what, times in samples.items()}
    node = figures["node gene.ts (type stripping)"]
    table(
        "Cold start (ms)",
        ["command", "median", "p90", "to node gene.ts"],
        [
            (what, f"{median(s):.1f}", f"{percentile(s, 0.9):.1f}", f"{median(s) / node:.2f}")
            for what, s in samples.items()
        ],
    )

    def ratio(what: str, per: str) -> float:
        """Of times that were taken one after the other."""
        return median(a / b for a, b in zip(samples[what], samples[per], strict=True))

    of_node = "node gene.ts (type stripping)"
    one = "rotifer agent run, an idle gene"
    return [
        Limit(
            "cold run, gene seen / node gene.ts",
            ratio("rotifer agent run, gene seen before", of_node),
            1.0,
        ),
        Limit(
            "cold run, gene new / node gene.ts", ratio("rotifer agent run, gene new", of_node), 1.8
        ),
        Limit(
            "cold run of five genes / of one",
            ratio("rotifer agent run, five of them in a Seq", one),
            1.5,
        ),
    ], figures


if __name__ == "__main__":
    sys.exit(main())
