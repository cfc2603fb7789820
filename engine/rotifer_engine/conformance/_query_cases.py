"""What a query gives (memory §5)."""

from __future__ import annotations

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import DEPLOYER, A, B, C, D, after
from rotifer_engine.conformance._values import Kept, access, instant, retention

_MIB = 1_048_576
_ALL = access("ALL_GENES")
_MINE = access("CREATOR_GENE_ONLY")
_ORDER = "memory §5 queryMemory: most recently updated first"
_SILENT = "memory §5 queryMemory: entries it may not read are left out silently"
_LIMIT = "memory §5 limit: integer 1..1000, default 100; anything else is MEMORY_INVALID_INPUT"
_WHOLE = (
    "memory §5 queryMemory: if the answer's keys and values together exceed 4,194,304 bytes the "
    "query fails with MEMORY_INVALID_INPUT; never a partial answer"
)


def _order() -> list[Case]:
    one = Kept("k1", b"1", "CACHE", "A")
    return [
        case(
            "the last one updated stands first",
            _ORDER,
            *(step for n in range(1, 5) for step in (A.creates(f"k{n}"), after(1))),
            A.finds({}, "k4", "k3", "k2", "k1"),
        ),
        case(
            "an update moves an entry to the front",
            _ORDER,
            A.creates("k1"),
            A.creates("k2"),
            A.creates("k3"),
            B.updates(one),
            A.finds({}, "k1", "k3", "k2"),
        ),
        case(
            "a read moves nothing",
            _ORDER,
            A.creates("k1"),
            A.creates("k2"),
            B.reads(one),
            A.finds({}, "k2", "k1"),
        ),
        case(
            "entries of one instant stand in the order of their writes",
            "memory §3: goes by a per-agent update sequence, not by the clock",
            *(A.creates(key) for key in ("c", "a", "d", "b")),
            A.finds({}, "b", "d", "a", "c"),
        ),
        case(
            "a clock that is set back changes no order",
            "memory §3: a clock that steps back does not change the order",
            A.creates("k1"),
            after(-3_600_000),
            A.creates("k2"),
            after(-3_600_000),
            A.creates("k3"),
            A.finds({}, "k3", "k2", "k1"),
        ),
        case(
            "a query gives whole entries",
            "memory §5 queryMemory -> MemoryEntry[]",
            A.creates("k1", b"\x00\xff", "PATTERN", access=_ALL, retention=retention(7)),
            after(1_000),
            C.creates("k2", bytes(1_000), "PREFERENCE", access=_ALL),
            B.gets(
                {},
                Kept("k2", bytes(1_000), "PREFERENCE", "C", created=1_000, access=_ALL),
                Kept("k1", b"\x00\xff", "PATTERN", "A", access=_ALL, retention=retention(7)),
            ),
        ),
        case("a memory without entries gives none", _ORDER, A.gets({}), A.gets({"limit": 1})),
        case(
            "a category is a filter",
            "memory §5 category: exact",
            *(
                A.creates(category.lower(), b"1", category)
                for category in ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")
            ),
            *(
                A.finds({"category": category}, category.lower())
                for category in ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")
            ),
        ),
        case(
            "all filters must be met",
            "memory §5 queryMemory: entries that meet every filter given",
            A.creates("a1", b"1", "CACHE"),
            A.creates("a2", b"1", "PATTERN"),
            after(1_000),
            A.creates("a3", b"1", "CACHE"),
            A.creates("b1", b"1", "CACHE"),
            A.finds(
                {"category": "CACHE", "keyPrefix": "a", "since": instant(1_000), "limit": 9}, "a3"
            ),
            A.finds({"category": "CACHE", "keyPrefix": "a"}, "a3", "a1"),
            A.finds({"category": "CACHE", "limit": 2}, "b1", "a3"),
        ),
    ]


def _visible() -> list[Case]:
    three = [
        A.creates("mine", access=_MINE),
        A.creates("ours", access=access("SAME_DOMAIN")),
        A.creates("all", access=_ALL),
    ]
    return [
        case("the creator's query gives all", _SILENT, *three, A.finds({}, "all", "ours", "mine")),
        case(
            "a query in the creator's domain leaves out what is the creator's alone",
            _SILENT,
            *three,
            B.finds({}, "all", "ours"),
        ),
        case(
            "a query in another domain gives what is for all",
            _SILENT,
            *three,
            C.finds({}, "all"),
            D.finds({}, "all"),
        ),
        case(
            "what is left out is on no record",
            _SILENT,
            A.creates("mine", access=_MINE),
            B.finds({}),
            B.finds({"keyPrefix": "mine"}),
        ),
        case(
            "the limit counts what the gene may read",
            "memory §5 queryMemory: entries the gene may read, at most limit",
            C.creates("old"),
            *(A.creates(f"k{n}", access=_MINE) for n in range(20)),
            C.finds({"limit": 1}, "old"),
        ),
        case(
            "the limit counts what meets the filters",
            "memory §5 queryMemory: entries that meet every filter given, at most limit",
            A.creates("old", b"1", "PATTERN"),
            *(A.creates(f"k{n}") for n in range(20)),
            A.finds({"limit": 1, "category": "PATTERN"}, "old"),
            A.finds({"limit": 1, "keyPrefix": "o"}, "old"),
        ),
    ]


def _limits() -> list[Case]:
    names = [f"k{n:04}" for n in reversed(range(1_001))]
    big = [A.creates(f"k{n}", bytes(_MIB - 2), access=_ALL) for n in range(4)]
    half = _MIB // 2
    return [
        case(
            "the limit is 100 unless it is given, and 1,000 at most",
            _LIMIT,
            DEPLOYER.fills(*reversed(names)),
            A.finds({}, *names[:100]),
            A.finds({"limit": 1_000}, *names[:1_000]),
            A.finds({"limit": 1}, names[0]),
            A.finds({"limit": 101}, *names[:101]),
        ),
        case(
            "an answer may be exactly 4 MiB",
            _WHOLE,
            *big,
            A.finds({}, "k3", "k2", "k1", "k0"),
        ),
        case(
            "an answer may not be 4 MiB and one byte",
            _WHOLE,
            *big[:3],
            A.creates("k9", bytes(_MIB - 1), access=_ALL),
            A.invalid("query", says=("4,194,304", "limit")),
            A.finds({"limit": 3}, "k9", "k2", "k1"),
            A.finds({"keyPrefix": "k9"}, "k9"),
        ),
        case(
            "keys count in an answer",
            _WHOLE,
            *(A.creates(f"{n}" * 1_024, bytes(half), "PATTERN") for n in range(8)),
            A.invalid("query"),
            A.finds({"limit": 7}, *(f"{n}" * 1_024 for n in range(7, 0, -1))),
        ),
        case(
            "what the gene may not read does not count in an answer",
            _WHOLE,
            *(A.creates(f"k{n}", bytes(_MIB), access=_MINE) for n in range(5)),
            C.creates("mine"),
            A.invalid("query", says=("4,194,304",)),
            C.finds({}, "mine"),
        ),
    ]


CASES: list[Case] = [*_order(), *_visible(), *_limits()]
