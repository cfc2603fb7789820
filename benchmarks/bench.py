"""The whole table in one run: memory calls, warm runs, cold runs, each beside its yardstick.

Exits with 1 if a limit was not kept; the figures are saved as JSON.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

import cold_start
import memory_calls
import warm_runs
from _project import bench_project
from _tables import judged, save


def main() -> int:
    """Measure, print, and say by the exit code whether the limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a minute, for a first impression")
    short = parser.parse_args().short
    rounds, entries, runs, cold = (2, 50_000, 5_000, 6) if short else (5, 1_000_000, 100_000, 25)
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
        cold_folder = os.path.join(folder, "cold")
        os.mkdir(cold_folder)
        limits, figures = cold_start.report(cold_start.measure(cold_folder, cold))
        project = bench_project(os.path.join(folder, "warm"))
        more, warm = warm_runs.measure(project, rounds, runs)
        calls, times = memory_calls.report(
            memory_calls.measure(project, project.root, rounds, entries)
        )
    limits = calls + limits + more
    kept = judged(limits)
    save(
        "bench",
        {
            "limits": [{**limit._asdict(), "kept": limit.kept} for limit in limits],
            "memory calls µs": times,
            "cold start ms": figures,
            "warm": warm,
        },
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
