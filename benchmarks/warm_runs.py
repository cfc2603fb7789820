"""What an agent that stays warm costs: time a run, memory a worker, and growth over many runs."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time

from _project import bench_project
from _tables import Limit, judged, save, table, typical
from _yardsticks import echo

from rotifer_bridge import Agent, Project
from rotifer_bridge._inmost import inmost

WORKERS = 100


def main() -> int:
    """Measure, print, and say by the exit code whether the limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100_000, help="to see growth over")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
        limits, figures = measure(bench_project(folder), options.rounds, options.runs)
    kept = judged(limits)
    save("warm_runs", figures)
    return 0 if kept else 1


def measure(project: Project, rounds: int, runs: int) -> tuple[list[Limit], dict[str, float]]:
    """Everything; prints its tables, and gives the limits and all figures."""
    samples: dict[str, list[list[float]]] = {"echo": [], "run": []}
    with project.agent("one") as agent:
        for _ in range(rounds):
            samples["echo"].append(echo("nng", 100, 2_000))
            samples["run"].append(timed(agent, 2_000))
        grown = growth(agent, runs)
    figures = {
        "agent.run() µs": typical(samples["run"]),
        "bare pynng echo µs": typical(samples["echo"]),
    }
    figures |= grown | memory(project)
    table(
        "Warm agents",
        ["figure", "value"],
        [(what, f"{value:,.1f}") for what, value in figures.items()],
    )
    per = sorted(
        typical([run]) / typical([bare])
        for run, bare in zip(samples["run"], samples["echo"], strict=True)
    )
    return [
        Limit("warm agent.run() / bare pynng echo", per[len(per) // 2], 2.5),
        Limit(
            f"supervisor's growth over {runs:,} runs, MiB", grown["supervisor's growth MiB"], 1.0
        ),
    ], figures


def timed(agent: Agent, count: int) -> list[float]:
    """Microseconds of each of so many runs of a gene that gives its input back."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        agent.run({})
        times.append((time.perf_counter() - start) * 1e6)
    return times[count // 5 :]


def growth(agent: Agent, runs: int) -> dict[str, float]:
    """MiB that both sides hold more after many runs than after a fifth of them."""
    [worker] = worker_pids(agent)
    for _ in range(runs // 5):
        agent.run({})
    gc.collect()
    before = own("self"), own(worker)
    for _ in range(runs - runs // 5):
        agent.run({})
    gc.collect()
    return {
        "supervisor's growth MiB": own("self") - before[0],
        "worker's growth MiB (V8 collects when it likes)": own(worker) - before[1],
    }


def memory(project: Project) -> dict[str, float]:
    """MiB of a supervisor of 100 warm workers, and of each of these."""
    before = held("self")
    agents = [project.agent("one") for _ in range(WORKERS)]
    try:
        for agent in agents:
            agent.run({})
        each = [held(pid) for agent in agents for pid in worker_pids(agent)]
        return {
            f"supervisor, MiB more for {WORKERS} warm workers": held("self") - before,
            "a worker's own MiB, and its share of what all have in common": sum(each) / len(each),
        }
    finally:
        for agent in agents:
            agent.close()


def worker_pids(agent: Agent) -> list[int]:
    """The Node processes of an agent."""
    return [inmost(runner.pid) for runner in agent._warm._runners.values()]  # type: ignore[attr-defined]  # noqa: SLF001


def held(process: int | str) -> float:
    """MiB of a process: its own, and its share of what it has in common with others (PSS)."""
    return _mebibytes(process, "Pss:")


def own(process: int | str) -> float:
    """MiB that are a process's own: its share of libraries grows when another program ends."""
    return _mebibytes(process, "Anonymous:")


def _mebibytes(process: int | str, what: str) -> float:
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        [line] = [line for line in file if line.startswith(what)]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
