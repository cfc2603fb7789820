"""What may be handed in, and what is refused with which figure."""

from __future__ import annotations

import base64

import pytest

from rotifer_engine import ABSENT, InvalidInput, decode_value
from rotifer_engine._input import (
    check_category,
    check_fields,
    check_integer,
    check_key,
    check_prefix,
    check_value,
    kind,
    shown,
)

MIB = 1_048_576


@pytest.mark.parametrize(
    "key",
    [
        "k",
        " ",
        "\n",
        "\x1b[2J",
        "a" * 1_024,
        "é" * 512,
        "😀" * 256,
        "%_*?[\\",
        "e\N{COMBINING ACUTE ACCENT}",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "\uffff",
    ],
)
def test_keys_are_kept_as_given(key):
    """Any well-formed text of 1 to 1,024 bytes is a key, byte for byte."""
    assert key.encode() == check_key(key)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "key is empty; it needs at least one byte"),
        ("a" * 1_030, "key is 1,030 bytes; the limit is 1,024"),
        ("a" * 1_022 + "é" + "b", "key is 1,025 bytes; the limit is 1,024"),
        ("😀" * 257, "key is 1,028 bytes; the limit is 1,024"),
        ("a\0b", "key has a NUL character at byte 1; a key cannot hold one"),
        ("\0", "key has a NUL character at byte 0; a key cannot hold one"),
        ("ab\ud800", "key is not well-formed Unicode: a lone surrogate U+D800 at position 2"),
        ("\udfff", "key is not well-formed Unicode: a lone surrogate U+DFFF at position 0"),
        (None, "key must be a string; got null"),
        (ABSENT, "key must be a string; got nothing"),
        (1, "key must be a string; got a number"),
        (True, "key must be a string; got a boolean"),
        (b"k", "key must be a string; got bytes"),
        (["k"], "key must be a string; got an array"),
        ({"k": 1}, "key must be a string; got an object"),
        (object(), "key must be a string; got object"),
    ],
)
def test_bad_keys_are_refused(key, message):
    """A bad key names the rule, the figure and the limit."""
    with pytest.raises(InvalidInput) as caught:
        check_key(key)

    assert message == str(caught.value)


@pytest.mark.parametrize("prefix", ["", "a\0", "x" * 5_000])
def test_a_prefix_need_not_be_a_key(prefix):
    """Any well-formed text is a prefix."""
    assert prefix.encode() == check_prefix(prefix)


@pytest.mark.parametrize("prefix", [None, 1, b"a", "\ud800"])
def test_bad_prefixes_are_refused(prefix):
    """A prefix that is no well-formed string is refused by name."""
    with pytest.raises(InvalidInput, match=r"^keyPrefix "):
        check_prefix(prefix)


@pytest.mark.parametrize(
    "value", [b"", b"x", bytes(range(256)), bytearray(b"ab"), memoryview(b"abc")[::2], bytes(MIB)]
)
def test_values_become_bytes(value):
    """Every kind of bytes up to 1 MiB is taken, the empty one too."""
    assert bytes(value) == check_value(value)
    assert type(check_value(value)) is bytes


@pytest.mark.parametrize("value", [bytes(MIB + 1), memoryview(bytes(2 * MIB)).cast("Q")])
def test_a_value_over_a_mebibyte_is_refused(value):
    """The message has the size in bytes and the limit."""
    with pytest.raises(InvalidInput, match=r"value is [\d,]+ bytes; the limit is 1,048,576"):
        check_value(value)


@pytest.mark.parametrize("value", ["text", None, 1, [1, 2], {"0": 1}])
def test_a_value_that_is_no_bytes_is_refused(value):
    """Text is no value: nobody guesses its encoding."""
    with pytest.raises(InvalidInput, match="value must be bytes; got"):
        check_value(value)


