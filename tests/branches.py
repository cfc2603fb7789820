"""Fail when too few branches of the engine are covered: ``branches.py REPORT.json LEAST``.

``--cov-fail-under`` counts lines too, and so would let branches go.
"""

from __future__ import annotations

import json
import sys


def main(report, least):
    """The verdict in words; the parts that are missing when it is not good enough."""
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    totals = found["totals"]
    covered = 100 * totals["covered_branches"] / totals["num_branches"]
    print(f"{covered:.1f} % of the engine's branches are covered; at least {least:g} % must be")
    if covered >= least:
        return 0
    for name, part in found["files"].items():
        for start, end in part["missing_branches"]:
            print(f"  {name}: line {start} never goes to {end}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
