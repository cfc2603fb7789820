"""Reading JSON strictly, with messages for the person who wrote it.

Python's reader is laxer than JSON (``NaN``, ``Infinity``) and speaks in offsets; users of the
reference met raw stacks for a byte order mark. Here a BOM is accepted, what is not JSON is refused
with line and column, and the message echoes no text of it but a name or a number.
"""

from __future__ import annotations

from rotifer_engine.quick import decoder

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["MAX_VALUES", "NotJSON", "TooMuch", "dump_pretty", "kind_of", "parse_json"]

MAX_VALUES = 1_000_000
"""The most values in a text [ours]: arrays, objects, strings, and the names of fields.

Two numbers, booleans or nulls count for one of them: that is how they compare in time and memory.
While Python reads or writes them, no other thread of the process has a turn, and no gene's time
limit holds; and they take up to thirty times the bytes of their text. As many as this are some
half a second at the worst (500,000 fields of different names); four times as many were three.
"""
_LEVELS = 900  # Python reads to 1,000, less those of its own calls
# Possessive: what is remembered to go back to would be larger than all that is read. A string that
# never ends goes to the end: else each quote in it would be tried as the beginning of another one.
_STRING = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'


class NotJSON(ValueError):
    """The text is not JSON; ``str()`` says why, with line and column where there is one."""

    @property
    def told(self) -> str:
        """What stands behind the name of the text: ``is not JSON: ...``."""
        return f"is not JSON: {self}"


class TooMuch(NotJSON):
    """It may well be JSON, and is more than can be read here."""

    @property
    def told(self) -> str:
        """What stands behind the name of the text: ``cannot be read: ...``."""
        return f"cannot be read: {self}"


def _refuse_constant(name: str) -> NoReturn:
    raise NotJSON(f"{name} is not JSON")


# One decoder, made once. A number with more digits than Python converts becomes a float, as
# JavaScript has it; every other integer stays exact.
def _parse_int(text: str) -> int | float:
    return int(text) if len(text) < 400 else _parse_float(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if number in _INFINITE:
        raise NotJSON(f"a number is out of range: {text[:40]}")
    return number


_INFINITE = frozenset({float("inf"), float("-inf")})
_decode = decoder(parse_constant=_refuse_constant, parse_int=_parse_int, parse_float=_parse_float)


def _each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose every name stands there once: readers differ in which of two they take."""
    found: dict[str, Any] = {}
    for name, value in fields:
        if name in found:
            raise NotJSON(f"the name {name[:60]!a} stands twice in one object")
        found[name] = value
    return found


_decode_strictly = decoder(
    parse_constant=_refuse_constant,
    parse_int=_parse_int,
    parse_float=_parse_float,
    object_pairs_hook=_each_once,
)


def parse_json(data: bytes | str, *, once: bool = False) -> Any:
    """The value of a JSON text; a leading byte order mark is accepted.

    Args:
        data: the text, or its UTF-8.
        once: whether a name that stands twice in one object is refused; else the last one counts,
            as in JavaScript.

    Raises:
        NotJSON: it is not UTF-8, or not JSON.
        TooMuch: it is nested too deeply to be read, or has more values than `MAX_VALUES`.
    """
    if isinstance(data, str):
        text = data
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise NotJSON(f"not UTF-8: byte 0x{data[error.start]:02x} in line {line}") from None
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_VALUES and _count(text) > MAX_VALUES:
        raise TooMuch(
            "it has more values and names of fields than can be read: "
            f"the limit is {MAX_VALUES:,}, two numbers counted for one"
        )
    try:
        return (_decode_strictly if once else _decode)(text)
    except NotJSON:
        raise
    except ValueError as error:
        from json import JSONDecodeError

        if not isinstance(error, JSONDecodeError):
            raise
        if not text.strip():
            raise NotJSON("it is empty") from None
        # The reader's words start with a capital and may end in a colon.
        why = error.msg[:1].lower() + error.msg[1:]
        raise NotJSON(f"line {error.lineno}, column {error.colno}: {why}") from None
    except RecursionError:
        raise TooMuch(
            f"it is nested too deeply to be read: the limit is some {_LEVELS} levels"
        ) from None


def _count(text: str) -> int:
    """How many values and names there are, in the limit's measure: too many rather than too few.

    Each step is one search through the text, at the speed of C.
    """
    most = _signs(text)
    if most <= MAX_VALUES:
        return most
    # Half the quotes that are surely no part of a string: where these are too many, so are all.
    strings = (text.count('"') - text.count('\\"')) // 2
    if strings > MAX_VALUES:
        return strings
    # The signs may stand in strings: slow, and hardly ever needed.
    import re

    return _signs(re.sub(_STRING, '""', text))


def _signs(text: str) -> int:
    # The values in an array or object are one more than its commas, unless it is empty.
    inner = sum(map(text.count, ",[{:")) - text.count("[]") - text.count("{}")
    # All but the outermost of what is no number, boolean or null.
    large = max(0, text.count("[") + text.count("{") + text.count('"') // 2 - 1)
    return large + -(-max(0, inner - large) // 2)


def kind_of(value: object) -> str:
    """What kind of JSON value this is, for a message: ``a string``, ``null``."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")


def dump_pretty(value: Any) -> bytes:
    """The text of a file we write: two spaces, a final newline, any Unicode kept as it is."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: only its escape can be written
        return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode("ascii")
