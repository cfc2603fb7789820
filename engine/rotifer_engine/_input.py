"""What a caller may hand in: keys, values, categories, whole numbers, field names (memory §2, §5).

Everything is refused here, at the edge, with a code and a figure, and nothing is repaired
silently: no clipping, no normalizing, no replacement characters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rotifer_engine._absent import Absent
from rotifer_engine._category import CATEGORIES
from rotifer_engine.errors import InvalidInput

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_VALUE_BYTES",
    "check_category",
    "check_fields",
    "check_integer",
    "check_key",
    "check_prefix",
    "check_text",
    "check_value",
    "check_word",
    "decode_value",
    "kind",
    "shown",
]

MAX_KEY_BYTES = 1_024  # memory §2
MAX_VALUE_BYTES = 1_048_576  # memory §2

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (Absent, "nothing"),
    (type(None), "null"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    ((bytes, bytearray, memoryview), "bytes"),
    (Mapping, "an object"),
    ((list, tuple), "an array"),
)


def kind(value: object) -> str:
    """The word that a person at any door has for the type of a value."""
    for types, word in _KINDS:
        if isinstance(value, types):
            return word
    return type(value).__name__


def shown(value: object) -> str:
    """A value as it may stand in a message: printable ASCII, at most about 60 characters."""
    if isinstance(value, int):  # of any length, which Python refuses to print
        return f"{value:,}" if abs(value) < 10**20 else "a number of more than 20 digits"
    text = ascii(value[:80]) if isinstance(value, str) else ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not well-formed Unicode: a lone surrogate U+{ord(text[error.start]):04X} "
            f"at position {error.start}"
        ) from None


def check_key(key: object) -> bytes:
    """A key's UTF-8 bytes, kept as given.

    Raises:
        InvalidInput: not a string, empty, over 1,024 bytes, with a NUL or a lone surrogate.
    """
    if not isinstance(key, str):
        raise InvalidInput(f"key must be a string; got {kind(key)}")
    encoded = _utf8(key, "key")
    if not encoded:
        raise InvalidInput("key is empty; it needs at least one byte")
    if len(encoded) > MAX_KEY_BYTES:
        raise InvalidInput(f"key is {len(encoded):,} bytes; the limit is {MAX_KEY_BYTES:,}")
    if b"\0" in encoded:
        raise InvalidInput(
            f"key has a NUL character at byte {encoded.index(0)}; a key cannot hold one"
        )
    return encoded


def check_prefix(prefix: object) -> bytes:
    """A key prefix's UTF-8 bytes; any well-formed text will do, the empty one too."""
    if not isinstance(prefix, str):
        raise InvalidInput(f"keyPrefix must be a string; got {kind(prefix)}")
    return _utf8(prefix, "keyPrefix")


def check_text(text: object, what: str) -> str:
    """Any well-formed text."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be a string; got {kind(text)}")
    _utf8(text, what)
    return text


def check_value(value: object) -> bytes:
    """A value's bytes, copied unless they cannot change.

    Raises:
        InvalidInput: not bytes, or more than 1,048,576 of them.
    """
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidInput(f"value must be bytes; got {kind(value)}")
    size = value.nbytes if isinstance(value, memoryview) else len(value)
    if size > MAX_VALUE_BYTES:
        raise InvalidInput(f"value is {size:,} bytes; the limit is {MAX_VALUE_BYTES:,}")
    return bytes(value)


def decode_value(text: object) -> bytes:
    """The bytes of a base64 text in its one canonical form (memory §2).

    Raises:
        InvalidInput: not a string, not the standard alphabet with padding, or a text that would
            not come back the same when the bytes are encoded again.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"value must be a base64 string; got {kind(text)}")
    import binascii

    try:
        raw = text.encode("ascii")
        value = binascii.a2b_base64(raw, strict_mode=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise InvalidInput(f"value is not base64: {error}") from None
    if binascii.b2a_base64(value, newline=False) != raw:
        raise InvalidInput(
            "value is not canonical base64: encoding its bytes again gives another text"
        )
    return check_value(value)


def check_word(value: object, what: str, words: Collection[str]) -> str:
    """One of a table's words, spelled exactly so.

    Raises:
        InvalidInput: any other value; the message lists the words.
    """
    if isinstance(value, str) and value in words:
        return value
    got = shown(value) if isinstance(value, str) else kind(value)
    raise InvalidInput(f"{what} must be one of {', '.join(words)}; got {got}")


def check_category(category: object) -> str:
    """One of the four categories, in upper case (memory §2)."""
    return check_word(category, "category", CATEGORIES)


def check_integer(value: object, what: str, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``.

    A float with no fraction is taken as the integer it is: JSON has one kind of number, JavaScript
    cannot tell ``100.0`` from ``100``, and every door gives the same answers **[ours]**. A boolean
    is no number.

    Raises:
        InvalidInput: anything else; never clipped to the range.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        got = shown(value) if isinstance(value, float) else kind(value)
        raise InvalidInput(f"{what} must be an integer from {low:,} to {high:,}; got {got}")
    if not low <= value <= high:
        raise InvalidInput(
            f"{what} is {shown(value)}; it must be an integer from {low:,} to {high:,}"
        )
    return value


def check_fields(
    value: object, what: str, known: Collection[str], required: Collection[str] = ()
) -> Mapping[str, object]:
    """A mapping with no field but the known ones, and all the required ones.

    Raises:
        InvalidInput: it is no mapping, or a field is unknown or missing; the message names it.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be an object; got {kind(value)}")
    for name in value:
        if name not in known:
            raise InvalidInput(
                f"{what} has an unknown field {shown(name)}; it knows {', '.join(known)}"
            )
    for name in required:
        if name not in value:
            raise InvalidInput(f"{what} has no field {name}; it needs {', '.join(required)}")
    return value
