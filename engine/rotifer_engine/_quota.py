"""How much an agent may keep, and what makes room when it is full (memory §6)."""

from __future__ import annotations

from collections.abc import Iterable

from rotifer_engine._input import kind, shown
from rotifer_engine.errors import InvalidInput

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T")

__all__ = ["DEFAULT_QUOTA_BYTES", "MAX_QUOTA_BYTES", "format_size", "parse_quota", "plan_eviction"]

DEFAULT_QUOTA_BYTES = 10 * 1024 * 1024
MAX_QUOTA_BYTES = 2**53 - 1  # the largest integer every JSON reader keeps exact

_UNITS = {"KB": 1024, "MB": 1024**2, "GB": 1024**3}
_DIGITS = "0123456789"
_EXAMPLE = "write a number with KB, MB or GB, e.g. 512KB or 1.5GB"


def plan_eviction(excess: int, candidates: Iterable[tuple[_T, int]]) -> list[_T] | None:
    """Choose what goes, one at a time, only until enough is free.

    Args:
        excess: bytes that must go; nothing goes when it is zero or less.
        candidates: names and sizes in the order of eviction; read no further than needed.

    Returns:
        The names to remove, or None when even all of them are not enough.
    """
    chosen: list[_T] = []
    if excess <= 0:
        return chosen
    for name, size in candidates:
        chosen.append(name)
        excess -= size
        if excess <= 0:
            return chosen
    return None


def parse_quota(text: object) -> int:
    """Read a quota such as ``512KB`` or ``1.5GB``; 1 KB is 1,024 bytes.

    A fraction of a byte is rounded to the nearest **[ours]**.

    Raises:
        InvalidInput: no unit, no number, nothing left after rounding, or over 2^53-1 bytes.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"memory quota must be a string; got {kind(text)}; {_EXAMPLE}")
    whole, dot, fraction = text[:-2].partition(".")
    unit = text[-2:].upper() if text.isascii() else ""
    digits = whole + fraction
    bare = not digits or digits.strip(_DIGITS) or (dot and not fraction)
    if bare or unit not in _UNITS or len(text) > 100:
        raise InvalidInput(f"memory quota {shown(text)} cannot be read; {_EXAMPLE}")
    scale: int = 10 ** len(fraction)
    exact = int(digits) * _UNITS[unit]
    size = (2 * exact + scale) // (2 * scale)
    if size == 0:
        raise InvalidInput(f"memory quota {shown(text)} is zero bytes; {_EXAMPLE}")
    if size > MAX_QUOTA_BYTES:
        raise InvalidInput(
            f"memory quota {shown(text)} is {shown(size)} bytes; the limit is {MAX_QUOTA_BYTES:,}"
        )
    return size


def format_size(size: int) -> str:
    """A number of bytes for people: ``17 B``, ``1.5 KB``, ``10 MB``."""
    if size < 1024:
        return f"{size} B"
    for unit, scale in _UNITS.items():
        if size < scale * 1024 or unit == "GB":
            break
    text = f"{size / scale:,.1f}"
    return f"{text.removesuffix('.0')} {unit}"
