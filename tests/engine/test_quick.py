"""The quick parts of the standard library do what the slow ones do (design §5a)."""

from __future__ import annotations

import hashlib
import json
import pickle
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_engine import quick

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


class Quick(quick.NamedTuple):
    """A pair."""

    name: str
    size: int = 3

    @property
    def twice(self) -> int:
        """A property reads the fields."""
        return self.size * 2

    def told(self) -> str:
        """And so does a method."""
        return f"{self.name}: {self.size}"


class Slow(typing.NamedTuple):
    """A pair."""

    name: str
    size: int = 3


def test_a_named_tuple_is_made_as_typing_makes_it():
    """Fields, defaults, names and documentation are those of `typing.NamedTuple`."""
    made, theirs = Quick("a"), Slow("a")

    assert theirs == made
    assert (6, "a: 3") == (made.twice, made.told())
    assert Slow._fields == Quick._fields
    assert Slow._field_defaults == Quick._field_defaults
    assert typing.get_type_hints(Slow) == typing.get_type_hints(Quick)
    assert (Slow.__doc__, __name__, Slow.__bases__) == (
        Quick.__doc__,
        Quick.__module__,
        Quick.__bases__,
    )
    assert "Quick(name='a', size=3)" == repr(made)
    assert Quick("b", 3) == made._replace(name="b")
    assert made == pickle.loads(pickle.dumps(made))
    assert not hasattr(made, "__dict__")
    with pytest.raises(TypeError, match="name"):
        Quick()


@pytest.mark.parametrize("size", [0, 1, 1000, quick._LARGE - 1, quick._LARGE, quick._LARGE + 1])
def test_digests(size):
    """A digest is hashlib's, on both sides of the size from where on hashlib makes it."""
    data = bytes(size)

    assert hashlib.sha256(data).digest() == quick.sha256(data).digest()


@given(VALUES)
def test_writing(value):
    """What is written is what `json` writes without white space."""
    assert json.dumps(value, separators=(",", ":")) == quick.dumps(value)


@given(VALUES, st.sampled_from(["", " ", "\n\t\r "]), st.sampled_from([None, 1, "\t"]))
def test_reading(value, around, indent):
    """What is read is what `json` reads, with white space in it and around it."""
    text = around + json.dumps(value, indent=indent) + around

    assert repr(json.loads(text)) == repr(quick.loads(text))


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", '"a', "1 2", "nul", "\v1", '{"a":1}}', '"\t"', '{"a" 1}', "\n\n x"])  # fmt: skip
def test_what_is_wrong_is_told_as_json_tells_it(text):
    """Message and place are those of `json`, in the text as it was given."""
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    with pytest.raises(json.JSONDecodeError) as ours:
        quick.loads(text)

    assert str(theirs.value) == str(ours.value)


def test_what_is_no_json_is_refused():
    """A cycle, another type, and a number that JSON has not, where it is to be strict."""
    cycle: list[object] = []
    cycle.append(cycle)
    strict = quick.encoder(allow_nan=False)

    for write, value, error in ((quick.dumps, cycle, ValueError), (quick.dumps, {1}, TypeError), (strict, float("nan"), ValueError)):  # fmt: skip
        for _ in range(2):
            with pytest.raises(error):
                write(value)
    assert "[1.5]" == strict([1.5])


def test_hooks():
    """The hooks of a decoder are asked as `json.JSONDecoder` asks them, and may refuse."""
    hooks = {"parse_int": str, "parse_float": repr, "parse_constant": len, "object_pairs_hook": tuple}  # fmt: skip
    text = '{"a": [1, 2.5, NaN, -Infinity], "a": {}}'

    assert json.JSONDecoder(**hooks).decode(text) == quick.decoder(**hooks)(text)
    with pytest.raises(ValueError, match="no NaN"):
        quick.decoder(parse_constant=_refuse)("[NaN]")


def _refuse(name: str) -> None:
    raise ValueError(f"no {name}")


def test_another_python(monkeypatch):
    """Without CPython's parts, it is the modules of the standard library themselves."""
    monkeypatch.setattr(quick, "make_scanner", None)
    monkeypatch.setattr(quick, "make_encoder", None)

    assert [1, {"a": None}] == quick.decoder()(' [1, {"a": null}]\n')
    assert '[1,{"a":null}]' == quick.encoder()([1, {"a": None}])
