"""What is too long, and what is no text."""

from __future__ import annotations

import pytest

from rotifer_engine import InvalidInput
from rotifer_engine._filter import MAX_ANSWER_BYTES
from rotifer_engine.layers import LIMITS
from rotifer_engine.layers._layers import DEFAULT_LIMIT

TEXTS = ("content", "key", "namespace", "actor", "session")


def save(layers, **fields):
    """A write of agent memory that has every text."""
    return layers.save(
        "agent_memory",
        fields.pop("content", "text"),
        **{"actor": "alice", "namespace": "n", "session": "s", "kind": "fact", **fields},
    )


@pytest.mark.parametrize("what", TEXTS)
def test_a_text_at_its_limit_is_kept_and_one_byte_more_is_refused(layers, what):
    """Limits are in bytes of UTF-8; the message has the figure and the limit."""
    limit = LIMITS[what]
    longest = "é" * (limit // 2)
    saved = save(layers, **{what: longest})
    assert longest == getattr(saved, what)

    with pytest.raises(
        InvalidInput, match=f"^{what} is {limit + 1:,} bytes; the limit is {limit:,}$"
    ):
        save(layers, **{what: longest + "x"})


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0b", "has a NUL character at position 1"),
        ("\ud800", r"is not well-formed Unicode: a lone surrogate U\+D800"),
        (7, "must be a string; got a number"),
        (["x"], "must be a string; got an array"),
        (b"x", "must be a string; got bytes"),
    ],
)
def test_what_is_no_text_is_refused(layers, cell, what, text, message):
    """By name, and never replaced by something near it."""
    with pytest.raises(InvalidInput, match=f"^{what} {message}"):
        save(layers, **{what: text})

    assert [] == cell.lines()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": ""}, "content is empty"),
        ({"content": None}, "content must be a string; got null"),
        ({"key": ""}, "key is empty; give it a name or leave it out"),
    ],
)
def test_what_must_not_be_empty(layers, fields, message):
    """There is nothing to remember, or no name."""
    with pytest.raises(InvalidInput, match=message):
        save(layers, **fields)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([], "metadata must be an object; got an array"),
        ("{}", "metadata must be an object; got a string"),
        ({"a": float("nan")}, "metadata is not JSON: .*float values"),
        ({"a": float("inf")}, "metadata is not JSON"),
        ({"a": "\udfff"}, "metadata is not JSON: .*surrogates"),
        ({"a": {1, 2}}, "metadata is not JSON: .*set"),
        ({"a": 10**5000}, "metadata is not JSON"),
        ({1: "a"}, "would not come back the same"),
        ({"a": (1,)}, "would not come back the same"),
    ],
)
def test_metadata_is_an_object_of_json(layers, metadata, message):
    """Whatever would come back as something else is refused."""
    with pytest.raises(InvalidInput, match=message):
        save(layers, metadata=metadata)


def test_metadata_as_deep_as_python_can_go_is_refused(layers):
    """No recursion error comes out."""
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="metadata is not JSON"):
        save(layers, metadata={"a": deep})


def test_metadata_at_its_limit(layers):
    """Its limit is that of its compact JSON."""
    limit = LIMITS["metadata"]
    longest = {"a": "x" * (limit - len('{"a":""}'))}
    assert longest == save(layers, metadata=longest).metadata

    with pytest.raises(InvalidInput, match=f"metadata is {limit + 1:,} bytes of JSON; the limit is {limit:,}"):  # fmt: skip
        save(layers, metadata={"a": longest["a"] + "x"})


def test_metadata_is_not_held_by_whoever_gave_it(layers):
    """What is changed afterwards is not changed in the entry."""
    given = {"a": [1]}
    saved = save(layers, metadata=given)
    given["a"].append(2)

    assert {"a": [1]} == saved.metadata == layers.list(actor="alice")[0].metadata


def test_the_largest_entries_of_a_page_fit_into_an_answer():
    """Nobody is told to narrow a filter that was not given."""
    largest = sum(LIMITS[what] for what in ("content", "key", "metadata"))

    assert DEFAULT_LIMIT * largest <= MAX_ANSWER_BYTES
