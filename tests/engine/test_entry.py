"""Entries as values and as JSON."""

from __future__ import annotations

import hashlib
import json

from rotifer_engine import AccessPolicy, Entry, EntrySummary, RetentionPolicy, entry_id


def entry(**changes):
    """An entry with unusual text in every field that can have it."""
    fields = {
        "entry_id": entry_id("agent", 'k"\\\n😀\x7f'.encode()),
        "category": "CACHE",
        "key": 'k"\\\n😀\x7f',
        "value": b"\x00\xff",
        "created_by": "v2:" + "a" * 64,
        "created_domain": "code",
        "last_accessed_by": "v2:" + "b" * 64,
        "created_at": -1,
        "updated_at": 1_700_000_000_123,
        "access_policy": AccessPolicy("ALL_GENES", "SAME_DOMAIN", "PRIVATE"),
        "retention_policy": None,
        "order": 7,
    }
    return Entry(**{**fields, **changes})


def test_the_id_is_the_hash_of_agent_nul_and_key():
    """The NUL keeps apart what joined would be the same."""
    assert hashlib.sha256(b"agent\0key").hexdigest() == entry_id("agent", b"key")
    assert entry_id("agentk", b"ey") != entry_id("agent", b"key")


def test_the_fields_are_in_the_documented_order():
    """The JSON form has the ten fields of the page, the value in base64."""
    expected = [
        "entryId", "category", "key", "value", "createdBy", "lastAccessedBy", "createdAt", "updatedAt",
        "accessPolicy", "retentionPolicy",
    ]  # fmt: skip

    assert expected == list(entry().to_json())
    assert "AP8=" == entry().to_json()["value"]
    assert "1969-12-31T23:59:59.999Z" == entry().to_json()["createdAt"]


def test_the_quick_form_says_the_same():
    """The text made for reads is the JSON form without the value, in ASCII."""
    for retention in (None, RetentionPolicy(None, True, False), RetentionPolicy(9, False, True)):
        one = entry(retention_policy=retention)
        expected = one.to_json()
        del expected["value"]

        assert expected == json.loads(one.meta_json())
        assert one.meta_json().isascii()
        assert json.dumps(expected, separators=(",", ":")) == one.meta_json()


def test_size_counts_key_and_value_in_bytes():
    """Four bytes for an emoji, not one character; the summary knows the value's part."""
    one = entry()
    summary = EntrySummary(*one[:3], one.size, *one[4:])

    assert (len(one.key.encode()) + 2, 2) == (one.size, summary.value_size)
