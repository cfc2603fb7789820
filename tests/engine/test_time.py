"""RFC 3339 in, milliseconds inside, one form out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_engine import InvalidInput, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.1Z", 100),
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1970-01-01T00:00:00." + "9" * 5_000 + "Z", 999),
        ("1970-01-01T00:00:00+00:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T00:01:00-23:59", 0),
        ("1970-01-01T23:59:00+23:59", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("0000-02-29T00:00:00Z", -62_162_121_600_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2017-01-01T00:59:60.5+01:00", 1_483_228_800_500),
        ("1990-12-31T15:59:60-08:00", 662_688_000_000),
        ("2021-02-28T23:59:60Z", 1_614_556_800_000),
    ],
)
def test_accepted_times(text, expected):
    """Every form of RFC 3339 is read exactly; a finer fraction is cut."""
    assert expected == parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-31",
        "20260131T083000Z",
        "2026-01-31T08:30Z",
        "2026-01-31T08:30:00",
        "2026-01-31 08:30:00Z",
        "2026-W05-6T08:30:00Z",
        "2026-031T08:30:00Z",
        "2026-01-31T08:30:00,5Z",
        "2026-01-31T08:30:00.Z",
        "2026-01-31T08:30:00+0200",
        "2026-01-31T08:30:00+02",
        "2026-01-31T08:30:00+24:00",
        "2026-01-31T08:30:00+02:60",
        "2026-01-31T08:30:00−02:00",
        "2026-01-31T24:00:00Z",
        "2026-01-31T08:60:00Z",
        "2026-01-31T08:30:61Z",
        "2026-01-31T08:30:60Z",
        "2026-01-30T23:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "2026-13-10T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "-001-01-01T00:00:00Z",
        "+002026-01-01T00:00:00Z",
        "2026-01-31T08:30:00Z\n",
        " 2026-01-31T08:30:00Z",
        "２０２６-01-31T08:30:00Z",
        "2026-01-31T08:30:00ZZ",
    ],
)
def test_refused_times(text):
    """What RFC 3339 does not have is refused, and the text is shown."""
    with pytest.raises(InvalidInput, match=r"^since "):
        parse_time(text, "since")


@pytest.mark.parametrize("value", [None, 0, 1.5, True, datetime(2026, 1, 1, tzinfo=UTC)])
def test_times_are_strings(value):
    """A number is no time at this door."""
    with pytest.raises(InvalidInput, match="until must be an RFC 3339 string"):
        parse_time(value, "until")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.0010000Z", 1),
        ("1970-01-01T00:00:00.0010001Z", 2),
        ("1970-01-01T00:00:00." + "0" * 400 + "1Z", 1),
        ("1969-12-31T23:59:59.9991Z", 0),
    ],
)
def test_a_bound_goes_up_to_the_next_millisecond(text, expected):
    """For whole milliseconds, comparing with the time rounded up is comparing exactly."""
    assert expected == parse_time(text, up=True)


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
        (2**63 - 1, "+292278994-08-17T07:12:55.807Z"),
    ],
)
def test_printed_times(ms, expected):
    """The one form for years 0 to 9999; beyond them the signed years of ISO 8601."""
    assert expected == format_time(ms)


@given(st.integers(min_value=-62_135_596_800_000, max_value=253_402_300_799_999))
def test_agrees_with_datetime(ms):
    """Printing agrees with the standard library wherever it can count."""
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)

    assert expected.strftime("%m-%dT%H:%M:%S.") in format_time(ms)
    assert f"{expected.year:04}-" == format_time(ms)[:5]


@given(st.integers(min_value=-62_167_219_200_000, max_value=253_402_300_799_999))
def test_what_is_printed_is_read_back(ms):
    """Every time of the years 0 to 9999 comes back the same."""
    assert ms == parse_time(format_time(ms))
