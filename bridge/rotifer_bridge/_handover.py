"""Whether one gene's output can be the next one's input, judged by their schemas alone.

A structural look at the top level, as the reference takes it: it warns of what cannot work and
says nothing of what may. Values are judged when the agent runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from rotifer_bridge._gene import Gene
from rotifer_bridge._names import shown

__all__ = ["handover_warnings", "mismatches"]


def handover_warnings(genes: Iterable[Gene]) -> list[str]:
    """One line for every pair of neighbors whose schemas cannot fit together."""
    return [
        f"{before.name} -> {after.name}: {', '.join(found)}"
        for before, after in pairwise(genes)
        if (found := mismatches(before.phenotype["outputSchema"], after.phenotype["inputSchema"]))
    ]


def mismatches(output: Any, demanded: Any) -> list[str]:
    """What the second schema demands of an object that the first one does not promise."""
    if not isinstance(output, dict) or not isinstance(demanded, dict):
        return []
    if not _compatible(output.get("type"), demanded.get("type")):
        return [f"the output is {_words(output)}, the input {_words(demanded)}"]
    promised = output.get("properties")
    if not isinstance(promised, dict):
        return []  # an open schema: unchecked, not wrong
    required = demanded.get("required", [])
    found = [
        f"{shown(field)} is required and not in the output"
        for field in (required if isinstance(required, list) else [])
        if isinstance(field, str) and field not in promised
    ]
    wanted = demanded.get("properties")
    for field, schema in wanted.items() if isinstance(wanted, dict) else ():
        given = promised.get(field)
        if not isinstance(given, dict) or not isinstance(schema, dict):
            continue
        if not _compatible(given.get("type"), schema.get("type")):
            found.append(f"{shown(field)} is {_words(given)}, wanted {_words(schema)}")
    return found


def _compatible(given: object, wanted: object) -> bool:
    """Whether any type that is given is one that is wanted; saying nothing is anything."""
    given_types, wanted_types = _types(given), _types(wanted)
    if not given_types or not wanted_types:
        return True
    if "number" in wanted_types:
        wanted_types = wanted_types | {"integer"}
    return bool(given_types & wanted_types)


def _types(kind: object) -> frozenset[str]:
    if isinstance(kind, str):
        return frozenset({kind})
    return (
        frozenset(one for one in kind if isinstance(one, str))
        if isinstance(kind, list)
        else frozenset()
    )


def _words(schema: dict[str, Any]) -> str:
    return " or ".join(sorted(_types(schema.get("type"))))
