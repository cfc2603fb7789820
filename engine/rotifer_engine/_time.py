"""Times: text in RFC 3339, numbers in integer milliseconds since 1970 UTC (memory §2, §5).

The parser is our own because ``datetime.fromisoformat`` takes forms that RFC 3339 does not.
Decisions, all **[ours]**:

- ``t`` and ``z`` in lower case are accepted, as RFC 3339 §5.6 allows; a space for the ``T`` is not.
- The offset is required; ``-00:00`` is read as UTC.
- Second 60 is accepted only where a leap second can be, 23:59:60 UTC at the end of a month, and
  means the same instant as the following 00:00:00, as POSIX time has it.
- Years 0000 to 9999, proleptic Gregorian; any number of fraction digits.
"""

from __future__ import annotations

from functools import lru_cache

from rotifer_engine._input import kind, shown
from rotifer_engine.errors import InvalidInput

__all__ = ["DAY_MS", "format_time", "parse_time"]

DAY_MS = 86_400_000
_MINUTE_MS = 60_000
_EXAMPLE = "2026-01-31T08:30:00Z"

# Not compiled here: that would cost every start a millisecond, and `re` keeps it once used.
_RFC_3339 = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _MONTH_DAYS[month - 1]


def _days_from_date(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, counted in eras of 400 years that begin on 1 March."""
    if month <= 2:
        year -= 1
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def _date_from_days(days: int) -> tuple[int, int, int]:
    """The inverse of :func:`_days_from_date`."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def parse_time(text: object, what: str = "time", *, up: bool = False) -> int:
    """Read an RFC 3339 time with an offset.

    Args:
        text: the time, e.g. ``2026-01-31T08:30:00.5+02:00``.
        what: the name of the argument, for the message.
        up: a fraction finer than a millisecond goes up to the next one instead of being cut. For
            whole ``u``, both ``u >= t`` and ``u < t`` are the same with ``t`` rounded up, so the
            bounds of a query are compared exactly.

    Returns:
        Milliseconds since 1970-01-01T00:00:00Z; negative before.

    Raises:
        InvalidInput: it is no string, or not of that form.
    """
    if not isinstance(text, str):
        raise InvalidInput(
            f"{what} must be an RFC 3339 string such as {_EXAMPLE}; got {kind(text)}"
        )
    import re

    match = re.fullmatch(_RFC_3339, text)
    if match is None:
        raise InvalidInput(
            f"{what} is not an RFC 3339 time with an offset: {shown(text)}; "
            f"write it like {_EXAMPLE}"
        )
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    fraction, sign, offset_hours, offset_minutes = match.group(7, 8, 9, 10)
    offset = 0
    if sign is not None:
        if int(offset_hours) > 23 or int(offset_minutes) > 59:
            raise InvalidInput(f"{what} has no such offset: {shown(text)}; it goes to 23:59")
        offset = (int(offset_hours) * 60 + int(offset_minutes)) * (1 if sign == "+" else -1)
    if not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        raise InvalidInput(f"{what} has no such day: {shown(text)}")
    if hour > 23 or minute > 59 or second > 60:
        raise InvalidInput(f"{what} has no such time of day: {shown(text)}")
    minutes = _days_from_date(year, month, day) * 1_440 + hour * 60 + minute - offset
    if second == 60 and not _may_end_in_leap_second(minutes):
        raise InvalidInput(
            f"{what} has second 60 where no leap second can be: {shown(text)}; "
            "only 23:59:60 UTC at the end of a month"
        )
    ms = minutes * _MINUTE_MS + second * 1_000
    if fraction:
        ms += int(fraction[:3].ljust(3, "0"))
        if up and fraction[3:].strip("0"):
            ms += 1
    return ms


def _may_end_in_leap_second(minutes: int) -> bool:
    """Whether this minute (since 1970, UTC) is the last one of a month."""
    days, minute_of_next_day = divmod(minutes + 1, 1_440)
    return minute_of_next_day == 0 and _date_from_days(days)[2] == 1


@lru_cache(maxsize=64)
def _date_text(days: int) -> str:
    year, month, day = _date_from_days(days)
    if 0 <= year <= 9_999:
        return f"{year:04}-{month:02}-{day:02}T"
    # RFC 3339 stops at year 9999; beyond it, the signed six-digit years of ISO 8601 and JavaScript.
    return f"{'-' if year < 0 else '+'}{abs(year):06}-{month:02}-{day:02}T"


@lru_cache(maxsize=4096)  # what is read again has the times it had; a read has some 15 µs in all
def format_time(ms: int) -> str:
    """Print milliseconds since 1970 as ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    days, rest = divmod(ms, DAY_MS)
    seconds, millis = divmod(rest, 1_000)
    minutes, second = divmod(seconds, 60)
    return f"{_date_text(days)}{minutes // 60:02}:{minutes % 60:02}:{second:02}.{millis:03}Z"
