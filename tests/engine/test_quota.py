"""Quota texts, and the plan of what goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_engine import DEFAULT_QUOTA_BYTES, InvalidInput, format_size, parse_quota
from rotifer_engine._quota import plan_eviction


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("512KB", 524_288),
        ("1.5GB", 1_610_612_736),
        ("50MB", 52_428_800),
        ("50mb", 52_428_800),
        ("1Kb", 1_024),
        (".5kB", 512),
        ("0.001KB", 1),
        ("0.0005KB", 1),
        ("007KB", 7_168),
        ("8388607.9999999GB", 9_007_199_254_740_885),
        ("8796093022207.999KB", 2**53 - 1),
    ],
)
def test_quotas(text, expected):
    """A number with KB, MB or GB in any case; 1 KB is 1,024 bytes."""
    assert expected == parse_quota(text)


@pytest.mark.parametrize(
    "text",
    ["", "10", "MB", ".MB", "1.MB", "-5MB", "+5MB", "0KB", "0.0GB", "0.0004KB", "5TB", "5B", "5 MB", " 5MB",
     "5MB ", "5MB\n", "1e3MB", "0x5MB", "1,5MB", "1_000KB", "NaNMB", "InfinityMB", "٥MB", "8388608GB",
     "9" * 99 + "GB", "1." + "0" * 200 + "MB", None, 5, 5.0, b"5MB"],
)  # fmt: skip
def test_other_quotas_are_refused(text):
    """No unit, no number, nothing or too much: refused with an example or a limit."""
    with pytest.raises(
        InvalidInput, match=r"memory quota .*(512KB or 1\.5GB|9,007,199,254,740,991)"
    ):
        parse_quota(text)


def test_the_default_is_ten_megabytes():
    """10 MB of 1,024 x 1,024 bytes."""
    assert DEFAULT_QUOTA_BYTES == parse_quota("10MB")


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (17, "17 B"), (1_023, "1023 B"), (1_024, "1 KB"), (1_536, "1.5 KB"),
     (10 * 1024**2, "10 MB"), (3 * 1024**3 // 2, "1.5 GB"), (2**53, "8,388,608 GB")],
)  # fmt: skip
def test_sizes_for_people(size, expected):
    """Sizes are printed in the units that quotas are given in."""
    assert expected == format_size(size)


def test_nothing_goes_when_it_fits():
    """No candidate is even looked at."""
    assert [] == plan_eviction(0, iter(lambda: 1 / 0, None))


def test_only_until_it_fits():
    """One at a time, in order, and not one more; the next is not read."""
    seen = []

    def candidates():
        for name, size in (("x", 3), ("y", 4), ("z", 5)):
            seen.append(name)
            yield name, size

    assert ["x", "y"] == plan_eviction(7, candidates())
    assert ["x", "y"] == seen


def test_nothing_goes_when_all_is_not_enough():
    """The plan is refused as a whole."""
    assert plan_eviction(13, [("x", 3), ("y", 4), ("z", 5)]) is None


@given(st.integers(1, 200), st.lists(st.integers(0, 50)))
def test_a_plan_is_a_shortest_beginning(excess, sizes):
    """What is chosen is enough, and without its last would not be."""
    plan = plan_eviction(excess, list(enumerate(sizes)))

    if plan is None:
        assert sum(sizes) < excess
    else:
        assert plan == list(range(len(plan)))
        assert sum(sizes[: len(plan)]) >= excess > sum(sizes[: len(plan) - 1])
