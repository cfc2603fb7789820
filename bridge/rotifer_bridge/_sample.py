"""Inputs that nobody wrote: that of the checks, and the seeded ones of the property (projects §5).

The generator **[ours]** knows the plain words of JSON Schema (types, bounds, enum, const,
properties, required, items, anyOf, oneOf, allOf, local references). What it makes is judged by the
schema like any input, so a word that it does not know costs tries and never a wrong input.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any, TypeGuard

from rotifer_bridge._schema import faults

__all__ = ["generated_input", "generated_inputs"]

_TRIES = 50  # for each input
_DEPTH = 6  # deeper, only what is required is made
_PARTS = 500  # with more of them than this, too
_MOST_PARTS = 20_000  # of one input; a schema that asks for more cannot be met
_DEEPEST = 100  # a schema that requires itself has no end
_WORDS = ("", "a", "test", "Hello, world!", "line\nline", "ü€𝄞", '"quoted"', "0", "  ", "x" * 200)
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/path?query=1",
    "url": "https://example.com/path?query=1",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def generated_input(schema: object) -> Any:
    """The input of the checks: each property by its first enum value, its default, its type.

    Where that does not fit the schema, the first one of the seeded generator that does **[ours]**.
    """
    plain = _plain(schema)
    if not faults(schema, plain):
        return plain
    return next(iter(generated_inputs(schema, 1, 1)), plain)


def generated_inputs(schema: object, count: int, seed: int) -> list[Any]:
    """So many inputs that fit the schema; the same ones for the same seed.

    Returns:
        Fewer than asked for where the generator does not find its way through the schema.
    """
    random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
    maker = _Maker(schema, random)
    found: list[Any] = []
    tries = _TRIES
    while len(found) < count and tries:
        try:
            value = maker.whole()
        except _TooLargeError:
            tries -= 1
            continue
        if faults(schema, value):
            tries -= 1
        else:
            found.append(value)
            tries = _TRIES
    return found


def _plain(schema: object) -> Any:
    if not isinstance(schema, dict):
        return {}
    kind = schema.get("type", "object")
    if kind != "object":
        return _by_type(schema)
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: _by_type(inner) for name, inner in properties.items()}


def _by_type(schema: object) -> Any:
    if not isinstance(schema, dict):
        return None
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return options[0]
    if "default" in schema:
        return schema["default"]
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        kind = kind[0]
    if kind in {"number", "integer"}:
        low, high = schema.get("minimum"), schema.get("maximum")
        return _middle(low, high) if _is_number(low) and _is_number(high) else 1
    known = {"string": "test_value", "boolean": True, "array": [], "object": {}}
    return known.get(kind) if isinstance(kind, str) else None


def _middle(low: float, high: float) -> int:
    """The whole number in the middle; also of what is too large for a float, or in the sum."""
    if isinstance(low, int) and isinstance(high, int):
        return (low + high) // 2
    try:
        return math.floor((low + high) / 2)
    except OverflowError:
        return (math.floor(low) + math.floor(high)) // 2


class _TooLargeError(Exception):
    """The schema asks for a value that has no end, or none that is worth waiting for."""


class _Maker:
    """Makes values for a schema and the parts of it."""

    def __init__(self, root: object, random: Random) -> None:
        self._root = root
        self._random = random
        self._parts = 0  # that the value being made has so far

    def whole(self) -> Any:
        """A value that probably fits the schema.

        Raises:
            _TooLargeError: it would have too many parts, or too deep ones.
        """
        self._parts = 0
        return self.value(self._root, 0)

    def value(self, schema: object, depth: int) -> Any:
        """A value that probably fits this part of the schema."""
        random = self._random
        self._parts += 1
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            raise _TooLargeError
        if not isinstance(schema, dict):
            return None if depth > _DEPTH else random.choice((None, 1, "a", True, [], {}))
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        options = schema.get("enum")
        if isinstance(options, list) and options:
            return random.choice(options)
        for word in ("default", "examples"):
            if word in schema and random.random() < 0.1:
                examples = schema[word] if word == "examples" else [schema[word]]
                if isinstance(examples, list) and examples:
                    return random.choice(examples)
        kind = schema.get("type")
        if isinstance(kind, list) and kind:
            kind = random.choice(kind)
        if not isinstance(kind, str):
            kind = self._guessed(schema)
        make = getattr(self, f"_{kind}", None) if kind in _TYPES else None
        return None if make is None else make(schema, depth)

    def _guessed(self, schema: dict[str, Any]) -> str:
        if "properties" in schema or "required" in schema:
            return "object"
        if "items" in schema:
            return "array"
        if "pattern" in schema or "minLength" in schema or "format" in schema:
            return "string"
        if "minimum" in schema or "maximum" in schema:
            return "number"
        return self._random.choice(_TYPES)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with its reference followed, one alternative chosen and all demands joined."""
        for _ in range(_DEPTH * 2):
            reference = schema.get("$ref")
            if isinstance(reference, str):
                target = self._target(reference)
                rest = {word: inner for word, inner in schema.items() if word != "$ref"}
                schema = {**target, **rest}
                continue
            for word in ("anyOf", "oneOf", "allOf"):
                parts = schema.get(word)
                if not isinstance(parts, list) or not parts:
                    continue
                schema = {name: inner for name, inner in schema.items() if name != word}
                chosen = parts if word == "allOf" else [self._random.choice(parts)]
                for part in chosen:
                    schema = _joined(schema, part)
                break
            else:
                return schema
        return schema

    def _target(self, reference: str) -> dict[str, Any]:
        found = self._root
        if not reference.startswith("#"):
            return {}
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def _null(self, _schema: dict[str, Any], _depth: int) -> None:
        return None

    def _boolean(self, _schema: dict[str, Any], _depth: int) -> bool:
        return self._random.random() < 0.5

    def _integer(self, schema: dict[str, Any], _depth: int) -> int:
        low, high = _bounds(schema, 1)
        step = schema.get("multipleOf")
        if isinstance(step, int) and step > 0:
            return self._random.randint(-(-low // step), max(high // step, -(-low // step))) * step
        return self._random.choice((low, high, self._random.randint(low, max(low, high))))

    def _number(self, schema: dict[str, Any], depth: int) -> int | float:
        if "multipleOf" in schema or self._random.random() < 0.5:
            return self._integer(schema, depth)
        low, high = _bounds(schema, 0)
        try:
            return round(self._random.uniform(low, high), 3)
        except OverflowError:  # farther apart than a float can say
            return self._integer(schema, depth)

    def _string(self, schema: dict[str, Any], _depth: int) -> str:
        known = schema.get("format")
        if isinstance(known, str) and known in _FORMATS:
            return _FORMATS[known]
        text = self._random.choice(_WORDS)
        least, most = _sizes(schema, "minLength", "maxLength", 10_000)
        text += "".join(self._random.choice("abc xyz") for _ in range(least - len(text)))
        return text[:most]

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least, most = _sizes(schema, "minItems", "maxItems", 1_000)
        count = self._random.randint(least, min(most, least + 3)) if self._free(depth) else least
        inner = schema.get("items", True)
        if isinstance(inner, list):
            return [self.value(one, depth + 1) for one in inner[:most]]
        made = [self.value(inner, depth + 1) for _ in range(count)]
        if schema.get("uniqueItems"):
            made = [value for n, value in enumerate(made) if value not in made[:n]]
        return made

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        made = {}
        for name, inner in properties.items():
            if name in required or (self._free(depth) and self._random.random() < 0.7):
                made[name] = self.value(inner, depth + 1)
        for name in required:
            if isinstance(name, str) and name not in made:
                made[name] = self.value(schema.get("additionalProperties", True), depth + 1)
        return made

    def _free(self, depth: int) -> bool:
        """Whether there is room for what is not required."""
        return depth < _DEPTH and self._parts < _PARTS


def _joined(schema: dict[str, Any], part: object) -> dict[str, Any]:
    """Both demands as one schema, as far as the plain words go."""
    if not isinstance(part, dict):
        return schema
    joined = {**schema, **part}
    for word in ("properties",):
        both = schema.get(word), part.get(word)
        if all(isinstance(one, dict) for one in both):
            joined[word] = {**schema[word], **part[word]}
    both = schema.get("required"), part.get("required")
    if all(isinstance(one, list) for one in both):
        joined["required"] = [*schema["required"], *part["required"]]
    return joined


def _bounds(schema: dict[str, Any], margin: int) -> tuple[int, int]:
    """Whole numbers within the bounds; an exclusive one is kept away from by the margin."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = math.ceil(low) if _is_number(low) else None
    high = math.floor(high) if _is_number(high) else None
    if "exclusiveMinimum" in schema and low is not None:
        low += margin
    if "exclusiveMaximum" in schema and high is not None:
        high -= margin
    if low is None:
        if high is None:
            return -1_000, 1_000
        low = min(high - 1_000, 0)
    return low, max(low, low + 1_000 if high is None else high)


def _sizes(schema: dict[str, Any], low: str, high: str, bound: int) -> tuple[int, int]:
    least, most = schema.get(low), schema.get(high)
    least = min(int(least), bound) if _is_number(least) and least > 0 else 0
    most = min(int(most), bound) if _is_number(most) else bound
    return least, max(least, most)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
