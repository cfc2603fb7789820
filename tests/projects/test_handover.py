"""Whether one gene's output can be the next one's input."""

from __future__ import annotations

import pytest

from rotifer_bridge._handover import mismatches


def of(**properties):
    """An object schema with these property types."""
    return {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
    }


@pytest.mark.parametrize(
    ("output", "demanded", "expected"),
    [
        (of(a="string"), {**of(a="string"), "required": ["a"]}, []),
        (of(a="integer"), of(a="number"), []),
        (of(a="number"), of(a="integer"), ["'a' is number, wanted integer"]),
        (of(a=["string", "null"]), of(a="string"), []),
        (of(a="null"), of(a=["string", "number"]), ["'a' is null, wanted number or string"]),
        (of(a="string"), {"required": ["a", "b"]}, ["'b' is required and not in the output"]),
        ({"type": "object"}, {**of(a="string"), "required": ["a"]}, []),
        ({"type": "string"}, {"type": "object"}, ["the output is string, the input object"]),
        ({}, {"type": "object", "required": ["a"]}, []),
        (True, {"required": ["a"]}, []),
        (of(), False, []),
        (of(a="string"), {"required": "a", "properties": [], "type": 3}, []),
        ({"properties": {"a": True}}, of(a="string"), []),
    ],
)
def test_mismatches(output, demanded, expected):
    """What cannot work is named; what is open is not."""
    assert expected == mismatches(output, demanded)
