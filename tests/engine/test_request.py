"""Requests with the field names of the memory page."""

from __future__ import annotations

import pytest

from rotifer_engine import AccessPolicy, InvalidInput, RetentionPolicy, perform

ACCESS = {"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"}
RETENTION = {
    "maxRetentionDays": 5,
    "autoDeleteOnTermination": False,
    "anonymizationSupported": False,
}


def test_the_four_calls(world, a):
    """Each request does what the call does and answers the same."""
    written = perform(world.memory, a, "write", {"key": "k", "category": "CACHE"}, b"v")

    assert written == perform(world.memory, a, "read", {"key": "k"})
    assert written == perform(world.memory, a, "read", {"key": "k", "category": "CACHE"})
    assert perform(world.memory, a, "read", {"key": "k", "category": "PATTERN"}) is None
    assert [written] == perform(world.memory, a, "query", {"keyPrefix": "k", "limit": 1})
    assert [written] == perform(world.memory, a, "query", {})
    assert perform(world.memory, a, "delete", {"key": "k"}) is None
    assert [] == world.keys()


def test_policies_and_null(world, a):
    """A policy is set, kept when absent, and taken off by null."""
    request = {"key": "k", "category": "CACHE"}
    entry = perform(
        world.memory,
        a,
        "write",
        {**request, "accessPolicy": ACCESS, "retentionPolicy": RETENTION},
        b"",
    )
    assert (AccessPolicy.parse(ACCESS), RetentionPolicy.parse(RETENTION)) == entry[9:11]
    assert entry[9:11] == perform(world.memory, a, "write", request, b"")[9:11]
    assert (
        perform(
            world.memory, a, "write", {**request, "retentionPolicy": None}, b""
        ).retention_policy
        is None
    )


@pytest.mark.parametrize(
    ("op", "request_", "message"),
    [
        ("erase", {}, "memory call must be one of read, write, query, delete; got 'erase'"),
        (None, {}, "memory call must be one of"),
        ("read", None, "readMemory must be an object; got null"),
        ("read", {}, "readMemory has no field key"),
        ("read", {"key": "k", "limit": 1}, "readMemory has an unknown field 'limit'"),
        ("read", {"key": "k", "category": None}, "category must be one of"),
        ("write", {"key": "k"}, "writeMemory has no field category"),
        ("write", {"key": "k", "category": "CACHE"}, "writeMemory has no value"),
        ("write", {"key": "k", "category": "CACHE", "value": "YQ=="}, "writeMemory has an unknown field 'value'"),
        ("query", None, "filter must be an object; got null"),
        ("query", [], "filter must be an object; got an array"),
        ("delete", {"key": "k", "category": "CACHE"}, "deleteMemory has an unknown field 'category'"),
        ("delete", "k", "deleteMemory must be an object; got a string"),
    ],
)  # fmt: skip
def test_bad_requests(world, a, op, request_, message):
    """Unknown calls and fields, and missing ones, are named."""
    with pytest.raises(InvalidInput) as caught:
        perform(world.memory, a, op, request_)

    assert str(caught.value).startswith(message)


def test_null_policies(world, a):
    """Null is no access policy, and no value."""
    request = {"key": "k", "category": "CACHE"}
    with pytest.raises(InvalidInput, match="accessPolicy must be an object; got null"):
        perform(world.memory, a, "write", {**request, "accessPolicy": None}, b"")
    with pytest.raises(InvalidInput, match="value must be bytes; got null"):
        perform(world.memory, a, "write", request, None)
