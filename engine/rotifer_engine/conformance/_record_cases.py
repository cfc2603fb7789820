"""What is recorded, what the deployer sees and does, what moves along (memory §9, §10, §11)."""

from __future__ import annotations

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import (
    DEPLOYER,
    INVALID,
    NOT_FOUND,
    A,
    B,
    C,
    Nobody,
    after,
    elsewhere,
    set_agent,
)
from rotifer_engine.conformance._values import DAY, Kept, access, retention

__all__ = ["CASES"]

_ALL = access("ALL_GENES")
_MINE = access("CREATOR_GENE_ONLY")
_RECORDED = (
    "memory §9: one line for create, update, delete, eviction, expiry, quota refusal, denied "
    "access, deployer delete"
)
_PLAIN = "memory §9: plain reads are not recorded"
_LIST = (
    "memory §10 list: key, category, size, creator, last update of each live entry; never values"
)
_DELETE = "memory §10 delete: ignores entry policies; every delete is audited as the deployer"
_MOVE = (
    "memory §11: PREFERENCE, PATTERN, CONTEXT go along with policies, createdBy, createdAt, "
    "updatedAt and update order unchanged; CACHE optionally"
)


def _lines() -> list[Case]:
    one = Kept("k", b"1", "CACHE", "A")
    return [
        case(
            "each change has its line",
            _RECORDED,
            A.creates("k"),
            B.updates(one, b"22", "PATTERN"),
            A.deletes(one._replace(value=b"22", category="PATTERN")),
        ),
        case(
            "reads and queries leave no line",
            _PLAIN,
            A.creates("k"),
            A.reads(one),
            B.reads(one),
            A.misses("k", "PATTERN"),
            A.misses("absent"),
            A.finds({}, "k"),
        ),
        case(
            "bad input leaves no line",
            _RECORDED,
            A.invalid("write", key=""),
            A.invalid("query", limit=0),
            A.misses_to_delete("k"),
        ),
        case(
            "each denied call has its line and its event",
            "memory §9 telemetry: one event per denied access",
            A.creates("k", access=_MINE),
            B.denied("read"),
            B.denied("read"),
            C.denied("write"),
            C.denied("delete"),
            Nobody.denied("query"),
            Nobody.denied("read", key="absent"),
        ),
        case(
            "a refused write has its line",
            _RECORDED,
            set_agent(quota=3),
            A.exceeds("k", b"1234"),
            A.exceeds("k", b"123", "PREFERENCE"),
            A.creates("k", b"12"),
        ),
        case(
            "a key of control characters stands in its line as it is",
            "memory §9: one JSON object a line",
            A.creates("a\n\x1b[2J\u2028\U0001f600"),
            A.deletes(Kept("a\n\x1b[2J\u2028\U0001f600", b"1", "CACHE", "A")),
        ),
        case(
            "a value is in no line",
            "memory §9: values never appear in it",
            A.creates("k", b"a secret value"),
            A.updates(one, b"another secret value"),
            B.denied("write", value=b"a third secret value", accessPolicy=_ALL),
            A.deletes(one._replace(value=b"another secret value")),
        ),
    ]


