"""Parts of the standard library, without what takes long to import (design §5a).

A command has started Node when it imports the rest of itself, and Node takes some 30 ms to be
there: what is imported until then costs nothing, and every millisecond more is one that the user
waits. On two cores of a virtual machine `typing` takes 5 ms and each named tuple that it makes 0.2,
`hashlib` 3 (OpenSSL), `json` with `re` and `enum` 6, `sqlite3` 2 (dates). So what is on the way of
a cold ``agent run`` has this module in their place, and says ``TYPE_CHECKING = False`` for itself,
which type checkers take for the real one. What is imported here are the parts that those modules
are made of in CPython; in another Python it is the modules themselves.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # `typing` is slow to import (see above)
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import sha256
    from json.encoder import encode_basestring as quote_unicode
    from json.encoder import encode_basestring_ascii as quote
    from queue import SimpleQueue
    from typing import Any, NamedTuple, Protocol

    make_encoder: Any
    make_scanner: Any
else:
    try:
        from _json import encode_basestring as quote_unicode
        from _json import encode_basestring_ascii as quote
        from _json import make_encoder, make_scanner
    except ImportError:
        from json.encoder import encode_basestring as quote_unicode
        from json.encoder import encode_basestring_ascii as quote

        make_encoder = make_scanner = None
    try:
        from _queue import SimpleQueue
    except ImportError:
        from queue import SimpleQueue
    try:
        from _sha2 import sha256 as _small  # since 3.12
    except ImportError:
        try:
            from _sha256 import sha256 as _small
        except ImportError:  # another Python, or one that was built without
            from hashlib import sha256 as _small

    class _Fields(type):
        """Makes of a class body what `typing.NamedTuple` makes, and looks at no type."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = list(body["__annotations__"])  # strings: the module imports `annotations`
            given = [field for field in fields if field in body]
            if len(bases) > 1 or "__new__" in body or given != fields[len(fields) - len(given) :]:
                raise TypeError(f"{name}: NamedTuple is its one base; defaults stand at the end")
            defaults = [body.pop(field) for field in given]
            made = namedtuple(  # noqa: PYI024 - the types are in the body
                name, fields, defaults=defaults, module=body["__module__"]
            )
            for key, value in body.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Fields, "NamedTuple", (), {})
    Protocol = object

    def sha256(data: bytes) -> Any:
        """`hashlib.sha256`, of data that is all there."""
        if len(data) < _LARGE:
            return _small(data)
        from hashlib import sha256 as large

        return large(data)


__all__ = [
    "NamedTuple",
    "Protocol",
    "SimpleQueue",
    "decoder",
    "dumps",
    "encoder",
    "loads",
    "quote",
    "quote_unicode",
    "sha256",
]

_LARGE = 524_288
"""Bytes from where on OpenSSL is so much faster that importing it is worth while."""
_SPACE = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Hooks:
    """What the scanner asks its decoder for."""

    strict = True
    object_hook = None

    def __init__(self, hooks: dict[str, Any]) -> None:
        self.parse_float = hooks.get("parse_float", float)
        self.parse_int = hooks.get("parse_int", int)
        self.parse_constant = hooks.get("parse_constant", _CONSTANTS.__getitem__)
        self.object_pairs_hook = hooks.get("object_pairs_hook")


def decoder(**hooks: Any) -> Callable[[str], Any]:
    """``json.JSONDecoder(**hooks).decode``: the value of a text.

    Args:
        **hooks: ``parse_float``, ``parse_int``, ``parse_constant``, ``object_pairs_hook``.
    """
    if make_scanner is None:
        from json import JSONDecoder

        return JSONDecoder(**hooks).decode
    scan = make_scanner(_Hooks(hooks))

    def decode(text: str) -> Any:
        bare = text.strip(_SPACE)
        try:
            value, end = scan(bare, 0)
        except StopIteration as stop:
            raise _error("Expecting value", text, stop.value) from None
        except SystemError:
            # Python 3.11 has no error to raise until `json` has been imported.
            from json import JSONDecoder

            return JSONDecoder(**hooks).decode(text)
        except ValueError as error:
            if getattr(error, "doc", None) is not bare:
                raise  # a hook's
            raise _error(error.msg, text, error.pos) from None  # type: ignore[attr-defined]
        if end < len(bare):
            raise _error("Extra data", text, end + _indent(bare[end:]))
        return value

    return decode


def _error(message: str, text: str, place: int) -> ValueError:
    """``json.JSONDecodeError``, of a place in the text without the white space round it."""
    from json import JSONDecodeError

    return JSONDecodeError(message, text, _indent(text) + place)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(_SPACE))


def encoder(*, allow_nan: bool = True) -> Callable[[Any], str]:
    """``json.JSONEncoder(separators=(",", ":"), allow_nan=allow_nan).encode``."""
    if make_encoder is None:
        from json import JSONEncoder

        return JSONEncoder(separators=(",", ":"), allow_nan=allow_nan).encode

    def encode(value: Any) -> str:
        # What has been met is kept in the first argument: a new one for each text.
        chunks = make_encoder({}, _refuse, quote, None, ":", ",", False, False, allow_nan)
        return "".join(chunks(value, 0))

    return encode


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


loads = decoder()
"""`json.loads`, of a ``str``."""
dumps = encoder()
"""`json.dumps` without white space."""
