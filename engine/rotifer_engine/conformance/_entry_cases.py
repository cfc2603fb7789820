"""What an entry is, and what may be in it (memory §2, §3)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import DEPLOYER, A, B, C, after, elsewhere
from rotifer_engine.conformance._values import DAY, SHARED, Kept, access, retention

__all__ = ["CASES"]

_MIB = 1_048_576
_KEY = "memory §2 key: non-empty, no NUL, at most 1,024 UTF-8 bytes, well-formed Unicode"
_AS_GIVEN = "memory §2 key: bytes are kept as given: no normalizing, no case folding"
_VALUE = "memory §2 value: bytes, at most 1,048,576; empty is allowed"
_CATEGORY = "memory §2 category: PREFERENCE, PATTERN, CONTEXT, CACHE, upper case everywhere"
_ACCESS = "memory §2 accessPolicy: exactly readScope, writeScope, sharePolicy"
_WORD = "memory §4: an unknown word for a category, scope or share policy is MEMORY_INVALID_INPUT"
_RETENTION = (
    "memory §2 retentionPolicy: exactly maxRetentionDays (integer 1..2147483647 or null), "
    "autoDeleteOnTermination (bool), anonymizationSupported (bool), or null"
)


def _fields() -> list[Case]:
    one = Kept("k", b"1", "CACHE", "A")
    return [
        case(
            "a new entry has every field, and no other",
            "memory §2: the fields of an entry",
            A.creates("k", b"1", "CACHE"),
            A.reads(one),
        ),
        case(
            "an entry's id is that of its agent and its key",
            "memory §2 entryId: SHA-256 of agent id, one NUL byte, key",
            A.creates("k"),
            A.creates("k2"),
            elsewhere(A.creates("k")),
        ),
        case(
            "an update changes neither id nor creator nor creation",
            "memory §2: entryId and createdBy never change on update",
            A.creates("k"),
            after(1_000),
            B.updates(one, b"2"),
            after(1_000),
            A.updates(one, b"3"),
            A.reads(one._replace(value=b"3", updated=2_000)),
        ),
        case(
            "whoever creates has accessed last",
            "memory §2 lastAccessedBy: on creation equals createdBy",
            B.creates("k"),
            A.gets({}, Kept("k", b"1", "CACHE", "B")),
        ),
        case(
            "times are printed in UTC with milliseconds",
            "memory §2 createdAt, updatedAt: printed YYYY-MM-DDTHH:MM:SS.mmmZ",
            after(7),
            A.creates("k"),
            after(990),
            A.updates(one.moved(7), b"2"),
            after(3),
            A.reads(one.moved(7)._replace(value=b"2", updated=997)),
        ),
        case(
            "two agents have two memories",
            "memory §1: an agent is the owner of one memory",
            A.creates("k", b"mine"),
            elsewhere(A.misses("k")),
            elsewhere(A.finds({})),
            elsewhere(A.misses_to_delete("k")),
            elsewhere(A.creates("k", b"theirs")),
            A.reads(one._replace(value=b"mine")),
            DEPLOYER.uses(5),
            elsewhere(DEPLOYER.uses(7)),
        ),
        *(
            case(
                f"an entry can be a {category}",
                _CATEGORY,
                A.creates("k", b"1", category),
                A.reads(one._replace(category=category), category),
            )
            for category in ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")
        ),
    ]


def _keys() -> list[Case]:
    accepted = {
        "a key may be one byte": "k",
        "a key may be a space": " ",
        "a key may be 1,024 bytes": "a" * 1_024,
        "a key may be 1,024 bytes of four-byte characters": "\U0001f600" * 256,
        "a key may end in a two-byte character at byte 1,024": "a" * 1_022 + "é",
        "a key may hold control characters": "a\n\t\x1b[31m\x7f",
        "a key may hold quotes and backslashes": 'say "\\u0000" \\',
        "a key may hold what bidirectional text needs": "\u202eabc\u200f",
        "a key may hold the last character": "\U0010ffff\uffff",
        "a key may look like a path": "../../etc/passwd",
    }
    refused: dict[str, tuple[Any, tuple[str, ...]]] = {
        "a key may not be empty": ("", ()),
        "a key may not be 1,025 bytes": ("a" * 1_025, ("1,025", "1,024")),
        "a key's limit counts bytes, not characters": ("é" * 513, ("1,026", "1,024")),
        "a key may not pass the limit within a character": ("a" * 1_023 + "é", ("1,025",)),
        "a key may not be a NUL": ("\0", ()),
        "a key may not hold a NUL": ("a\0b", ()),
        "a key may not end with a NUL": ("a\0", ()),
        "a key may not hold a high surrogate alone": ("a\ud800b", ()),
        "a key may not hold a low surrogate alone": ("\udc00", ()),
        "a key may not hold surrogates in the wrong order": ("\udc00\ud800", ()),
        "a key may not be null": (None, ()),
        "a key may not be a number": (5, ()),
        "a key may not be a boolean": (True, ()),
        "a key may not be left out": (..., ()),
    }
    return [
        *(
            case(
                name,
                _KEY,
                A.creates(key, b"1"),
                A.reads(Kept(key, b"1", "CACHE", "A")),
                A.finds({"keyPrefix": key}, key),
                A.deletes(Kept(key, b"1", "CACHE", "A")),
                A.misses(key),
            )
            for name, key in accepted.items()
        ),
        *(
            case(
                name,
                _KEY,
                A.invalid("write", key=key, says=says),
                A.invalid("read", key=key, says=says),
                A.invalid("delete", key=key, says=says),
                A.finds({}),
            )
            for name, (key, says) in refused.items()
        ),
        *(
            case(
                name,
                _AS_GIVEN,
                A.creates(one, b"one"),
                A.creates(two, b"two"),
                A.reads(Kept(one, b"one", "CACHE", "A")),
                A.reads(Kept(two, b"two", "CACHE", "A")),
                A.finds({}, two, one),
            )
            for name, one, two in (
                ("upper and lower case are two keys", "Key", "key"),
                ("composed and decomposed are two keys", "é", "e\u0301"),
                ("a space at the end makes another key", "k", "k "),
                ("the Angstrom sign is no letter A with a ring", "\u212b", "\u00c5"),
                ("a dotless and a dotted i are two keys", "\u0131", "i"),
            )
        ),
    ]


def _values() -> list[Case]:
    accepted = {
        "a value may be empty": b"",
        "a value may hold every byte": bytes(range(256)),
        "a value may be a NUL": b"\0",
        "a value need not be text": b"\xff\xfe\x80",
        "a value may be 1,048,576 bytes": bytes(_MIB),
    }
    refused: dict[str, Any] = {
        "a value may not be left out": ...,
        "a value may not be null": None,
        "a value may not be a number": 5,
        "a value may not be an object": {"0": 1},
        "a value may not be an array": [1, 2],
        "a value may not be text": "not bytes!",
        "a value may not be base64 without its padding": "AAA",
        "a value may not be base64 with bits left over": "AAB=",
    }
    return [
        *(
            case(
                name,
                _VALUE,
                A.creates("k", value),
                A.reads(Kept("k", value, "CACHE", "A")),
                A.gets({}, Kept("k", value, "CACHE", "A")),
                DEPLOYER.uses(1 + len(value)),
            )
            for name, value in accepted.items()
        ),
        case(
            "a value may not be 1,048,577 bytes",
            _VALUE,
            A.invalid("write", value=bytes(_MIB + 1), says=("1,048,577", "1,048,576")),
            A.misses("k"),
        ),
        *(
            case(name, _VALUE, A.invalid("write", value=value), A.misses("k"))
            for name, value in refused.items()
        ),
    ]


def _words() -> list[Case]:
    return [
        *(
            case(
                f"a category may not be {name}",
                _WORD,
                A.creates("k"),
                A.invalid("write", category=category),
                A.invalid("read", category=category),
                A.invalid("query", category=category),
                A.gets({}, Kept("k", b"1", "CACHE", "A")),
            )
            for name, category in (
                ("in lower case", "cache"),
                ("empty", ""),
                ("with a space behind it", "CACHE "),
                ("an unknown word", "SECRET"),
                ("null", None),
                ("a number", 1),
                ("true", True),
            )
        ),
        case(
            "a category may not be left out of a write",
            _WORD,
            A.invalid("write", category=...),
            A.misses("k"),
        ),
        *(
            case(
                f"an access policy may not {name}",
                _ACCESS if "word" not in name else _WORD,
                A.invalid("write", accessPolicy=policy),
                A.misses("k"),
            )
            for name, policy in (
                ("lack its readScope", _without(SHARED, "readScope")),
                ("lack its writeScope", _without(SHARED, "writeScope")),
                ("lack its sharePolicy", _without(SHARED, "sharePolicy")),
                ("be empty", {}),
                ("have a field more", {**SHARED, "scope": "ALL_GENES"}),
                ("be null", None),
                ("be text", "ALL_GENES"),
                ("be an array", ["ALL_GENES", "ALL_GENES", "PRIVATE"]),
                ("have an unknown word for readScope", access("EVERYONE", "ALL_GENES")),
                ("have an unknown word for writeScope", access("ALL_GENES", "same_domain")),
                ("have an unknown word for sharePolicy", access("ALL_GENES", share="PUBLIC")),
                ("have null for a word", {**SHARED, "readScope": None}),
            )
        ),
    ]


def _retention() -> list[Case]:
    full = retention(7)
    return [
        *(
            case(
                f"a retention policy may not {name}",
                _RETENTION,
                A.invalid("write", retentionPolicy=policy, says=says),
                A.misses("k"),
            )
            for name, policy, says in (
                ("lack its maxRetentionDays", _without(full, "maxRetentionDays"), ()),
                ("lack its autoDeleteOnTermination", _without(full, "autoDeleteOnTermination"), ()),
                ("lack its anonymizationSupported", _without(full, "anonymizationSupported"), ()),
                ("have a field more", {**full, "days": 7}, ()),
                ("be empty", {}, ()),
                ("be a number", 7, ()),
                ("be an array", [7, False, False], ()),
                ("have 0 days", retention(0), ("2,147,483,647",)),
                ("have -1 days", retention(-1), ("-1",)),
                ("have 2,147,483,648 days", retention(2_147_483_648), ("2,147,483,648",)),
                ("have a day and a half", retention(1.5), ("1.5",)),
                ("have days in text", retention("7"), ()),
                ("have true days", retention(True), ()),
                ("have 0 for false", retention(7, auto_delete=0), ()),
                ("have text for true", retention(7, anonymization="true"), ()),
                ("have null for a boolean", retention(7, auto_delete=None), ()),
            )
        ),
        *(
            case(
                f"a retention policy may have {name}",
                _RETENTION,
                A.creates("k", retention=policy),
                A.reads(Kept("k", b"1", "CACHE", "A", retention=policy)),
            )
            for name, policy in (
                ("1 day", retention(1)),
                ("2,147,483,647 days", retention(2_147_483_647)),
                ("no limit", retention(None)),
                ("both booleans true", retention(7, auto_delete=True, anonymization=True)),
            )
        ),
        case(
            "an agent's end deletes nothing yet",
            "memory §7: autoDeleteOnTermination is stored and validated, and does nothing yet",
            A.creates("k", retention=retention(None, auto_delete=True)),
            after(900 * DAY),
            B.reads(Kept("k", b"1", "CACHE", "A", retention=retention(None, auto_delete=True))),
        ),
        case(
            "a new entry follows the agent unless it says otherwise",
            "memory §2 retentionPolicy: null = follow the agent's data policy",
            A.creates("k", retention=None),
            A.creates("k2"),
            C.creates("k3", retention=retention(3)),
        ),
    ]


def _without(policy: dict[str, object], field: str) -> dict[str, object]:
    return {name: value for name, value in policy.items() if name != field}


CASES: list[Case] = [*_fields(), *_keys(), *_values(), *_words(), *_retention()]
