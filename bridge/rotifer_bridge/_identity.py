"""The two names of a gene: its content id and its v2 identity (projects §2).

Both are SHA-256 over canonical JSON as JavaScript writes it. The v2 identity **[ours]** covers the
phenotype and the very bytes of every file that can be loaded.
"""

from __future__ import annotations

from codecs import utf_16_be_encode
from collections.abc import Mapping

from rotifer_bridge._jsnumber import js_number
from rotifer_engine.quick import quote_unicode, sha256

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["canonical_json", "content_id", "v2_identity"]

_LAST_INDEX = 4294967294  # 2^32 - 2: the largest key that JavaScript orders as a number

# What changes without the gene changing: when it was made, and what was compiled from it.
_NOT_IDENTITY = frozenset({"irHash", "createdAt"})


def canonical_json(value: Any) -> str:
    """Compact JSON with the keys sorted at every depth, as JavaScript sorts and prints them."""
    parts: list[str] = []
    _append(value, parts)
    return "".join(parts)


def content_id(phenotype: Mapping[str, Any]) -> str:
    """The ``Gene ID``: SHA-256 hex of the phenotype's canonical JSON."""
    return sha256(canonical_json(phenotype).encode("utf-8")).hexdigest()


def v2_identity(phenotype: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The ``Gene ID (v2)``: ``v2:`` and 64 hex digits.

    Args:
        phenotype: the whole phenotype; ``irHash`` and ``createdAt`` are left out here.
        files: the bytes of every loadable file, by its path relative to the gene's folder.
    """
    whole = {
        "phenotype": {k: v for k, v in phenotype.items() if k not in _NOT_IDENTITY},
        "files": {path: sha256(data).hexdigest() for path, data in files.items()},
    }
    return "v2:" + content_id(whole)


def _append(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(_quote(value))
    elif value is None:
        parts.append("null")
    elif value is True or value is False:
        parts.append("true" if value else "false")
    elif isinstance(value, (int, float)):
        parts.append(js_number(value))
    elif isinstance(value, Mapping):
        separator = "{"
        for key in sorted(value, key=_key_order):
            parts.append(separator + _quote(key) + ":")
            _append(value[key], parts)
            separator = ","
        parts.append("{}" if separator == "{" else "}")
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            parts.append(separator)
            _append(item, parts)
            separator = ","
        parts.append("[]" if separator == "[" else "]")
    else:
        raise TypeError(f"{type(value).__name__} is not JSON")


def _quote(text: str) -> str:
    quoted = quote_unicode(text)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        import re
    else:
        return quoted
    # Well-formed JSON.stringify: a pair is one letter, a lone half is written as its escape.
    paired = quoted.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", paired)


def _key_order(key: str) -> tuple[int, int, bytes]:
    """Keys that are array indices first, by value; the others by UTF-16 code unit."""
    if key.isdecimal() and key.isascii() and (key == "0" or key[0] != "0"):
        number = int(key) if len(key) <= 10 else _LAST_INDEX + 1
        if number <= _LAST_INDEX:
            return (0, number, b"")
    return (1, 0, utf_16_be_encode(key, "surrogatepass")[0])
