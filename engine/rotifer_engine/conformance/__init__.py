"""The conformance suite: the rules of the memory as cases that every store and door must pass.

``check(store_factory)`` plays them against a store through Python and gives a :class:`Report`. The
command ``rotifer conformance`` plays them through every door.
"""

from __future__ import annotations

from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._judge import Difference
from rotifer_engine.conformance._report import Cell, Failed, Report, Unequal
from rotifer_engine.conformance._suite import SCENARIOS, cases, check, scenario

__all__ = [
    "SCENARIOS",
    "Case",
    "Cell",
    "Difference",
    "Failed",
    "Report",
    "Unequal",
    "cases",
    "check",
    "scenario",
]
