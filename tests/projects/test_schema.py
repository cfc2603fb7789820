"""JSON Schema: what fits, what does not and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotifer_bridge._quick_fit import is_plain, surely_fits
from rotifer_bridge._schema import check_schema, faults, needs_library
from rotifer_bridge.errors import GeneError

HELLO = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name"],
}


def test_fits():
    """A value that fits has no faults."""
    assert [] == faults(HELLO, {"name": "x", "n": 2})


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (HELLO, {}, [("$", '"name" is a required property')]),
        (HELLO, {"name": 3}, [("$.name", 'the value is not of type "string"')]),
        (HELLO, {"name": "x", "n": True}, [("$.n", 'the value is not of type "integer"')]),
        (
            {"items": {"properties": {"a b": {"type": "null"}}}},
            [{}, {"a b": "secret"}],
            [("$[1]['a b']", 'the value is not of type "null"')],
        ),
        (False, 1, [("$", "False schema does not allow the value")]),
        (
            {"type": "string", "minLength": 1},
            "\ud800",
            [("$", "some text or number in it is not well-formed Unicode")],
        ),
    ],
)
def test_faults_name_the_place(schema, value, expected):
    """Each fault has a JSON path; the value itself is not shown."""
    assert expected == [tuple(fault) for fault in faults(schema, value)]


def test_many_faults_are_cut():
    """A long list of wrong items is one mistake: twenty lines and a word that there are more."""
    found = faults({"items": {"type": "string"}}, list(range(1000)))

    assert 21 == len(found)
    assert "only the first 20" in found[-1].message


def test_control_characters_do_not_come_through():
    """A message can be printed on a terminal as it is."""
    (fault,) = faults({"additionalProperties": False}, {"\x1b[2J": 1})

    assert fault.message.isprintable()


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        (None, False),
        ("http://json-schema.org/draft-07/schema#", False),
        ("http://json-schema.org/draft-07/schema", False),
        ("https://json-schema.org/draft/2020-12/schema", True),
        ("http://example.com/my-own", False),
    ],
)
def test_the_draft_is_what_schema_says(declared, fits):
    """Lists in ``items`` mean something in draft-07 and nothing in 2020-12, where they are an error."""
    schema = {"items": [{"type": "string"}]}
    if declared:
        schema["$schema"] = declared
    if fits:
        with pytest.raises(GeneError, match="not a JSON Schema"):
            faults(schema, [1])
    else:
        assert "$[0]" == faults(schema, [1])[0].path


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            {"$ref": "http://127.0.0.1:1/x.json"},
            r"refers to 'http://127\.0\.0\.1:1/x\.json', outside itself",
        ),
        ({"properties": {"a": {"$ref": "https://example.com/s"}}}, "outside itself"),
        ({"$ref": "file:///etc/passwd"}, "outside itself"),
        ({"$ref": "other.json"}, "outside itself"),
        ({"$ref": "#/definitions/none"}, "refers to what it lacks"),
        ({"type": "strin"}, r"at \$\.type"),
        ({"properties": {"a": 3}}, r"at \$\.properties\.a"),
        ({"pattern": "("}, r"at \$\.pattern"),
        ({"const": "\ud800"}, "cannot be read"),
        ([], "an object or a boolean"),
    ],
)
def test_schemas_that_cannot_be_used(schema, words):
    """A bad schema is a message with its place; a remote reference is never fetched."""
    with pytest.raises(GeneError, match=words) as caught:
        check_schema(schema, where="phenotype.json")

    assert "phenotype.json" == caught.value.where


def test_a_reference_inside_is_followed():
    """What the schema brings along itself is used."""
    schema = {"$ref": "#/definitions/n", "definitions": {"n": {"type": "number"}}}

    assert [] == faults(schema, 1)
    assert 1 == len(faults(schema, "x"))


def test_deep_values_are_judged():
    """A value nested beyond Python's own recursion is no crash."""
    value = []
    for _ in range(3000):
        value = [value]

    assert [] == faults({"items": {"$ref": "#"}}, value)
    assert [] == faults({"type": "array"}, value)


@pytest.mark.parametrize(
    "schema",
    [True, {}, {"type": "object"}, {"type": "object", "properties": {}, "required": []}, HELLO],
)
def test_plain_schemas_do_not_need_the_library(schema):
    """What `wrap` and `init` write is judged without it."""
    assert not needs_library(schema)


@pytest.mark.parametrize(
    "schema", [False, {"pattern": "x"}, {"properties": {"a": {"$ref": "#"}}}, {"items": [{}]}]
)
def test_others_do(schema):
    """One word the quick check does not know is enough."""
    assert needs_library(schema)


def test_the_library_stays_away_while_it_is_not_needed():
    """Twenty-five milliseconds are not spent on a value that plainly fits."""
    code = (
        "import sys; from rotifer_bridge._schema import faults;"
        f"assert not faults({HELLO!r}, {{'name': 'x'}});"
        "assert 'jsonschema_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


plain_types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
plain_schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": plain_types | st.lists(plain_types, min_size=1, unique=True),
            "minimum": st.integers(-1, 1) | st.floats(-1, 1),
            "maximum": st.integers(-1, 1) | st.floats(-1, 1),
            "minLength": st.integers(0, 1),
            "maxLength": st.integers(0, 1),
            "minItems": st.integers(0, 1),
            "maxItems": st.integers(0, 1),
        },
    )
    | st.fixed_dictionaries(
        {"enum": st.lists(st.text(max_size=1) | st.integers(0, 2), min_size=1, unique=True)}
    )
    | st.just(True),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": plain_types,
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "required": st.lists(st.sampled_from("ab"), unique=True),
            "items": inner,
        },
    ),
    max_leaves=5,
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.floats(-1, 2)
    | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=500, deadline=None)
@given(plain_schemas, values)
def test_a_quick_yes_is_never_wrong(schema, value):
    """Whenever the quick check says yes, the library says so too."""
    import jsonschema_rs

    assert is_plain(schema) or json.dumps(schema)
    if surely_fits(schema, value):
        assert jsonschema_rs.Draft7Validator(schema).is_valid(value)
