"""The pydantic models say what the engine says."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from rotifer_engine import ABSENT, AccessPolicy, RetentionPolicy
from rotifer_engine.models import (
    MemoryAccessPolicy,
    MemoryEntry,
    MemoryFilter,
    MemoryRetentionPolicy,
)


def test_an_entry_goes_through_its_model_unchanged(world, a):
    """The JSON of the entry is the JSON of the model, field by field and in order."""
    for retention in (ABSENT, RetentionPolicy(7, True, False)):
        entry = world.memory.write(a, "k", b"\x00\xff", "CACHE", ABSENT, retention)
        model = MemoryEntry.model_validate(entry.to_json())

        assert entry.to_json() == json.loads(model.model_dump_json(by_alias=True))
        assert list(entry.to_json()) == list(model.model_dump(by_alias=True))
        assert b"\x00\xff" == model.value
        assert model == MemoryEntry.model_validate_json(model.model_dump_json(by_alias=True))


def test_policies_have_the_fields_of_the_engine():
    """No second list: the names are those of the tuples."""
    assert list(AccessPolicy._fields) == list(MemoryAccessPolicy.model_fields)
    assert list(RetentionPolicy._fields) == list(MemoryRetentionPolicy.model_fields)


def test_a_filter_hands_on_only_what_was_given(world, a):
    """What is dumped is a filter that the engine takes."""
    model = MemoryFilter.model_validate(
        {"keyPrefix": "k", "limit": 5, "since": "2020-01-01T00:00:00Z"}
    )
    filters = model.model_dump(by_alias=True, exclude_unset=True)

    assert {"keyPrefix": "k", "limit": 5, "since": "2020-01-01T00:00:00Z"} == filters
    assert [] == world.memory.query(a, filters)
    assert {} == MemoryFilter().model_dump(by_alias=True, exclude_unset=True)


@pytest.mark.parametrize(
    "filters",
    [{"limit": 0}, {"limit": 1_001}, {"limit": True}, {"category": "cache"}, {"since": "now"}, {"keyPrefix": "\ud800"},
     {"other": 1}, {"until": 5}],
)  # fmt: skip
def test_bad_filters(filters):
    """What the engine refuses, the model refuses."""
    with pytest.raises(ValidationError):
        MemoryFilter.model_validate(filters)


@pytest.mark.parametrize(
    "change",
    [{"key": ""}, {"key": "x" * 1_025}, {"value": "YQ"}, {"value": 5}, {"category": "OTHER"}, {"createdAt": "1"},
     {"accessPolicy": None}, {"retentionPolicy": {}}, {"createdDomain": "x"}],
)  # fmt: skip
def test_bad_entries(world, a, change):
    """The rules of the engine hold for the model's fields too."""
    good = world.memory.write(a, "k", b"", "CACHE").to_json()
    with pytest.raises(ValidationError):
        MemoryEntry.model_validate({**good, **change})


def test_the_schema_has_the_names_of_the_page():
    """camelCase, base64, and the words of the tables."""
    schema = MemoryEntry.model_json_schema(by_alias=True)

    assert "lastAccessedBy" in schema["properties"]
    assert {"type": "string", "contentEncoding": "base64"}.items() <= schema["properties"][
        "value"
    ].items()
    assert "DEPLOYER_CONFIGURED" in json.dumps(schema)
