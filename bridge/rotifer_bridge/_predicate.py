"""What a Cond asks of its input: one field, one comparison (projects §4)."""

from __future__ import annotations

from rotifer_bridge._names import shown

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DEFAULT_PREDICATE", "PREDICATE_OPS", "holds", "predicate_fault", "same_json"]

# What a Cond asks when nobody says.
DEFAULT_PREDICATE = {"field": "type", "op": "Eq", "value": "primary"}

_ORDER = {
    "Gt": lambda one, other: one > other,
    "Lt": lambda one, other: one < other,
    "Gte": lambda one, other: one >= other,
    "Lte": lambda one, other: one <= other,
}
PREDICATE_OPS = ("Eq", "Neq", *_ORDER, "Contains")


def holds(predicate: dict[str, Any], given: Any) -> bool:
    """Whether an input is what the predicate asks for.

    A field that is not there, or an input that is no object, is never it, whatever the op: also
    not for ``Neq``. What an op cannot compare is not it either.

    Args:
        predicate: one without fault (`predicate_fault`); what it leaves out has a default.
        given: the input, as `parse_json` has it.
    """
    field = predicate.get("field", DEFAULT_PREDICATE["field"])
    if not isinstance(given, dict) or field not in given:
        return False
    found = given[field]
    wanted = _wanted(predicate)
    op = predicate.get("op", DEFAULT_PREDICATE["op"])
    if op == "Eq":
        return same_json(found, wanted)
    if op == "Neq":
        return not same_json(found, wanted)
    if op == "Contains":
        return isinstance(found, str) and isinstance(wanted, str) and wanted in found
    if not (_is_number(found) and _is_number(wanted)):
        return False
    return bool(_ORDER[op](found, wanted))


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, types included: 1, 1.0 and true are three values.

    The order of an object's keys is no difference.
    """
    # Not by recursion: an input may be nested as deep as the parser goes.
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            pairs.extend((value, right[name]) for name, value in left.items())
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def predicate_fault(predicate: object) -> str | None:
    """What is wrong with a predicate, if anything; every field of it has a default."""
    if not isinstance(predicate, dict):
        return "the predicate is not an object"
    if not isinstance(predicate.get("field", ""), str):
        return "the predicate's field is not a string"
    op = predicate.get("op", DEFAULT_PREDICATE["op"])
    if op not in PREDICATE_OPS:
        return f"the predicate's op {shown(op)} is none of {', '.join(PREDICATE_OPS)}"
    if {"value", "equals"} <= predicate.keys() and not same_json(
        predicate["value"], predicate["equals"]
    ):
        return "the predicate's value and equals differ; they are two names of one thing"
    return None


def _wanted(predicate: dict[str, Any]) -> Any:
    """What the field is compared with; the reference knows it by two names."""
    for name in ("value", "equals"):
        if name in predicate:
            return predicate[name]
    return DEFAULT_PREDICATE["value"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