@pytest.mark.parametrize("value", [b"", b"a", b"ab", b"abc", bytes(range(256)), bytes(MIB)])
def test_canonical_base64_is_decoded(value):
    """What the encoder writes is read back."""
    assert value == decode_value(base64.b64encode(value).decode())


@pytest.mark.parametrize(
    "text",
    [
        "YQ",
        "YQ=",
        "YR==",
        "Y Q==",
        "YQ==\n",
        "YQ===",
        "_w==",
        "-w==",
        "YQ==YQ==",
        "é",
        "=",
        "A",
        "\ud800",
    ],
)
def test_any_other_base64_is_refused(text):
    """No missing padding, stray bits, other alphabet, white space or concatenation."""
    with pytest.raises(InvalidInput, match="base64"):
        decode_value(text)


def test_base64_that_is_no_string_is_refused():
    """Bytes are not their own base64."""
    with pytest.raises(InvalidInput, match="value must be a base64 string; got bytes"):
        decode_value(b"YQ==")


def test_base64_over_a_mebibyte_is_refused():
    """The limit is on the bytes, not on their text."""
    with pytest.raises(InvalidInput, match="value is 1,048,577 bytes"):
        decode_value(base64.b64encode(bytes(MIB + 1)).decode())


@pytest.mark.parametrize(
    "category", ["preference", "Cache", "", "OTHER", None, 1, ["CACHE"], "CACHE "]
)
def test_unknown_categories_are_refused(category):
    """The four words are in upper case everywhere; the message lists them."""
    with pytest.raises(
        InvalidInput, match="category must be one of PREFERENCE, PATTERN, CONTEXT, CACHE; got"
    ):
        check_category(category)


@pytest.mark.parametrize("value", [1, 100, 1000, 100.0])
def test_whole_numbers(value):
    """An integer in the range, also one that JSON wrote with a zero fraction, is that integer."""
    result = check_integer(value, "limit", 1, 1000)

    assert (int(value), int) == (result, type(result))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "limit is 0; it must be an integer from 1 to 1,000"),
        (-1, "limit is -1; it must be an integer from 1 to 1,000"),
        (1001, "limit is 1,001; it must be an integer from 1 to 1,000"),
        pytest.param(10**5000, "limit is a number of more than 20 digits; it must be", id="long"),
        (1e300, "limit is a number of more than 20 digits; it must be"),
        (1.5, "limit must be an integer from 1 to 1,000; got 1.5"),
        (float("nan"), "got nan"),
        (float("inf"), "got inf"),
        (True, "got a boolean"),
        ("5", "got a string"),
        (None, "got null"),
    ],
)
def test_other_numbers_are_refused_never_clipped(value, message):
    """Anything else is refused with the figure and the range."""
    with pytest.raises(InvalidInput) as caught:
        check_integer(value, "limit", 1, 1000)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "filter must be an object; got null"),
        ([], "filter must be an object; got an array"),
        ("x", "filter must be an object; got a string"),
        ({"b": 1}, "filter has an unknown field 'b'; it knows a"),
        (
            {"a": 1, 10**5000: 1},
            "filter has an unknown field a number of more than 20 digits; it knows a",
        ),
        ({}, "filter has no field a; it needs a"),
    ],
)
def test_fields_are_exactly_the_known_ones(value, message):
    """An unknown or missing field is named."""
    with pytest.raises(InvalidInput) as caught:
        check_fields(value, "filter", ("a",), ("a",))

    assert message == str(caught.value)


def test_what_is_shown_is_short_printable_ascii():
    """A hostile text in a message cannot drive a terminal nor fill it."""
    text = shown("\x1b[2J\u202e" + "x" * 10_000)

    assert text.isascii()
    assert text.isprintable()
    assert len(text) <= 60


def test_kinds_are_named_as_in_json():
    """The words for types are those that people at every door know."""
    assert ["null", "a number", "a number", "nothing"] == [kind(v) for v in (None, 1, 1.5, ABSENT)]
