"""All cases, and playing them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cache

from rotifer_engine._store import Store
from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._door import Door, PythonDoor
from rotifer_engine.conformance._judge import differences
from rotifer_engine.conformance._play import play
from rotifer_engine.conformance._report import Cell, Failed, Report
from rotifer_engine.conformance._stage import Stage

__all__ = ["SCENARIOS", "cases", "check", "check_case", "run_cell", "scenario"]

#: The scenarios, and the modules that their cases stand in.
SCENARIOS: dict[str, tuple[str, ...]] = {
    "main": (
        "_entry_cases",
        "_access_cases",
        "_call_cases",
        "_filter_cases",
        "_query_cases",
        "_quota_cases",
        "_record_cases",
        "_layer_cases",
    ),
    "expiry": ("_expiry_cases", "_purge_cases"),
}


@cache
def scenario(name: str) -> tuple[Case, ...]:
    """The cases of one scenario, in order."""
    from importlib import import_module

    found: list[Case] = []
    for module in SCENARIOS[name]:
        found += import_module(f"rotifer_engine.conformance.{module}").CASES
    return tuple(found)


def cases() -> tuple[Case, ...]:
    """The cases of all scenarios, in order; no two have one name."""
    return tuple(case for name in SCENARIOS for case in scenario(name))


def check(
    store_factory: Callable[[], Store], *, name: str = "store", only: Iterable[Case] | None = None
) -> Report:
    """Play every case against a store, through Python.

    Args:
        store_factory: opens the store; called once. The store is closed at the end. Agents that
            are in it already are left alone; those of the cases stay in it.
        name: what the store is called in the report.
        only: the cases to play; None: all.

    Returns:
        What came of it; it is never an error of this function that a case fails.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rotifer-conformance-"))
        store = store_factory()
        stack.callback(store.close)
        stage = Stage(store, folder)
        stack.callback(stage.close)
        chosen = cases() if only is None else tuple(only)
        return Report((run_cell(PythonDoor(), stage, name, chosen),))


def check_case(case: Case, store: Store) -> Cell:
    """Play one case against a store that is open, through Python; what came of it."""
    with tempfile.TemporaryDirectory(prefix="rotifer-conformance-") as folder:
        stage = Stage(store, folder)
        try:
            return run_cell(PythonDoor(), stage, "store", [case])
        finally:
            stage.close()


def run_cell(door: Door, stage: Stage, store: str, chosen: Sequence[Case]) -> Cell:
    """Play cases through one door on one store."""
    failed, beyond, stories = [], [], {}
    layered = False
    for case in chosen:
        reason = case.not_through.get(door.name)
        if reason is None and case.is_of_layers:
            reason = stage.why_no_layers()
            layered = layered or reason is None
        if reason is not None:
            beyond.append((case, reason))
            continue
        played = play(case, door, stage)
        stories[case.name] = played.comparable()
        found = tuple(differences(case, played))
        if found:
            failed.append(Failed(case, found))
    if layered:
        stage.clear_layers()
    total = len(stories)
    return Cell(door.name, store, total - len(failed), total, tuple(failed), tuple(beyond), stories)
