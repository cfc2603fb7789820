"""What a query's filters mean, and which are refused (memory §5)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import A, B, after
from rotifer_engine.conformance._values import START, Kept, instant

_PREFIX = (
    "memory §5 keyPrefix: plain prefix of the key's bytes: %, _, *, ?, [ and \\ are ordinary; case "
    "matters"
)
_SINCE = "memory §5 since / until: compared with updatedAt; since inclusive, until exclusive"
_TIMES = "memory §5 since / until: RFC 3339 with an offset"
_LIMIT = "memory §5 limit: integer 1..1000, default 100; anything else is MEMORY_INVALID_INPUT"
_UNKNOWN = "memory §5 queryMemory: an unknown field is MEMORY_INVALID_INPUT"

_KEYS = (
    "a", "ab", "aB", "abc", "A", "b", "%", "a%", "a%b", "_", "a_", "a_b", "axb", "*", "a*", "?",
    "a?", "[", "[a]", "a[b]", "\\", "a\\", "a\\%", "é", "e\u0301", "éa", "\U0001f600", "\u00ff",
    "\u0100", "\uffff", "\U0010ffff", "\U0010ffff\U0010ffff",
)  # fmt: skip

_DECOYS = ("A", "aB", "a_b", "axb", "b", "éa", "\u0100", "\uffff")


def _prefixes() -> list[Case]:
    names = {
        "": "nothing",
        "a": "a letter",
        "ab": "two letters",
        "abc": "a whole key",
        "abcd": "more than any key",
        "%": "a percent sign",
        "a%": "a letter and a percent sign",
        "_": "an underscore",
        "a_": "a letter and an underscore",
        "*": "an asterisk",
        "?": "a question mark",
        "[": "a bracket",
        "a[": "a letter and a bracket",
        "[a-z]": "a class",
        "\\": "a backslash",
        "a\\": "a letter and a backslash",
        "\\%": "an escaped percent sign",
        "é": "a composed letter",
        "e": "the first half of a decomposed letter",
        "\U0001f600": "an emoji",
        "\uffff": "the last character of two bytes in UTF-16",
        "\U0010ffff": "the last character",
        "\0": "a NUL",
    }
    return [
        case(
            f"a prefix may be {name}",
            _PREFIX,
            *(A.creates(key, b"") for key in _near(prefix)),
            A.finds({"keyPrefix": prefix}, *_matching(prefix)),
            A.finds({"keyPrefix": prefix, "limit": 1}, *_matching(prefix)[:1]),
        )
        for prefix, name in names.items()
    ]


def _near(prefix: str) -> list[str]:
    """The keys that it matches, and some that a pattern or another collation would match too."""
    return [key for key in _KEYS if key in _DECOYS or key.startswith(prefix)]


def _matching(prefix: str) -> list[str]:
    return [key for key in reversed(_near(prefix)) if key.startswith(prefix)]


def _bad_filters() -> list[Case]:
    filters: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
        "an unknown field": (_UNKNOWN, {"prefix": "a"}, ("prefix",)),
        "a field in another case": (_UNKNOWN, {"keyprefix": "a"}, ()),
        "a key": (_UNKNOWN, {"key": "a"}, ()),
        "a field of ours that is no filter": (_UNKNOWN, {"createdBy": "A"}, ()),
        "a number for keyPrefix": (_PREFIX, {"keyPrefix": 5}, ()),
        "null for keyPrefix": (_PREFIX, {"keyPrefix": None}, ()),
        "a lone surrogate in keyPrefix": (_PREFIX, {"keyPrefix": "a\ud800"}, ()),
        "an unknown category": (_UNKNOWN, {"category": "SECRET"}, ()),
        "limit 0": (_LIMIT, {"limit": 0}, ("1,000",)),
        "limit -1": (_LIMIT, {"limit": -1}, ("1,000",)),
        "limit 1,001": (_LIMIT, {"limit": 1_001}, ("1,001", "1,000")),
        "limit 2^53": (_LIMIT, {"limit": 2**53}, ()),
        "limit one and a half": (_LIMIT, {"limit": 1.5}, ("1.5",)),
        "limit in text": (_LIMIT, {"limit": "10"}, ()),
        "limit null": (_LIMIT, {"limit": None}, ()),
        "limit true": (_LIMIT, {"limit": True}, ()),
        **{
            f"since {name}": (_TIMES, {"since": text}, ())
            for name, text in {
                "without an offset": "2026-01-31T08:30:00",
                "without a time": "2026-01-31",
                "with a space": "2026-01-31 08:30:00Z",
                "with an offset without minutes": "2026-01-31T08:30:00+01",
                "with an offset without a colon": "2026-01-31T08:30:00+0100",
                "in a month that is not": "2026-13-01T00:00:00Z",
                "on a day that is not": "2026-02-29T00:00:00Z",
                "in hour 24": "2026-01-31T24:00:00Z",
                "in a leap second that cannot be": "2026-01-31T08:30:60Z",
                "with white space behind it": "2026-01-31T08:30:00Z\n",
                "with two digits of a year": "26-01-31T08:30:00Z",
                "in Arabic digits": "٢٠٢٦-01-31T08:30:00Z",
                "in numbers": 1_769_848_200_000,
                "of nothing": "",
                "null": None,
            }.items()
        },
        "until without an offset": (_TIMES, {"until": "2026-01-31T08:30:00"}, ()),
        "until in words": (_TIMES, {"until": "tomorrow"}, ()),
    }
    return [
        case(
            f"a filter may not have {name}",
            rule,
            A.creates("k"),
            A.invalid("query", says=says, **given),
            A.finds({}, "k"),
        )
        for name, (rule, given, says) in filters.items()
    ]


def _times() -> list[Case]:
    # 1,790,000,000,000 ms is the instant that these texts name, each its own way.
    assert START == 1_790_000_000_000
    same = {
        "in UTC": "2026-09-21T14:13:20Z",
        "in lower case": "2026-09-21t14:13:20z",
        "ahead of UTC": "2026-09-21T16:13:20+02:00",
        "behind UTC": "2026-09-21T04:43:20-09:30",
        "of the day after": "2026-09-22T00:13:20+10:00",
        "with a fraction of nothing": "2026-09-21T14:13:20.000000000Z",
        "with an unknown local offset": "2026-09-21T14:13:20-00:00",
    }
    hair = "2026-09-21T14:13:20.0000000001Z"
    return [
        *(
            case(
                f"since and until know an instant {name}",
                _TIMES,
                A.creates("k"),
                A.finds({"since": text}, "k"),
                A.finds({"until": text}),
            )
            for name, text in same.items()
        ),
        case(
            "since takes its own instant in, and nothing before it",
            _SINCE,
            A.creates("before"),
            after(1),
            A.creates("at"),
            after(1),
            A.creates("after"),
            A.finds({"since": instant(1)}, "after", "at"),
            A.finds({"since": instant(0)}, "after", "at", "before"),
            A.finds({"since": instant(3)}),
        ),
        case(
            "until leaves its own instant out, and everything after it",
            _SINCE,
            A.creates("before"),
            after(1),
            A.creates("at"),
            after(1),
            A.creates("after"),
            A.finds({"until": instant(1)}, "before"),
            A.finds({"until": instant(0)}),
            A.finds({"until": instant(3)}, "after", "at", "before"),
        ),
        case(
            "since and until together are a period",
            _SINCE,
            A.creates("k0"),
            *(step for n in range(1, 5) for step in (after(1_000), A.creates(f"k{n}"))),
            A.finds({"since": instant(1_000), "until": instant(3_000)}, "k2", "k1"),
            A.finds({"since": instant(2_000), "until": instant(2_000)}),
            A.finds({"since": instant(3_000), "until": instant(1_000)}),
        ),
        case(
            "the time that counts is that of the last update",
            _SINCE,
            A.creates("k"),
            after(1_000),
            A.updates(Kept("k", b"1", "CACHE", "A")),
            A.finds({"since": instant(1)}, "k"),
            A.finds({"until": instant(1_000)}),
        ),
        case(
            "a read is no update",
            _SINCE,
            A.creates("k"),
            after(1_000),
            B.reads(Kept("k", b"1", "CACHE", "A")),
            A.finds({"since": instant(1)}),
        ),
        case(
            "a bound finer than a millisecond is compared exactly",
            _SINCE,
            A.creates("k"),
            after(1),
            A.creates("k2"),
            A.finds({"since": hair}, "k2"),
            A.finds({"until": hair}, "k"),
        ),
    ]


CASES: list[Case] = [*_prefixes(), *_bad_filters(), *_times()]
