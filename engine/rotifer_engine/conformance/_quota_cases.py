"""How much fits, and what makes room (memory §3, §6)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import DEPLOYER, A, B, C, after, set_agent
from rotifer_engine.conformance._values import Kept, access

__all__ = ["CASES"]

_MINE = access("CREATOR_GENE_ONLY")
_USAGE = "memory §6: usage = UTF-8 bytes of all live keys plus bytes of all live values"
_FREE = "memory §6: replacing counts the old size as free"
_ORDER = (
    "memory §6: a write that would not fit removes least-recently-updated entries from CACHE, then "
    "PATTERN, then CONTEXT"
)
_ONE_BY_ONE = "memory §6: one at a time, only until it fits"
_NEVER = "memory §6: never PREFERENCE, never the entry being written, whoever created them"
_NO_ROOM = (
    "memory §6: if that cannot make room: MEMORY_QUOTA_EXCEEDED, nothing written and nothing "
    "removed, one audit line"
)
_SEQUENCE = (
    "memory §3: least recently updated goes by a per-agent update sequence, not by the clock"
)
_TEXT = (
    "memory §6: a number with KB, MB or GB in any case; no unit, zero, negative, non-numeric, "
    "rounding to zero bytes, or over 2^53-1 bytes: refused"
)


def _ten(key: str, category: str = "CACHE", by: str = "A", **more: Any) -> Kept:
    """An entry of ten bytes."""
    return Kept(key, bytes(10 - len(key.encode())), category, by, **more)


def _put(kept: Kept, **more: Any) -> Any:
    gene = {"A": A, "B": B, "C": C}[kept.by]
    return gene.creates(kept.key, kept.value, kept.category, **more)


def _usage() -> list[Case]:
    one = Kept("k", b"1", "CACHE", "A")
    return [
        case("an empty memory uses nothing", _USAGE, DEPLOYER.uses(0)),
        case(
            "keys and values count, in bytes",
            _USAGE,
            A.creates("é", bytes(10)),
            DEPLOYER.uses(12),
            A.creates("\U0001f600", b""),
            DEPLOYER.uses(16),
        ),
        case(
            "policies and identities do not count",
            _USAGE,
            A.creates("k", b"1", access=_MINE, retention=None),
            DEPLOYER.uses(2),
        ),
        case(
            "replacing and deleting give back",
            _FREE,
            A.creates("k", bytes(100)),
            A.updates(one, bytes(3)),
            DEPLOYER.uses(4),
            A.updates(one, bytes(50), "PREFERENCE"),
            DEPLOYER.uses(51),
            A.deletes(one._replace(value=bytes(50), category="PREFERENCE")),
            DEPLOYER.uses(0),
        ),
        case(
            "the quota is 10 MB unless another is set",
            "memory §6: per agent; default 10 MB (1 KB = 1,024 bytes)",
            *(A.creates(f"k{n}", bytes(1_048_574), "PREFERENCE") for n in range(10)),
            DEPLOYER.uses(10_485_760),
            A.exceeds("k", b"", "CACHE", says=("10,485,760",)),
        ),
        case(
            "what fits to the byte is let in",
            "memory §6: a write that would not fit",
            set_agent(quota=20),
            _put(_ten("a")),
            _put(_ten("b")),
            DEPLOYER.uses(20),
            A.finds({}, "b", "a"),
        ),
        case(
            "a byte too many evicts",
            "memory §6: a write that would not fit",
            set_agent(quota=20),
            _put(_ten("a")),
            _put(_ten("b")),
            A.updates(_ten("b"), bytes(10), evicting=[_ten("a")]),
            A.finds({}, "b"),
        ),
        case(
            "a value replaced by one of its size fits a full memory",
            _FREE,
            set_agent(quota=20),
            _put(_ten("a", "PREFERENCE")),
            _put(_ten("b", "PREFERENCE")),
            A.updates(_ten("b", "PREFERENCE"), bytes(9)),
            A.updates(_ten("b", "PREFERENCE"), bytes(9)),
            A.exceeds("b", bytes(10), "PREFERENCE"),
        ),
        case(
            "a smaller quota takes effect at the next write",
            _ORDER,
            *(_put(_ten(key)) for key in "abcd"),
            set_agent(quota=20),
            DEPLOYER.uses(40),
            A.reads(_ten("a")),
            _put(_ten("e"), evicting=[_ten("a"), _ten("b"), _ten("c")]),
            DEPLOYER.uses(20),
        ),
    ]


def _order() -> list[Case]:
    every = [
        _ten("x", "CONTEXT"),
        _ten("p", "PATTERN"),
        _ten("c", "CACHE"),
        _ten("q", "PATTERN"),
        _ten("d", "CACHE"),
    ]
    order = [every[index] for index in (2, 4, 1, 3, 0)]
    return [
        case(
            "CACHE goes first, then PATTERN, then CONTEXT, the oldest of each first",
            _ORDER,
            set_agent(quota=50),
            *map(_put, every),
            *(
                A.creates(f"{n}", bytes(9), "PREFERENCE", evicting=[gone])
                for n, gone in enumerate(order)
            ),
            A.exceeds("6", bytes(9)),
            A.finds({}, "4", "3", "2", "1", "0"),
        ),
        case(
            "one large write evicts as many as it needs, in that order",
            _ORDER,
            set_agent(quota=50),
            *map(_put, every),
            A.creates("new", bytes(37), "PREFERENCE", evicting=order[:4]),
            A.finds({}, "new", "x"),
        ),
        case(
            "nothing goes as long as it fits",
            _ONE_BY_ONE,
            set_agent(quota=60),
            *map(_put, every),
            _put(_ten("e")),
            DEPLOYER.uses(60),
        ),
        case(
            "eviction stops as soon as it fits",
            _ONE_BY_ONE,
            set_agent(quota=30),
            A.creates("big", bytes(17)),
            _put(_ten("b")),
            A.creates("new", bytes(7), evicting=[Kept("big", bytes(17), "CACHE", "A")]),
            DEPLOYER.uses(20),
            A.finds({}, "new", "b"),
        ),
        case(
            "a small old one and then a large one go, though the large one were enough",
            _ONE_BY_ONE,
            set_agent(quota=30),
            A.creates("s", bytes(4)),
            A.creates("l", bytes(24)),
            _put(
                _ten("n"),
                evicting=[Kept("s", bytes(4), "CACHE", "A"), Kept("l", bytes(24), "CACHE", "A")],
            ),
            A.finds({}, "n"),
        ),
        case(
            "an update makes an entry the newest",
            _ORDER,
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "abc"),
            A.updates(_ten("a"), bytes(9)),
            _put(_ten("d"), evicting=[_ten("b")]),
            _put(_ten("e"), evicting=[_ten("c")]),
            A.finds({}, "e", "d", "a"),
        ),
        case(
            "a read does not make an entry the newest",
            _ORDER,
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "abc"),
            B.reads(_ten("a")),
            A.finds({}, "c", "b", "a"),
            _put(_ten("d"), evicting=[_ten("a")]),
        ),
        case(
            "a change of category changes who goes first",
            _ORDER,
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "abc"),
            A.updates(_ten("a"), bytes(9), "CONTEXT"),
            A.updates(_ten("c"), bytes(9), "PREFERENCE"),
            _put(_ten("d", "PREFERENCE"), evicting=[_ten("b")]),
            _put(_ten("e", "PREFERENCE"), evicting=[_ten("a", "CONTEXT")]),
        ),
        case(
            "entries of one instant go in the order of their writes",
            _SEQUENCE,
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "cab"),
            _put(_ten("d"), evicting=[_ten("c")]),
            _put(_ten("e"), evicting=[_ten("a")]),
        ),
        case(
            "a clock that is set back does not make an entry old",
            _SEQUENCE,
            set_agent(quota=30),
            _put(_ten("a")),
            after(-86_400_000),
            _put(_ten("b")),
            after(-86_400_000),
            _put(_ten("c")),
            _put(_ten("d"), evicting=[_ten("a")]),
            _put(_ten("e"), evicting=[_ten("b")]),
        ),
    ]


def _spared() -> list[Case]:
    return [
        case(
            "a PREFERENCE never goes",
            _NEVER,
            set_agent(quota=20),
            _put(_ten("p", "PREFERENCE")),
            _put(_ten("c")),
            _put(_ten("d"), evicting=[_ten("c")]),
            A.exceeds("e", bytes(10)),
            A.finds({}, "d", "p"),
        ),
        case(
            "the entry being written never goes, though it is the oldest",
            _NEVER,
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "abc"),
            A.updates(_ten("a"), bytes(14), evicting=[_ten("b")]),
            A.finds({}, "a", "c"),
        ),
        case(
            "the entry being written does not make room for itself",
            _NEVER,
            set_agent(quota=20),
            _put(_ten("a")),
            _put(_ten("p", "PREFERENCE")),
            A.exceeds("a", bytes(10)),
            A.reads(_ten("a")),
        ),
        case(
            "it does not matter whose an entry is, or who may write it",
            _NEVER,
            set_agent(quota=20),
            _put(_ten("a", by="C"), access=_MINE),
            _put(_ten("b", by="B"), access=_MINE),
            _put(_ten("c"), evicting=[_ten("a", by="C")]),
            _put(_ten("d"), evicting=[_ten("b", by="B")]),
        ),
        case(
            "an entry larger than the quota evicts nothing",
            _NO_ROOM,
            set_agent(quota=20),
            _put(_ten("a")),
            _put(_ten("b")),
            A.exceeds("c", bytes(20), says=("21", "20")),
            A.finds({}, "b", "a"),
            DEPLOYER.uses(20),
        ),
        case(
            "where all that may go is not enough, nothing goes",
            _NO_ROOM,
            set_agent(quota=30),
            _put(_ten("p", "PREFERENCE")),
            _put(_ten("a")),
            _put(_ten("x", "CONTEXT")),
            A.exceeds("n", bytes(20)),
            A.finds({}, "x", "a", "p"),
        ),
        case(
            "an update for which there is no room leaves the entry as it was",
            _NO_ROOM,
            set_agent(quota=20),
            _put(_ten("a", "PREFERENCE")),
            _put(_ten("b", "PREFERENCE")),
            A.exceeds("a", bytes(11), "PREFERENCE"),
            A.gets({}, _ten("b", "PREFERENCE"), _ten("a", "PREFERENCE")),
        ),
        case(
            "a denied write evicts nothing",
            "memory §4: access is checked before every read, write and delete",
            set_agent(quota=20),
            _put(_ten("a", by="C")),
            _put(_ten("b", by="C")),
            A.denied("write", key="b", value=bytes(15)),
            C.finds({}, "b", "a"),
        ),
        case(
            "what makes room is one change with the write",
            "memory §9: each line carries a change id; all lines of one transaction share it",
            set_agent(quota=30),
            *(_put(_ten(key)) for key in "abc"),
            A.creates("n", bytes(19), evicting=[_ten("a"), _ten("b")]),
            A.creates("m", bytes(9), evicting=[_ten("c")]),
        ),
    ]


def _texts() -> list[Case]:
    texts: tuple[tuple[object, int | None], ...] = (
        ("512KB", 524_288),
        ("1.5GB", 1_610_612_736),
        ("50mb", 52_428_800),
        ("0.001KB", 1),
        ("8388607GB", 9_007_198_180_999_168),
        ("1024", None),
        ("0MB", None),
        ("-1MB", None),
        ("1 MB", None),
        ("manyMB", None),
        ("1TB", None),
        ("0.0001KB", None),
        ("8388608GB", None),
        ("", None),
    )
    return [
        case(
            f"a quota of {text!r} is {'refused' if size is None else f'{size:,} bytes'}",
            _TEXT,
            DEPLOYER.quota(text, size),
        )
        for text, size in texts
    ]


CASES: list[Case] = [*_usage(), *_order(), *_spared(), *_texts()]
