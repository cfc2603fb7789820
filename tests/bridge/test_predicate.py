"""What a Cond asks of its input (projects §4)."""

from __future__ import annotations

import pytest

from rotifer_bridge._composition import parse_composition
from rotifer_bridge._json import parse_json
from rotifer_bridge._predicate import PREDICATE_OPS, holds, same_json
from rotifer_bridge.errors import AgentError

VALUES = ["null", "true", "false", "0", "1", "1.0", "1.5", '"1"', '"a"', "[]", "[1]", "[1.0]", "{}", '{"a":1}', '{"a":true}']  # fmt: skip


@pytest.mark.parametrize("one", VALUES)
def test_values_equal_themselves_alone(one):
    """Equality goes by JSON value and type: of the list, each is equal to itself only."""
    assert [one] == [other for other in VALUES if same_json(parse_json(one), parse_json(other))]


@pytest.mark.parametrize("one", VALUES)
def test_eq_and_neq_are_opposites_where_the_field_is_there(one):
    """Neq is what Eq is not, for every pair of values."""
    for other in VALUES:
        given = {"f": parse_json(one)}
        asked = {"field": "f", "value": parse_json(other)}

        assert (one == other) is holds({**asked, "op": "Eq"}, given)
        assert (one != other) is holds({**asked, "op": "Neq"}, given)


def test_the_order_of_keys_is_no_difference():
    """Objects are compared by their fields, at any depth."""
    assert same_json(parse_json('{"a":[{"b":1,"c":2}],"d":0}'), parse_json('{"d":0,"a":[{"c":2,"b":1}]}'))  # fmt: skip
    assert not same_json(parse_json('{"a":1}'), parse_json('{"a":1,"b":null}'))


def test_depth_is_no_matter():
    """Values nested as deep as the parser goes are compared without recursion."""
    deep = parse_json("[" * 500 + "]" * 500)
    one, other = deep, parse_json("[" * 500 + "1" + "]" * 500)
    for _ in range(100_000):
        one, other = [one], [other]

    assert not same_json(one, other)


@pytest.mark.parametrize("op", PREDICATE_OPS)
@pytest.mark.parametrize("given", [{}, {"other": "primary"}, [], "type", None, 5])
def test_a_missing_field_is_false_for_every_op(op, given):
    """Also for Neq, and also where the input is no object."""
    assert not holds({"op": op, "value": "primary"}, given)


ORDER = [
    ("Gt", 2, 1, True),
    ("Gt", 1, 1.0, False),
    ("Gte", 1, 1.0, True),
    ("Lt", 1.5, 2, True),
    ("Lte", 2, 2, True),
    ("Lte", 2.5, 2, False),
    ("Lt", -1, 0, True),
    ("Gt", 2**60 + 1, 2**60, True),
    ("Gt", True, 0, False),
    ("Gt", 1, False, False),
    ("Gt", "b", "a", False),
    ("Lt", None, 1, False),
    ("Contains", "abc", "b", True),
    ("Contains", "abc", "", True),
    ("Contains", "abc", "B", False),
    ("Contains", ["b"], "b", False),
    ("Contains", "1", 1, False),
    ("Contains", {"b": 1}, "b", False),
]


@pytest.mark.parametrize(("op", "found", "wanted", "expected"), ORDER)
def test_order_is_of_numbers_and_contains_of_strings(op, found, wanted, expected):
    """What an op cannot compare is false, never an error; true is no number."""
    got = holds({"field": "f", "op": op, "value": wanted}, {"f": found})

    assert expected is got


def test_the_defaults():
    """Field ``type``, op ``Eq``, value ``primary``; ``equals`` is another name of the value."""
    assert holds({}, {"type": "primary"})
    assert not holds({}, {"type": "other"})
    assert holds({"equals": 5}, {"type": 5})
    assert holds({"value": None}, {"type": None})
    assert not holds({"value": None}, {"type": "primary"})


BAD = {
    "an array": ([], "not an object"),
    "a field that is a number": ({"field": 5}, "field is not a string"),
    "an op that is none": ({"op": "Like"}, "'Like' is none of Eq, Neq, Gt, Lt, Gte, Lte, Contains"),
    "an op that is an array": ({"op": ["Eq"]}, "none of"),
    "two values": ({"value": 1, "equals": 1.0}, "differ"),
}


@pytest.mark.parametrize(("predicate", "why"), BAD.values(), ids=BAD)
def test_a_bad_predicate_is_refused_with_the_record(predicate, why):
    """The record cannot be read, and the message says what is wrong with the predicate."""
    with pytest.raises(AgentError, match=why):
        parse_composition({"type": "Cond", "predicate": predicate}, ["a", "b"], "record.json")
