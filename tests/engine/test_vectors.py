"""The vectors shared with the shim (tests/vectors), asked of the engine by its public calls."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_engine import InvalidInput, decode_value, parse_quota, parse_time, perform

FOLDER = os.path.join(os.path.dirname(__file__), "..", "vectors")


def vectors(name):
    """One file of vectors."""
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="ascii") as file:
        return json.load(file)


def each(name, verdict):
    """The accepted or the refused vectors of a file, as parameters with their reasons for names."""
    found = vectors(name)[verdict]
    return pytest.mark.parametrize("vector", found, ids=[vector["why"] for vector in found])


def text(value):
    """A text that may be given as parts to repeat, or what is no text as it is."""
    return "".join(part * times for part, times in value) if isinstance(value, list) else value


def number(value):
    """A number that JSON may not be able to write."""
    return float(value["number"]) if isinstance(value, dict) else value


def blob(parts):
    """Bytes given as parts to repeat."""
    return b"".join(bytes.fromhex(part) * times for part, times in parts)


def refused(vector, call):
    """The call is refused, with the words that the vector wants."""
    with pytest.raises(InvalidInput) as caught:
        call()
    assert vector.get("says", "") in caught.value.message


@each("keys", "accept")
def test_accepted_keys(world, a, vector):
    """The key comes back as it was given from each call, and counts its bytes."""
    key = text(vector["text"])
    written = world.memory.write(a, key, b"", "CACHE")

    assert vector["bytes"] == world.memory.usage()
    assert [key] * 4 == [
        written.key,
        world.memory.read(a, key).key,
        world.memory.query(a, {"keyPrefix": key})[0].key,
        next(world.memory.list()).key,
    ]
    world.memory.delete(a, key)


@each("keys", "refuse")
def test_refused_keys(world, a, vector):
    """Each call that takes a key refuses it, and nothing is recorded."""
    key = text(vector["text"])
    for call in (
        lambda: world.memory.read(a, key),
        lambda: world.memory.write(a, key, b"", "CACHE"),
        lambda: world.memory.delete(a, key),
        lambda: world.memory.delete_key(key),
    ):
        refused(vector, call)

    assert [] == world.lines()


def test_accepted_keys_are_all_different(world, a):
    """No two are taken for one: nothing is folded, normalized or cut."""
    keys = [text(vector["text"]) for vector in vectors("keys")["accept"]]
    for key in keys:
        world.memory.write(a, key, b"", "CACHE")

    assert sorted(keys, key=str.encode) == world.keys()
    assert len(keys) == len({entry.entry_id for entry in world.memory.query(a)})


@pytest.fixture
def full(world, a):
    """A memory with the keys that the prefixes are about."""
    for key in vectors("prefixes")["keys"]:
        world.memory.write(a, key, b"", "CACHE")
    return world.memory


def test_accepted_prefixes(full, a):
    """A prefix finds the keys that begin with its bytes, and no others."""
    for vector in vectors("prefixes")["accept"]:
        found = full.query(a, {"keyPrefix": text(vector["prefix"])})
        keys = sorted((entry.key for entry in found), key=str.encode)
        assert vector["matches"] == keys, vector["why"]


@each("prefixes", "refuse")
def test_refused_prefixes(world, a, vector):
    """What has no bytes is no prefix."""
    refused(vector, lambda: world.memory.query(a, {"keyPrefix": vector["prefix"]}))


@each("values", "accept")
def test_accepted_values(world, a, vector):
    """The bytes come back as they were given, from each call that has them."""
    value = blob(vector["hex"])
    assert vector["bytes"] == len(value)
    written = world.memory.write(a, "k", value, "CACHE")

    assert (value == written.value) is True  # no megabyte in a message
    assert (value == world.memory.read(a, "k").value) is True
    assert (value == world.memory.query(a)[0].value) is True
    assert (value == decode_value(written.to_json()["value"])) is True


@each("values", "refuse")
def test_refused_values(world, a, vector):
    """Too many bytes are refused, not cut."""
    refused(vector, lambda: world.memory.write(a, "k", blob(vector["hex"]), "CACHE"))

    assert [] == world.lines()


@each("base64", "accept")
def test_accepted_base64(world, a, vector):
    """The text stands for these bytes, and an entry of them prints this text."""
    value = decode_value(vector["text"])
    entry = perform(world.memory, a, "write", {"key": "k", "category": "CACHE"}, value)

    assert bytes.fromhex(vector["hex"]) == entry.value
    assert vector["text"] == entry.to_json()["value"]


@each("base64", "refuse")
def test_refused_base64(vector):
    """Only the one text that encoding gives is accepted."""
    refused(vector, lambda: decode_value(vector["text"]))


def filter_with(vector, *fields):
    """A filter with the vector's fields, those that it has."""
    return {name: number(vector[name]) for name in fields if name in vector}


def test_accepted_limits(world, a):
    """A query gives so many, and the most recent ones."""
    for index in range(1_001):
        world.memory.write(a, f"{index}", b"", "CACHE")
    for vector in vectors("limits")["accept"]:
        found = world.memory.query(a, filter_with(vector, "limit"))
        expected = [f"{1_000 - index}" for index in range(vector["is"])]
        assert expected == [entry.key for entry in found], vector["why"]


@each("limits", "refuse")
def test_refused_limits(world, a, vector):
    """Anything but an integer of 1 to 1,000 is refused, never clamped."""
    refused(vector, lambda: world.memory.query(a, filter_with(vector, "limit")))


@each("quotas", "accept")
def test_accepted_quotas(vector):
    """The text is so many bytes, exactly."""
    assert vector["bytes"] == parse_quota(text(vector["text"]))


@each("quotas", "refuse")
def test_refused_quotas(vector):
    """No quota is guessed."""
    refused(vector, lambda: parse_quota(text(vector["text"])))


@each("times", "accept")
def test_accepted_times(world, a, vector):
    """As a bound, since takes the entry of that very millisecond and until leaves it out."""
    assert vector["ms"] == parse_time(vector["text"])
    bound = vector.get("bound", vector["ms"])
    for when, key in ((bound, "at"), (bound - 1, "before")):
        world.clock.now = when
        world.memory.write(a, key, b"", "CACHE")

    def found(name):
        return [entry.key for entry in world.memory.query(a, {name: vector["text"]})]

    assert (["at"], ["before"]) == (found("since"), found("until"))


@each("times", "refuse")
@pytest.mark.parametrize("bound", ["since", "until"])
def test_refused_times(world, a, vector, bound):
    """What RFC 3339 does not have is refused for both bounds."""
    refused(vector, lambda: world.memory.query(a, {bound: vector["text"]}))
    refused(vector, lambda: parse_time(vector["text"]))


@pytest.mark.parametrize("name", ["keys", "prefixes", "values", "base64", "limits", "quotas", "times"])  # fmt: skip
def test_every_vector_says_why(name):
    """Each has its decision in words, and no two of a list are the same."""
    found = vectors(name)
    for verdict in ("accept", "refuse"):
        bare = [json.dumps({**v, "why": None}, sort_keys=True) for v in found[verdict]]
        assert len(bare) == len(set(bare))
        assert all(vector["why"] for vector in found[verdict])