def _deployer() -> list[Case]:
    mine = Kept("k", b"1", "CACHE", "A", access=_MINE)
    bytewise = ["B", "a", "a!", "aa", "e\u0301", "é", "\uffff", "\U0001f600"]
    three = [
        Kept("c1", b"1", "CACHE", "A"),
        Kept("c2", b"22", "CACHE", "C", access=_MINE),
        Kept("p", b"", "PREFERENCE", "B"),
    ]
    writes = [
        A.creates("c1"),
        C.creates("c2", b"22", access=_MINE),
        B.creates("p", b"", "PREFERENCE"),
    ]
    return [
        case("the deployer sees all entries", _LIST, *writes, DEPLOYER.lists(*three)),
        case("the deployer of an empty memory sees none", _LIST, DEPLOYER.lists()),
        case(
            "the deployer may look at one category",
            _LIST,
            *writes,
            DEPLOYER.lists(*three[:2], category="CACHE"),
            DEPLOYER.lists(three[2], category="PREFERENCE"),
            DEPLOYER.lists(category="PATTERN"),
        ),
        case(
            "the deployer sees the last update",
            _LIST,
            A.creates("k"),
            after(5_000),
            B.updates(Kept("k", b"1", "CACHE", "A"), b"22"),
            DEPLOYER.lists(Kept("k", b"22", "CACHE", "A", updated=5_000)),
        ),
        case(
            "rows stand in the order of their keys' bytes",
            _LIST,
            *(A.creates(key) for key in reversed(bytewise)),
            DEPLOYER.lists(*(Kept(key, b"1", "CACHE", "A") for key in bytewise)),
        ),
        case(
            "looking changes nothing",
            "memory §2 lastAccessedBy: gene that last read or wrote it",
            A.creates("k", access=_ALL),
            DEPLOYER.lists(Kept("k", b"1", "CACHE", "A")),
            C.gets({}, Kept("k", b"1", "CACHE", "A", access=_ALL)),
        ),
        case(
            "an unknown category is refused",
            "memory §4: an unknown word for a category is MEMORY_INVALID_INPUT",
            *writes,
            DEPLOYER.refused("list", INVALID, category="cache"),
            DEPLOYER.refused("delete", INVALID, category="cache"),
            DEPLOYER.lists(*three),
        ),
        case(
            "the deployer deletes what no policy lets others delete",
            _DELETE,
            A.creates("k", access=_MINE),
            DEPLOYER.deletes(mine),
            A.misses("k"),
            DEPLOYER.uses(0),
        ),
        case(
            "a missing key is not found for the deployer too",
            "memory §10 delete: a missing key is MEMORY_NOT_FOUND",
            A.creates("k"),
            DEPLOYER.refused("delete", NOT_FOUND, key="k2"),
            DEPLOYER.lists(Kept("k", b"1", "CACHE", "A")),
        ),
        case(
            "a bad key is refused for the deployer too",
            "memory §2 key: non-empty, no NUL, at most 1,024 UTF-8 bytes",
            DEPLOYER.refused("delete", INVALID, key="a" * 1_025, says=("1,025", "1,024")),
        ),
        case(
            "the deployer empties a category",
            _DELETE,
            *writes,
            DEPLOYER.clears("CACHE", *three[:2]),
            DEPLOYER.lists(three[2]),
            DEPLOYER.uses(1),
        ),
        case(
            "emptying an empty category deletes none",
            _DELETE,
            *writes,
            DEPLOYER.clears("PATTERN"),
            DEPLOYER.lists(*three),
        ),
        case(
            "the deployer deletes in one agent only",
            "memory §1: an agent is the owner of one memory",
            A.creates("k"),
            elsewhere(A.creates("k")),
            DEPLOYER.clears("CACHE", Kept("k", b"1", "CACHE", "A")),
            elsewhere(A.reads(Kept("k", b"1", "CACHE", "A"))),
        ),
    ]


def _moving() -> list[Case]:
    kept = {
        "x": Kept("x", b"1", "CONTEXT", "A", access=_ALL, retention=retention(9)),
        "p": Kept("p", b"\x00\xff", "PREFERENCE", "C", access=_MINE),
        "c": Kept("c", b"1", "CACHE", "A"),
        "q": Kept("q", b"1", "PATTERN", "A", last="B", updated=2_000),
    }
    writes = [
        A.creates("q", b"0", "PATTERN"),
        A.creates("x", b"1", "CONTEXT", access=_ALL, retention=retention(9)),
        C.creates("p", b"\x00\xff", "PREFERENCE", access=_MINE),
        A.creates("c"),
        after(2_000),
        B.updates(kept["q"], b"1"),
        after(3_000),
    ]
    along = [kept[key] for key in "xpq"]
    return [
        case(
            "an agent moves with all but CACHE, as it was",
            _MOVE,
            *writes,
            DEPLOYER.carries(*along),
            elsewhere(A.gets({}, kept["q"], kept["x"])),
            elsewhere(C.reads(kept["p"])),
            elsewhere(A.misses("c")),
        ),
        case(
            "CACHE may move along",
            _MOVE,
            *writes,
            DEPLOYER.carries(*(kept[key] for key in "xpcq"), with_cache=True),
            elsewhere(A.finds({}, "q", "c", "x")),
        ),
        case(
            "the update order moves along",
            _MOVE,
            *writes,
            DEPLOYER.carries(*along),
            set_agent(quota=8),
            elsewhere(A.creates("n", b"1", "PREFERENCE", evicting=[kept["q"]])),
            elsewhere(A.finds({}, "n", "x")),
        ),
        case(
            "time runs on for what has moved",
            "memory §11: updatedAt unchanged",
            *writes,
            DEPLOYER.carries(*along),
            after(9 * DAY - 5_000 - 1),
            elsewhere(A.reads(kept["x"])),
            after(1),
            elsewhere(A.misses("x", expiring=[kept["x"]])),
        ),
        case(
            "the agent that moves keeps what it has",
            _MOVE,
            *writes,
            DEPLOYER.carries(*along),
            A.finds({}, "q", "c", "x"),
            elsewhere(A.deletes(kept["q"])),
            A.reads(kept["q"]),
        ),
        case(
            "an empty memory moves",
            _MOVE,
            DEPLOYER.carries(),
            elsewhere(DEPLOYER.lists()),
        ),
    ]


CASES: list[Case] = [*_lines(), *_deployer(), *_moving()]
