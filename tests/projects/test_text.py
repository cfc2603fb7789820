"""Text of strangers on a terminal."""

from __future__ import annotations

import json

import pytest

from rotifer_bridge._text import json_for_people, lines, printable, table, width

NASTY = [
    "\x1b[31m",
    "\x9b31m",
    "\x07",
    "\r",
    "\x7f",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u2028",
    "\ud800",
    "\ufeff",
]


@pytest.mark.parametrize("text", NASTY)
def test_nothing_drives_the_terminal(text):
    """C0, C1, DEL, bidirectional overrides, line separators, lone surrogates: all escaped."""
    assert printable(text).isprintable()
    assert lines(text).isprintable()
    assert printable(text).encode()


def test_what_prints_stays():
    """Letters of any script, spaces and emoji are as they were."""
    assert "añ 日本 🙂" == printable("añ 日本 🙂")


def test_lines_keep_their_line_feeds():
    """Text of several lines stays so; tabs too."""
    assert "a\n\tb\n\\x1b[0m" == lines("a\n\tb\n\x1b[0m")


def test_json_stays_json():
    """Escaped as JSON escapes, so that it can be read back."""
    value = {"key\x9b": ["".join(NASTY), "日本", "\u202e", 1.5, None]}
    text = json_for_people(value)

    assert value == json.loads(text)
    assert text.replace("\n", "").isprintable()
    assert "日本" in text


def test_width():
    """Wide letters take two columns, combining marks none."""
    assert 2 == width("ab")
    assert 4 == width("日本")
    assert 1 == width("e\u0301")


def test_table():
    """Columns line up, also with wide letters; a long cell overflows its own line only."""
    text = table(["K", "Size"], [["日", "1 B"], ["a" * 100, "10 B"]], right=frozenset({1}))
    head, first, second = text.split("\n")

    assert 70 + 2 + 4 == width(first)
    assert head.endswith("Size")
    assert "a" * 100 + "  10 B" == second
