"""The expiry scenario: how long entries stay (memory §7)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import (
    A,
    B,
    C,
    after,
    set_agent,
)
from rotifer_engine.conformance._values import DAY, Kept, instant, retention

_INSTANT = (
    "memory §7: an entry expires at the instant updatedAt + N x 86,400 s: at that instant it is "
    "gone"
)
_RESTART = "memory §7: rewriting restarts it"
_NEVER = "memory §7: entry policy with maxRetentionDays: null = never"
_FOLLOW = "memory §7: entry policy null = the agent's data policy (default: no limit)"
_PURGED = (
    "memory §7: expired entries are purged at the agent's next read, query, write, delete or "
    "agent memory list, one audit line each"
)
_OVERFLOW = "memory §7: N up to 2147483647 must not overflow anything"

_DAY = Kept("k", b"1", "CACHE", "A", retention=retention(1))
_FOLLOWING = Kept("k", b"1", "CACHE", "A")


def _gone(key: str = "k", days: int = 1, **more: Any) -> Kept:
    return Kept(key, b"1", "CACHE", "A", retention=retention(days), **more)


def _instants() -> list[Case]:
    return [
        *(
            case(
                f"an entry of {days:,} days is gone at its instant and there 1 ms before",
                _INSTANT,
                A.creates("k", retention=retention(days)),
                after(days * DAY - 1),
                A.reads(_gone(days=days)),
                A.finds({}, "k"),
                after(1),
                A.misses("k", expiring=[_gone(days=days)]),
                A.finds({}),
            )
            for days in (1, 7, 365, 10_000)
        ),
        case(
            "an entry is gone after its instant too",
            _INSTANT,
            A.creates("k", retention=retention(1)),
            after(400 * DAY),
            A.misses("k", expiring=[_gone()]),
        ),
        case(
            "time counts from the last update to the millisecond",
            _INSTANT,
            after(7),
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            A.reads(_gone(created=7)),
            after(1),
            A.misses("k", expiring=[_gone()]),
        ),
        case(
            "entries of different limits go one after the other",
            _INSTANT,
            *(A.creates(f"k{days}", retention=retention(days)) for days in (3, 1, 2)),
            after(DAY),
            A.finds({}, "k2", "k3", expiring=[_gone("k1", 1)]),
            after(DAY),
            A.finds({}, "k3", expiring=[_gone("k2", 2)]),
            after(DAY),
            A.finds({}, expiring=[_gone("k3", 3)]),
        ),
        case(
            "the largest limit does not end too soon",
            _OVERFLOW,
            A.creates("k", retention=retention(2_147_483_647)),
            after(100_000 * DAY),
            A.reads(_gone(days=2_147_483_647)),
            B.updates(_gone(days=2_147_483_647)),
            A.finds({"since": instant(DAY)}, "k"),
        ),
        case(
            "a data policy of the largest limit ends nothing too soon",
            _OVERFLOW,
            set_agent(days=2_147_483_647),
            A.creates("k"),
            after(100_000 * DAY),
            A.reads(_FOLLOWING),
        ),
        case(
            "a clock that is set back gives time back, and takes nothing",
            "memory §7: an entry expires at the instant updatedAt + N x 86,400 s",
            A.creates("k", retention=retention(1)),
            after(-5 * DAY),
            A.reads(_DAY),
            after(6 * DAY - 1),
            A.reads(_DAY),
            after(1),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "what was purged does not come back with the clock",
            _PURGED,
            A.creates("k", retention=retention(1)),
            after(DAY),
            A.misses("k", expiring=[_DAY]),
            after(-DAY),
            A.misses("k"),
            A.finds({}),
        ),
    ]


def _restarting() -> list[Case]:
    return [
        case(
            "a write without policies restarts the time",
            _RESTART,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            A.updates(_DAY),
            after(DAY - 1),
            A.reads(_DAY._replace(value=b"2", updated=DAY - 1)),
            after(1),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "a write of another gene restarts the time",
            _RESTART,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            B.updates(_DAY),
            after(DAY - 1),
            A.finds({}, "k"),
            after(1),
            A.finds({}, expiring=[_DAY]),
        ),
        case(
            "a write of the same value restarts the time",
            _RESTART,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            A.updates(_DAY, b"1"),
            after(DAY - 1),
            A.finds({}, "k"),
        ),
        case(
            "a read restarts nothing",
            _INSTANT,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            B.reads(_DAY),
            after(1),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "a query restarts nothing",
            _INSTANT,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            B.finds({}, "k"),
            after(1),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "a refused write restarts nothing",
            _INSTANT,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            C.denied("write"),
            A.invalid("write", category="SECRET"),
            after(1),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "the creator may give more time",
            _RESTART,
            A.creates("k", retention=retention(1)),
            after(DAY - 1),
            A.updates(_DAY, retention=retention(3)),
            after(3 * DAY - 1),
            A.finds({}, "k"),
            after(1),
            A.finds({}, expiring=[_gone(days=3)]),
        ),
        case(
            "the creator may give less time",
            _RESTART,
            A.creates("k", retention=retention(9)),
            A.updates(_gone(days=9), retention=retention(1)),
            after(DAY),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "the creator may take the limit away",
            _NEVER,
            A.creates("k", retention=retention(1)),
            A.updates(_DAY, retention=retention(None)),
            after(9_999 * DAY),
            A.finds({}, "k"),
        ),
    ]


def _following() -> list[Case]:
    for_ever = Kept("k", b"1", "CACHE", "A", retention=retention(None))
    return [
        case(
            "by default an entry stays for ever",
            _FOLLOW,
            A.creates("k"),
            after(20_000 * DAY),
            A.reads(_FOLLOWING),
        ),
        case(
            "an entry without a limit of its own stays for ever",
            _NEVER,
            A.creates("k", retention=retention(None)),
            after(20_000 * DAY),
            A.reads(for_ever),
        ),
        case(
            "an entry that follows goes when the agent's limit is over",
            _FOLLOW,
            set_agent(days=7),
            A.creates("k"),
            after(7 * DAY - 1),
            A.reads(_FOLLOWING),
            after(1),
            A.misses("k", expiring=[_FOLLOWING]),
        ),
        case(
            "an agent's limit that comes later counts for what is there",
            _FOLLOW,
            A.creates("k"),
            after(3 * DAY),
            A.reads(_FOLLOWING),
            set_agent(days=3),
            A.misses("k", expiring=[_FOLLOWING]),
        ),
        case(
            "an agent's limit that goes gives time to what is there",
            _FOLLOW,
            set_agent(days=3),
            A.creates("k"),
            after(2 * DAY),
            set_agent(),
            after(900 * DAY),
            A.reads(_FOLLOWING),
        ),
        case(
            "an agent's limit is not that of an entry with its own",
            _NEVER,
            A.creates("for ever", retention=retention(None)),
            A.creates("k", retention=retention(9)),
            A.creates("following"),
            set_agent(days=3),
            after(3 * DAY),
            A.finds({}, "k", "for ever", expiring=[Kept("following", b"1", "CACHE", "A")]),
            after(6 * DAY),
            A.finds({}, "for ever", expiring=[_gone("k", 9)]),
        ),
        case(
            "an entry's own limit is shorter than the agent's",
            _INSTANT,
            set_agent(days=7),
            A.creates("k", retention=retention(1)),
            after(DAY),
            A.misses("k", expiring=[_DAY]),
        ),
        case(
            "an entry that follows again goes with the agent",
            "memory §5 writeMemory: retentionPolicy: null means follow the agent again",
            set_agent(days=7),
            A.creates("k", retention=retention(1)),
            A.updates(_DAY, retention=None),
            after(7 * DAY - 1),
            A.finds({}, "k"),
            after(1),
            A.finds({}, expiring=[_FOLLOWING]),
        ),
        case(
            "rewriting restarts the time of an entry that follows",
            _RESTART,
            set_agent(days=7),
            A.creates("k"),
            after(7 * DAY - 1),
            B.updates(_FOLLOWING),
            after(7 * DAY - 1),
            A.finds({}, "k"),
            after(1),
            A.finds({}, expiring=[_FOLLOWING]),
        ),
    ]


CASES: list[Case] = [*_instants(), *_restarting(), *_following()]
