"""What the benchmarks share: percentiles, tables, and where their figures go."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

__all__ = ["Limit", "judged", "percentile", "save", "table", "typical"]

HERE = os.path.dirname(os.path.abspath(__file__))


def percentile(sample: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of the sample does not exceed."""
    ordered = sorted(sample)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: the first column to the left, figures to the right."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    print(f"\n{title}\n")
    for number, row in enumerate(cells):
        print(
            "  "
            + "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def save(name: str, figures: object) -> None:
    """Keep the run's figures as JSON beside the benchmarks (not under version control)."""
    folder = os.path.join(HERE, "results")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.json")
    document = {"machine": platform.machine(), "cpus": os.cpu_count(), "figures": figures}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
    print(f"\nsaved to {os.path.relpath(path)}")


class Limit(NamedTuple):
    """A ratio of two figures of one run, and what it may be at most."""

    what: str
    ratio: float
    limit: float

    @property
    def kept(self) -> bool:
        """Whether it is."""
        return self.ratio <= self.limit


def judged(limits: Sequence[Limit]) -> bool:
    """Print which limits are kept; whether all are."""
    table(
        "Limits",
        ["what", "ratio", "at most", ""],
        [
            (what, f"{ratio:.2f}", f"{limit:.2f}", "kept" if ratio <= limit else "NOT KEPT")
            for what, ratio, limit in limits
        ],
    )
    return all(limit.kept for limit in limits)


def typical(rounds: Sequence[Sequence[float]], share: float = 0.5) -> float:
    """The median over the rounds of a percentile of each: one bad moment does not decide."""
    return median(percentile(sample, share) for sample in rounds)
