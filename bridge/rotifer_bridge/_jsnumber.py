"""Numbers as JavaScript prints them (ECMA-262, Number::toString for radix 10).

The content id is a hash over canonical JSON (projects §2), so ``1.0`` has to come out as ``1`` and
``1e21`` as ``1e+21``: one digit of difference is another gene.
"""

from __future__ import annotations

__all__ = ["js_number"]


def js_number(value: float) -> str:
    """The text that ``JSON.stringify`` gives for this number.

    Integers beyond 2^53 are rounded as JavaScript reads them; what is not finite is ``null``.
    """
    if isinstance(value, int):
        if -9007199254740992 <= value <= 9007199254740992:  # 2^53: exact in a double
            return str(int(value))
        try:
            value = float(value)
        except OverflowError:
            return "null"
    if value == 0:
        return "0"  # minus zero has no sign here
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN alone differs from itself
        return "null"
    sign, value = ("-", -value) if value < 0 else ("", value)
    # Both languages print the shortest digits that read back; only the layout differs.
    digits, point = _digits(repr(value))
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits of a positive ``repr`` and where its decimal point stands."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    significant = digits.lstrip("0")
    point -= len(digits) - len(significant)
    return significant.rstrip("0"), point
