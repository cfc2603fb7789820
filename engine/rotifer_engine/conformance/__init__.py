"""The conformance suite: the rules of the memory as cases that every store and door must pass.

``check(store_factory)`` plays them against a store through Python and gives a :class:`Report`. The
command ``rotifer conformance`` plays them through every door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._door import Door, PythonDoor, deploy
from rotifer_engine.conformance._judge import Difference
from rotifer_engine.conformance._layer_door import ask_layers, with_actors
from rotifer_engine.conformance._report import Cell, Failed, Report, Unequal, explain
from rotifer_engine.conformance._stage import Part, Stage
from rotifer_engine.conformance._steps import DOMAINS, NOBODY, Step
from rotifer_engine.conformance._suite import (
    SCENARIOS,
    cases,
    check,
    check_case,
    run_cell,
    scenario,
)
from rotifer_engine.conformance._values import instant

if TYPE_CHECKING:
    from rotifer_engine.conformance._postgres import postgres_stage

__all__ = [
    "DOMAINS",
    "NOBODY",
    "SCENARIOS",
    "Case",
    "Cell",
    "Difference",
    "Door",
    "Failed",
    "Part",
    "PythonDoor",
    "Report",
    "Stage",
    "Step",
    "Unequal",
    "ask_layers",
    "cases",
    "check",
    "check_case",
    "deploy",
    "explain",
    "instant",
    "postgres_stage",
    "run_cell",
    "scenario",
    "with_actors",
]


def __getattr__(name: str) -> object:
    """Load what needs PostgreSQL's driver when it is first used."""
    if name != "postgres_stage":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rotifer_engine.conformance._postgres import postgres_stage

    return postgres_stage
