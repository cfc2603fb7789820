"""What reading, writing and deleting do (memory §5, §8)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import DEPLOYER, A, B, C, after
from rotifer_engine.conformance._values import SHARED, Kept, access, retention

__all__ = ["CASES"]

_ALL = access("ALL_GENES")
_MINE = access("CREATOR_GENE_ONLY")
_NULL = (
    "memory §5 readMemory: null when there is no such live entry, or category is given and differs"
)
_ACCESSED = "memory §5 readMemory: a successful read sets lastAccessedBy"
_REPLACES = "memory §5 writeMemory: creates, or replaces the value of the entry with this key"
_KEEPS = "memory §5 writeMemory: keeps createdBy, createdAt, entryId and the access policy"
_ABSENT = "memory §5 writeMemory: an absent policy argument keeps what is stored"
_EQUAL = "memory §5 writeMemory: a policy equal to the stored one is no change"
_CREATOR = (
    "memory §5 writeMemory: only the creator may change a policy; a different policy from another "
    "gene is MEMORY_ACCESS_DENIED and nothing is written"
)
_FOLLOW = (
    "memory §5 writeMemory: retentionPolicy: null means follow the agent again: a change like any "
    "other, creator only"
)
_FEW = (
    "memory §8: calling with too few or wrongly typed arguments is MEMORY_INVALID_INPUT, not a "
    "TypeError"
)
_NODE_FIELDS = {"node": "ctx.memory takes arguments by place, so there is no field of another name"}


def _reads() -> list[Case]:
    one = Kept("k", b"1", "PATTERN", "A")
    return [
        case("a key never written is null", _NULL, A.misses("k"), A.misses("k", "CACHE")),
        case(
            "another key is null",
            _NULL,
            A.creates("k"),
            A.misses("K"),
            A.misses("k "),
            A.misses("kk"),
        ),
        case(
            "the category that is asked for finds its entry",
            _NULL,
            A.creates("k", b"1", "PATTERN"),
            A.reads(one, "PATTERN"),
        ),
        *(
            case(
                f"a PATTERN is null when a {category} is asked for",
                _NULL,
                A.creates("k", b"1", "PATTERN"),
                A.misses("k", category),
            )
            for category in ("PREFERENCE", "CONTEXT", "CACHE")
        ),
        case(
            "a read of another gene sets who accessed last",
            _ACCESSED,
            A.creates("k"),
            B.reads(Kept("k", b"1", "CACHE", "A")),
            A.gets({}, Kept("k", b"1", "CACHE", "A", last="B")),
            A.reads(Kept("k", b"1", "CACHE", "A")),
            B.gets({}, Kept("k", b"1", "CACHE", "A")),
        ),
        case(
            "a read sets nothing else",
            _ACCESSED,
            A.creates("k"),
            after(5_000),
            B.reads(Kept("k", b"1", "CACHE", "A")),
            A.gets({}, Kept("k", b"1", "CACHE", "A", last="B")),
        ),
        case(
            "a read that gives null sets nothing",
            _ACCESSED,
            A.creates("k", b"1", "PATTERN"),
            B.misses("k", "CACHE"),
            A.gets({}, one),
        ),
        case(
            "a denied read sets nothing",
            _ACCESSED,
            A.creates("k", access=_MINE),
            B.denied("read"),
            A.gets({}, Kept("k", b"1", "CACHE", "A", access=_MINE)),
        ),
        case(
            "a query sets nothing",
            "memory §2 lastAccessedBy: a query does not change it",
            A.creates("k"),
            B.gets({}, Kept("k", b"1", "CACHE", "A")),
            A.gets({}, Kept("k", b"1", "CACHE", "A")),
        ),
        case(
            "reads in turn are each told of the last",
            _ACCESSED,
            A.creates("k", access=_ALL),
            *(
                gene.reads(Kept("k", b"1", "CACHE", "A", access=_ALL))
                for gene in (C, B, C, A, B, B, C)
            ),
            A.gets({}, Kept("k", b"1", "CACHE", "A", last="C", access=_ALL)),
        ),
    ]


def _writes() -> list[Case]:
    one = Kept("k", b"1", "CACHE", "A")
    weekly = one._replace(retention=retention(7))
    return [
        case(
            "a write of a key that is there replaces the value",
            _REPLACES,
            A.creates("k", b"1"),
            A.updates(one, b"22"),
            A.updates(one, b""),
            A.reads(one._replace(value=b"")),
            A.finds({}, "k"),
        ),
        case(
            "a write may change the category",
            "memory §5 writeMemory: replaces the value (and category) of the entry with this key",
            A.creates("k"),
            A.updates(one, b"1", "PREFERENCE"),
            A.misses("k", "CACHE"),
            A.reads(one._replace(category="PREFERENCE"), "PREFERENCE"),
        ),
        case(
            "a gene that may write may change the category of another's entry",
            "memory §5 writeMemory: replaces the value (and category) of the entry with this key",
            A.creates("k"),
            B.updates(one, b"2", "CONTEXT"),
            A.reads(one._replace(value=b"2", category="CONTEXT")),
        ),
        case(
            "a write by another gene keeps creator and creation",
            _KEEPS,
            A.creates("k"),
            after(60_000),
            B.updates(one),
            A.gets({}, one._replace(value=b"2", last="B", updated=60_000)),
        ),
        case(
            "a write of the same value is a write",
            "memory §5 writeMemory: sets updatedAt, lastAccessedBy",
            A.creates("k"),
            after(10),
            B.updates(one, b"1"),
            A.gets({}, one._replace(last="B", updated=10)),
        ),
        case(
            "policies that are left out stay",
            _ABSENT,
            A.creates("k", access=_ALL, retention=retention(7)),
            A.updates(one._replace(access=_ALL, retention=retention(7))),
            C.updates(one._replace(access=_ALL, retention=retention(7)), b"3"),
            A.reads(one._replace(value=b"3", access=_ALL, retention=retention(7))),
        ),
        case(
            "one policy may be given without the other",
            _ABSENT,
            A.creates("k", retention=retention(7)),
            A.updates(weekly, access=_ALL),
            A.updates(weekly._replace(access=_ALL), b"3", retention=retention(9)),
            A.reads(one._replace(value=b"3", access=_ALL, retention=retention(9))),
        ),
        case(
            "another gene may give the policies that are stored",
            _EQUAL,
            A.creates("k", access=SHARED, retention=retention(7)),
            B.updates(weekly, access=SHARED, retention=retention(7)),
            B.updates(weekly, b"3", access=SHARED),
            B.updates(weekly, b"4", retention=retention(7)),
        ),
        case(
            "the defaults that were not given are stored policies like any",
            _EQUAL,
            A.creates("k"),
            B.updates(one, access=SHARED, retention=None),
        ),
        case(
            "another gene may not change the access policy",
            _CREATOR,
            A.creates("k"),
            B.denied("write", value=b"2", accessPolicy=_ALL),
            B.denied("write", value=b"2", accessPolicy=access("SAME_DOMAIN", "CREATOR_GENE_ONLY")),
            A.gets({}, one),
        ),
        case(
            "another gene may not change the retention policy",
            _CREATOR,
            A.creates("k", retention=retention(7)),
            B.denied("write", value=b"2", retentionPolicy=retention(8)),
            B.denied("write", value=b"2", retentionPolicy=retention(7, auto_delete=True)),
            B.denied("write", value=b"2", retentionPolicy=retention(7, anonymization=True)),
            A.gets({}, weekly),
        ),
        case(
            "another gene may not begin a retention policy",
            _CREATOR,
            A.creates("k"),
            B.denied("write", value=b"2", retentionPolicy=retention(7)),
            A.gets({}, one),
        ),
        case(
            "one changed policy of two is a change",
            _CREATOR,
            A.creates("k", retention=retention(7)),
            B.denied("write", accessPolicy=SHARED, retentionPolicy=retention(8)),
            B.denied("write", accessPolicy=_MINE, retentionPolicy=retention(7)),
            A.gets({}, weekly),
        ),
        case(
            "the creator may change the access policy",
            _CREATOR,
            A.creates("k"),
            A.updates(one, access=_MINE),
            B.denied("read"),
            A.updates(one._replace(access=_MINE), access=_ALL),
            C.reads(one._replace(value=b"2", access=_ALL)),
        ),
        case(
            "the creator may shut itself out of nothing but may be shut in",
            _CREATOR,
            A.creates("k", access=_ALL),
            C.updates(one._replace(access=_ALL)),
            A.updates(one._replace(access=_ALL), b"3", access=_MINE),
            C.denied("write"),
            A.deletes(one._replace(value=b"3")),
        ),
        case(
            "the creator may change the retention policy",
            _CREATOR,
            A.creates("k"),
            A.updates(one, retention=retention(7)),
            A.updates(weekly, retention=retention(None)),
            A.reads(one._replace(value=b"2", retention=retention(None))),
        ),
        case(
            "null lets the creator's entry follow the agent again",
            _FOLLOW,
            A.creates("k", retention=retention(7)),
            A.updates(weekly, retention=None),
            A.reads(one._replace(value=b"2")),
        ),
        case(
            "null from another gene is a change",
            _FOLLOW,
            A.creates("k", retention=retention(7)),
            B.denied("write", value=b"2", retentionPolicy=None),
            A.gets({}, weekly),
        ),
        case(
            "null from another gene is none on an entry that follows",
            _FOLLOW,
            A.creates("k"),
            B.updates(one, retention=None),
        ),
        case(
            "absent and null are two things",
            "memory §5 writeMemory: absent and null are different things through every door",
            A.creates("k", retention=retention(7)),
            A.updates(weekly),
            A.updates(weekly, b"3", retention=None),
            A.invalid("write", accessPolicy=None),
            A.reads(one._replace(value=b"3")),
        ),
        case(
            "a refused write leaves the entry as it was",
            _CREATOR,
            A.creates("k"),
            A.invalid("write", value=b"2", category="SECRET"),
            A.invalid("write", value=b"2", retentionPolicy=retention(0)),
            B.denied("write", value=b"2", accessPolicy=_ALL),
            C.denied("write", value=b"2"),
            A.gets({}, one),
            DEPLOYER.uses(2),
        ),
    ]


def _deletes() -> list[Case]:
    one = Kept("k", b"1", "CACHE", "A")
    missing = "memory §5 deleteMemory: MEMORY_NOT_FOUND when there is no live entry"
    return [
        case(
            "a deleted entry is gone",
            "memory §5 deleteMemory",
            A.creates("k"),
            A.deletes(one),
            A.misses("k"),
            A.finds({}),
            DEPLOYER.uses(0),
        ),
        case(
            "deleting a key never written is not found",
            missing,
            A.misses_to_delete("k"),
        ),
        case(
            "deleting twice is not found",
            missing,
            A.creates("k"),
            B.deletes(one),
            A.misses_to_delete("k"),
        ),
        case(
            "deleting takes one entry and no other",
            "memory §5 deleteMemory",
            A.creates("k"),
            A.creates("k2"),
            A.creates("K"),
            A.deletes(one),
            A.finds({}, "K", "k2"),
        ),
        case(
            "deleting needs the permission to write, not to read",
            "memory §5 deleteMemory: needs write permission",
            A.creates("k", access=access("CREATOR_GENE_ONLY", "ALL_GENES")),
            A.creates("k2", access=access("ALL_GENES", "CREATOR_GENE_ONLY")),
            C.deletes(one),
            C.denied("delete", key="k2"),
            A.finds({}, "k2"),
        ),
        case(
            "what is written after a delete is a new entry",
            "memory §5 writeMemory: creates",
            A.creates("k", access=_ALL, retention=retention(7)),
            A.deletes(one),
            after(1_000),
            C.creates("k"),
            A.denied("read"),
        ),
    ]


def _arguments() -> list[Case]:
    wrong: tuple[tuple[str, dict[str, Any]], ...] = (
        ("a number for a key", {"key": 0}),
        ("an object for a key", {"key": {}}),
        ("an array for a key", {"key": ["k"]}),
        ("an object for a category", {"category": {}}),
    )
    return [
        case(
            "too few arguments are bad input",
            _FEW,
            A.invalid("read", key=...),
            A.invalid("write", key=..., value=..., category=...),
            A.invalid("write", value=..., category=...),
            A.invalid("write", category=...),
            A.invalid("delete", key=...),
        ),
        *(
            case(
                f"{name} is bad input",
                _FEW,
                A.invalid("read", **given),
                A.invalid("write", **given),
                A.misses("k"),
            )
            for name, given in wrong
        ),
        case(
            "a field that no call knows is bad input",
            "wasm-genes §3: unknown fields are MEMORY_INVALID_INPUT",
            A.invalid("read", createdBy="A"),
            A.invalid("write", ttl=5),
            A.invalid("delete", category="CACHE"),
            A.misses("k"),
            not_through=_NODE_FIELDS,
        ),
    ]


CASES: list[Case] = [*_reads(), *_writes(), *_deletes(), *_arguments()]
