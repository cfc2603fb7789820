"""How the genes of an agent are put together (projects §4): the composition object of a record."""

from __future__ import annotations

from collections.abc import Sequence

from rotifer_bridge._names import shown
from rotifer_bridge._predicate import DEFAULT_PREDICATE, predicate_fault
from rotifer_bridge.errors import AgentError, UsageError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

    Composition = dict[str, Any]

__all__ = ["COMPOSITIONS", "MERGES", "composition_type", "make_composition", "parse_composition"]


COMPOSITIONS = ("Seq", "Par", "Cond", "Try", "TryPool")
MERGES = ("first", "concat", "merge")


def make_composition(
    kind: str,
    genome: Sequence[str],
    *,
    merge: str = "first",
    predicate: dict[str, Any] | None = None,
) -> Composition:
    """The composition object of a new agent. Fewer than two genes are always ``Single``.

    Raises:
        UsageError: no such composition or merge.
    """
    if kind not in (*COMPOSITIONS, "Single"):
        raise UsageError(
            f"{shown(kind)} is not a composition", help=f"use one of {', '.join(COMPOSITIONS)}"
        )
    if merge not in MERGES:
        raise UsageError(f"{shown(merge)} is not a merge", help=f"use one of {', '.join(MERGES)}")
    if len(genome) < 2:
        return {"type": "Single"}
    if kind == "Par":
        return {"type": "Par", "branches": list(genome), "merge": merge}
    if kind == "Cond":
        return {
            "type": "Cond",
            "predicate": predicate or dict(DEFAULT_PREDICATE),
            "thenBranch": genome[0],
            "elseBranch": genome[1],
        }
    if kind == "Try":
        return {"type": "Try", "primary": genome[0], "fallback": genome[1]}
    return {"type": "Seq" if kind == "Single" else kind}


def parse_composition(value: object, genome: Sequence[str], where: str) -> Composition:
    """The composition of a record, as an object; a bare word and none at all are accepted.

    Raises:
        AgentError: it is none that we know.
    """
    if value is None:
        value = "Seq" if len(genome) >= 2 else "Single"
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, dict):
        raise AgentError("the composition is not an object", where=where, help=_REMEDY)
    kind = value.get("type")
    if kind not in (*COMPOSITIONS, "Single"):
        raise AgentError(
            f"{shown(kind)} is not a composition",
            where=where,
            help=f"use one of {', '.join(COMPOSITIONS)}",
        )
    if kind == "Par" and value.get("merge", "first") not in MERGES:
        raise AgentError(
            f"{shown(value['merge'])} is not a merge",
            where=where,
            help=f"use one of {', '.join(MERGES)}",
        )
    if kind == "Cond":
        fault = predicate_fault(value.get("predicate", {}))
        if fault:
            raise AgentError(fault, where=where, help=_REMEDY)
    return value


def composition_type(composition: Composition) -> str:
    """The word for people and for ``--json``."""
    kind = composition["type"]
    assert isinstance(kind, str)
    return kind


_REMEDY = "correct the record by hand, or create the agent anew"
