"""Generated inputs: the one of the checks, and the seeded ones."""

from __future__ import annotations

import pytest

from rotifer_bridge._sample import generated_input, generated_inputs
from rotifer_bridge._schema import faults


def test_the_input_of_the_checks():
    """First enum value, else the default, else by type, else null; required or not."""
    schema = {
        "type": "object",
        "properties": {
            "enum": {"enum": ["b", "a"], "default": "a"},
            "default": {"type": "string", "default": "d"},
            "text": {"type": "string"},
            "middle": {"type": "number", "minimum": 2, "maximum": 5},
            "number": {"type": "integer"},
            "flag": {"type": "boolean"},
            "list": {"type": "array"},
            "object": {"type": "object"},
            "any": {},
        },
    }

    assert {
        "enum": "b",
        "default": "d",
        "text": "test_value",
        "middle": 3,
        "number": 1,
        "flag": True,
        "list": [],
        "object": {},
        "any": None,
    } == generated_input(schema)


@pytest.mark.parametrize("schema", [True, {}, {"type": "object"}])
def test_an_open_schema(schema):
    """An empty object."""
    assert {} == generated_input(schema)


def test_an_input_that_does_not_fit_is_replaced():
    """1 is under the minimum: the first of the generator's that fits is taken."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}}

    assert [] == faults(schema, generated_input(schema))


SCHEMAS = [
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "integer", "minimum": 10, "multipleOf": 7, "maximum": 30},
    {"type": "integer", "maximum": -5},
    {"type": "string", "minLength": 3, "maxLength": 5},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True},
    {"anyOf": [{"type": "string"}, {"const": 5}]},
    {"oneOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]},
    {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "string"}}}]},
    {"type": ["string", "null"]},
    {"type": "string", "format": "email"},
    {"$ref": "#/definitions/tree", "definitions": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/definitions/tree"}, "value": {"type": "integer"}}, "required": ["value"]}}},
    True,
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_generated_inputs_fit_and_repeat(schema):
    """As many as asked for, all fitting, the same for the same seed."""
    found = generated_inputs(schema, 30, 5)

    assert 30 == len(found)
    assert not [value for value in found if faults(schema, value)]
    assert found == generated_inputs(schema, 30, 5)


ENDLESS = {"type": "object", "properties": {"c": {"$ref": "#"}}, "required": ["c"]}
ENDLESS_ITEMS = {"type": "array", "minItems": 1, "items": {"$ref": "#"}}
VAST = {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 900}}


@pytest.mark.parametrize(
    "schema",
    [False, {"type": "string", "pattern": "^x{3}y{9}$"}, ENDLESS, ENDLESS_ITEMS, VAST],
)
def test_what_cannot_be_met(schema):
    """No input, and an end: also where the schema asks for one that has none."""
    assert [] == generated_inputs(schema, 5, 1)
    assert faults(schema, generated_input(schema))


def test_a_schema_that_refers_to_itself_widely():
    """What is not required is left out once an input is large, so it does not grow without end."""
    schema = {"type": "object", "properties": {f"p{n}": {"$ref": "#"} for n in range(50)}}
    found = generated_inputs(schema, 3, 1)

    assert 3 == len(found)
    assert max(len(repr(value)) for value in found) < 50_000


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (10**350, 3 * 10**350, 2 * 10**350),
        (1.5e308, 1.5e308, int(1.5e308)),
        (-1.5e308, 10**350, (10**350 - int(1.5e308)) // 2),
        (-3, 0, -2),
        (0.5, 4.5, 2),
    ],
)
def test_bounds_beyond_a_float(low, high, middle):
    """The middle is a number all the same, and inputs are made."""
    schema = {"type": "object", "properties": {"n": {"minimum": low, "maximum": high, "type": "number"}}, "required": ["n"]}  # fmt: skip

    assert {"n": middle} == generated_input(schema)
    assert 5 == len(generated_inputs(schema, 5, 1))


def test_inputs_differ():
    """A property over one value would prove little."""
    found = generated_inputs({"type": "integer"}, 20, 1)

    assert min(found) < 0 < max(found)
