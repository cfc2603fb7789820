"""Whether two JSON values are the same, and where they first are not."""

from __future__ import annotations

import json
from typing import Any

from rotifer_bridge._json import kind_of
from rotifer_bridge._schema import Fault

__all__ = ["clipped", "difference"]

_SHOWN = 120


def difference(expected: Any, got: Any, path: str = "$") -> Fault | None:
    """The first place where the values differ; None where they are the same JSON value.

    The order of keys is no difference, nor is 1 to 1.0; true and 1 are different.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        for name, value in expected.items():
            inner = f"{path}.{name}"
            if name not in got:
                return Fault(inner, f"is missing; expected {clipped(value)}")
            found = difference(value, got[name], inner)
            if found is not None:
                return found
        for name, value in got.items():
            if name not in expected:
                return Fault(f"{path}.{name}", f"is {clipped(value)}; expected no such field")
        return None
    if isinstance(expected, list) and isinstance(got, list):
        for index, (one, other) in enumerate(zip(expected, got, strict=False)):
            found = difference(one, other, f"{path}[{index}]")
            if found is not None:
                return found
        if len(expected) == len(got):
            return None
        return Fault(path, f"has {len(got):,} items; expected {len(expected):,}")
    if kind_of(expected) == kind_of(got) and expected == got:
        return None
    return Fault(path, f"is {clipped(got)}; expected {clipped(expected)}")


def clipped(value: Any) -> str:
    """The value as JSON, not longer than a message may be."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
