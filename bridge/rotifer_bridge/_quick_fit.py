"""A quick yes for values that plainly fit a plain schema.

The library is the authority on JSON Schema, and 25 ms to import. Most schemas of genes say only
types, properties and what is required, and most values fit: for these, and only these, a yes can be
given without it. A no is never given here; everything uncertain goes to the library.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_plain", "surely_fits"]

# Words that demand nothing. ``format`` is not among them: the library judges it.
_INFINITE = float("inf")
_SILENT = frozenset({
    "$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "readOnly",
    "title", "writeOnly",
})  # fmt: skip
_JUDGED = frozenset({"enum", "items", "properties", "required", "type"})
# Lower and upper bounds: of numbers, of the characters of a text, of the items of a list.
_BOUNDS: tuple[tuple[str, str, tuple[type, ...]], ...] = (
    ("minimum", "maximum", (int, float)),
    ("minLength", "maxLength", (str,)),
    ("minItems", "maxItems", (list,)),
)
_BOUNDING = frozenset(word for low, high, _ in _BOUNDS for word in (low, high))
_PLAIN = _SILENT | _JUDGED | _BOUNDING

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def is_plain(schema: object) -> bool:
    """Whether the quick check knows every word of this schema, so that it may well answer yes."""
    if schema is True:
        return True
    if not isinstance(schema, dict) or not _PLAIN.issuperset(schema):
        return False
    properties = schema.get("properties", {})
    return (
        isinstance(properties, dict)
        and all(map(is_plain, properties.values()))
        and is_plain(schema.get("items", True))
    )


def surely_fits(schema: Any, value: Any) -> bool:
    """True only when the value fits for certain; False says nothing."""
    if schema is True:
        return True
    if not isinstance(schema, dict) or not _PLAIN.issuperset(schema):
        return False
    kind = schema.get("type")
    if kind is not None and not _is_of(kind, value):
        return False
    options = schema.get("enum")
    if options is not None and not (isinstance(value, str) and _among(value, options)):
        return False
    # Twice in every run: most schemas have no bounds.
    if not _BOUNDING.isdisjoint(schema) and not all(
        _is_within(schema, value, *bounds) for bounds in _BOUNDS
    ):
        return False
    if isinstance(value, dict):
        required = schema.get("required", ())
        if not isinstance(required, (list, tuple)) or not all(key in value for key in required):
            return False
        properties = schema.get("properties", {})
        return isinstance(properties, dict) and all(
            surely_fits(inner, value[key]) for key, inner in properties.items() if key in value
        )
    if isinstance(value, list):
        inner = schema.get("items", True)
        return all(surely_fits(inner, item) for item in value)
    return True


def _is_of(kind: object, value: object) -> bool:
    if isinstance(kind, list):
        return any(_is_of(one, value) for one in kind)
    if not isinstance(kind, str) or kind not in _TYPES:
        return False
    # A bool is an int to Python, never to JSON.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _is_within(
    schema: dict[str, Any], value: Any, low: str, high: str, kinds: tuple[type, ...]
) -> bool:
    if not (low in schema or high in schema):
        return True
    least, most = schema.get(low, -_INFINITE), schema.get(high, _INFINITE)
    if not (isinstance(least, (int, float)) and isinstance(most, (int, float))):
        return False
    if not isinstance(value, kinds) or isinstance(value, bool):
        return True
    if isinstance(value, str) and not value.isascii():
        return False  # what a character is, and whether it is well-formed, the library knows
    size: Any = len(value) if isinstance(value, (str, list)) else value
    return bool(least <= size <= most)


def _among(value: str, options: object) -> bool:
    return isinstance(options, list) and value in options
