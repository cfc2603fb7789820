"""The quick parts of the standard library do what the slow ones do (design §5a)."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import queue
import sqlite3
import subprocess
import sys
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_engine import _dbapi, quick

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


def test_a_named_tuple_that_typing_would_refuse():
    """A default before a field without one, a second base, a constructor: refused here, too."""
    annotations = {"__annotations__": {"a": "int", "b": "int"}, "__module__": __name__}
    for more, bases in (({"a": 1}, ()), ({}, (str,)), ({"__new__": None}, ())):
        with pytest.raises(TypeError):
            type(quick.NamedTuple)("Bad", (quick.NamedTuple, *bases), {**annotations, **more})


@pytest.mark.parametrize(
    "text",
    [
        r'"\ud800"', r'"\ud83d\ude00 \udc00"', '{"a": 1, "a": 2}', "1" + "0" * 4_000, "[1e400, -1e400, -0, 1e-400]",
        "\ufeff1", "1\0", "\u00a01", "[NaN, Infinity]", "1" * 5_000,
    ],
)  # fmt: skip
def test_odd_texts(text):
    """The same value as `json` gives, or the same kind of error with the same words."""
    outcomes = []
    for read in (json.JSONDecoder().decode, quick.loads):
        try:
            outcomes.append(repr(read(text)))
        except ValueError as error:
            outcomes.append((type(error), str(error)))

    assert outcomes[0] == outcomes[1]


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
    asked = []
    with pytest.raises(ValueError, match="no NaN"):
        quick.decoder(parse_constant=_refuse, parse_int=asked.append)("[1, NaN]")
    assert ["1"] == asked  # what was read up to there was read once
    hooks = {"parse_int": str, "parse_float": repr, "parse_constant": len, "object_pairs_hook": tuple}  # fmt: skip
    text = '{"a": [1, 2.5, NaN, -Infinity], "a": {}}'

    assert json.JSONDecoder(**hooks).decode(text) == quick.decoder(**hooks)(text)
    with pytest.raises(ValueError, match="no NaN"):
        quick.decoder(parse_constant=_refuse)("[NaN]")


def _refuse(name: str) -> None:
    raise ValueError(f"no {name}")


def test_another_python(monkeypatch):
    """Without CPython's parts, it is the modules of the standard library themselves."""
    for name in ("_json", "_queue", "_sha2", "_sha256", "_sqlite3"):
        monkeypatch.setitem(sys.modules, name, None)
    other, database = another(quick), another(_dbapi)

    assert [1, {"a": None}] == other.loads(' [1, {"a": null}]\n')
    assert '[1,{"a":null}]' == other.dumps([1, {"a": None}])
    assert hashlib.sha256(b"x").digest() == other.sha256(b"x").digest()
    assert queue.SimpleQueue is other.SimpleQueue
    assert sqlite3 is database.sqlite3


def another(module):
    """The module, executed anew."""
    specification = importlib.util.spec_from_file_location("another", module.__file__)
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


FRESH = """
import sys
from rotifer_engine import quick
told = []
for text in sys.argv[1:]:
    for name in [name for name in sys.modules if name == "json" or name.startswith("json.")]:
        del sys.modules[name]
    try:
        quick.loads(text)
    except ValueError as error:
        told.append(str(error))
import json
print(json.dumps(told))
"""


def test_what_is_wrong_where_json_was_not_imported_before():
    """The parts of `json` need the whole of it to tell of a mistake: it is there in time."""
    texts = ['{"a": 1', '{"a" 1}', '{"a": "x', "[1 2", "[1,]", "{'a': 1}", "", "nul", "1 2", r'"\x"', '"\t"']  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", FRESH, *texts], capture_output=True, text=True, check=True
    )
    expected = []
    for text in texts:
        with pytest.raises(json.JSONDecodeError) as caught:
            json.loads(text)
        expected.append(str(caught.value))

    assert expected == json.loads(done.stdout)
