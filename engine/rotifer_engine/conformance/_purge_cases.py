"""The expiry scenario: an expired entry is absent, and purged (memory §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import (
    DEPLOYER,
    NOT_FOUND,
    A,
    B,
    C,
    Nobody,
    Step,
    after,
    elsewhere,
    set_agent,
)
from rotifer_engine.conformance._values import DAY, Kept, access, instant, retention

_ABSENT = "memory §7: expired is the same as absent for every call and for usage"
_NEW = "memory §7: writing the key again creates a new entry"
_PURGED = (
    "memory §7: expired entries are purged at the agent's next read, query, write, delete or "
    "agent memory list, one audit line each"
)
_REVIVE = "memory §7: a read of an expired entry must not revive it"

_ALL = access("ALL_GENES")
_MINE = access("CREATOR_GENE_ONLY")
_DAY = Kept("k", b"1", "CACHE", "A", retention=retention(1))


def _gone(key: str = "k", days: int = 1, **more: Any) -> Kept:
    return Kept(key, b"1", "CACHE", "A", retention=retention(days), **more)


def _absence() -> list[Case]:
    def late(name: str, rule: str, *steps: Step, **written: Any) -> Case:
        return case(
            name, rule, A.creates("k", retention=retention(1), **written), after(DAY), *steps
        )

    return [
        late("an expired entry reads as null", _ABSENT, A.misses("k", expiring=[_DAY])),
        late(
            "an expired entry reads as null in its category",
            _ABSENT,
            A.misses("k", "CACHE", expiring=[_DAY]),
        ),
        late("a query leaves an expired entry out", _ABSENT, A.finds({}, expiring=[_DAY])),
        late(
            "a query for an expired entry leaves it out",
            _ABSENT,
            A.finds({"keyPrefix": "k", "category": "CACHE"}, expiring=[_DAY]),
        ),
        late(
            "a query for its time leaves an expired entry out",
            _ABSENT,
            A.finds({"since": instant(0), "until": instant(1)}, expiring=[_DAY]),
        ),
        late(
            "deleting an expired entry is not found",
            _ABSENT,
            A.misses_to_delete("k", expiring=[_DAY]),
        ),
        late(
            "an expired entry uses nothing",
            _ABSENT,
            DEPLOYER.uses(0),
            A.misses("k", expiring=[_DAY]),
        ),
        late(
            "the deployer does not see an expired entry", _ABSENT, DEPLOYER.lists(expiring=[_DAY])
        ),
        late(
            "the deployer cannot delete an expired entry",
            _ABSENT,
            DEPLOYER.refused("delete", NOT_FOUND, key="k", expiring=[_DAY]),
        ),
        late(
            "the deployer does not count expired entries of a category",
            _ABSENT,
            A.creates("k2", expiring=[_DAY]),
            DEPLOYER.clears("CACHE", Kept("k2", b"1", "CACHE", "A")),
        ),
        late(
            "an expired entry is closed to nobody",
            _ABSENT,
            B.misses("k", expiring=[_gone(access=_MINE)]),
            access=_MINE,
        ),
        late(
            "an expired entry keeps nobody from writing",
            _NEW,
            C.creates("k", b"new", expiring=[_gone(access=_MINE)]),
            C.reads(Kept("k", b"new", "CACHE", "C", created=DAY)),
            access=_MINE,
        ),
        late(
            "what is written after it is a new entry of its writer",
            _NEW,
            B.creates("k", b"2", "PATTERN", expiring=[_gone(access=_ALL)]),
            A.gets({}, Kept("k", b"2", "PATTERN", "B", created=DAY)),
            C.denied("read"),
            access=_ALL,
        ),
        late(
            "an expired policy binds no new entry",
            _NEW,
            A.creates("k", expiring=[_DAY]),
            after(900 * DAY),
            A.finds({}, "k"),
        ),
        late(
            "an expired entry does not move along",
            _ABSENT,
            DEPLOYER.carries(with_cache=True),
            elsewhere(A.misses("k")),
            A.misses("k", expiring=[_DAY]),
        ),
        late(
            "a read of an expired entry does not revive it",
            _REVIVE,
            A.misses("k", expiring=[_DAY]),
            A.misses("k"),
            A.finds({}),
            DEPLOYER.uses(0),
            A.creates("k"),
        ),
    ]


def _purging() -> list[Case]:
    three = [_gone(f"k{n}") for n in range(3)]
    makes = [A.creates(f"k{n}", retention=retention(1)) for n in range(3)]
    calls: tuple[tuple[str, Callable[..., Step]], ...] = (
        ("read", lambda **e: A.misses("k0", **e)),
        ("read of another key", lambda **e: A.misses("absent", **e)),
        ("query", lambda **e: A.finds({"keyPrefix": "x"}, **e)),
        ("write", lambda **e: A.creates("new", **e)),
        ("delete of another key", lambda **e: A.misses_to_delete("absent", **e)),
        ("list", lambda **e: DEPLOYER.lists(category="PATTERN", **e)),
        ("delete by the deployer", lambda **e: DEPLOYER.clears("PATTERN", **e)),
        ("denied write", lambda **e: C.denied("write", key="closed", **e)),
    )
    return [
        *(
            case(
                f"a {name} purges all that has expired, once",
                _PURGED,
                A.creates("closed", access=_MINE),
                *makes,
                after(DAY),
                call(expiring=three),
                B.finds({"keyPrefix": "k"}),
            )
            for name, call in calls
        ),
        case(
            "bad input purges nothing",
            "memory §4: input is validated before access is judged",
            *makes,
            after(DAY),
            A.invalid("read", key=""),
            A.invalid("query", limit=0),
            A.finds({}, expiring=three),
        ),
        case(
            "a gene without identity purges nothing",
            "memory §4: a gene without a v2 id gets MEMORY_ACCESS_DENIED on every call",
            *makes,
            after(DAY),
            Nobody.denied("read"),
            Nobody.denied("query"),
            A.finds({}, expiring=three),
        ),
        case(
            "each agent's expired entries are its own",
            _PURGED,
            A.creates("k", retention=retention(1)),
            elsewhere(A.creates("k", retention=retention(1))),
            after(DAY),
            A.misses("k", expiring=[_DAY]),
            elsewhere(A.misses("k", expiring=[_DAY])),
        ),
        case(
            "an expired entry is purged, not evicted",
            "memory §7: expired is the same as absent for usage",
            set_agent(quota=6),
            A.creates("k0", b"1", "PREFERENCE", retention=retention(1)),
            A.creates("c"),
            after(DAY),
            A.creates(
                "k1",
                b"1",
                expiring=[Kept("k0", b"1", "PREFERENCE", "A", retention=retention(1))],
            ),
            A.finds({}, "k1", "c"),
            DEPLOYER.uses(5),
        ),
        case(
            "what has expired makes room for what would not fit",
            "memory §7: expired is the same as absent for usage",
            set_agent(quota=6),
            A.creates("k0", b"1234", "PREFERENCE", retention=retention(1)),
            A.exceeds("k1", b"1"),
            after(DAY),
            A.creates(
                "k1",
                b"1234",
                "PREFERENCE",
                expiring=[Kept("k0", b"1234", "PREFERENCE", "A", retention=retention(1))],
            ),
        ),
        case(
            "what has expired is purged though the write is refused",
            _PURGED,
            set_agent(quota=6),
            *makes[:1],
            after(DAY),
            A.exceeds("k1", b"12345", expiring=three[:1]),
            A.finds({}),
        ),
        case(
            "the limit of a query does not count what has expired",
            "memory §5 queryMemory: entries the gene may read, at most limit",
            A.creates("old"),
            *makes,
            after(DAY),
            A.finds({"limit": 1}, "old", expiring=three),
        ),
    ]


CASES: list[Case] = [*_absence(), *_purging()]
