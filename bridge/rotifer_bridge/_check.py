"""One thing that ``rotifer doctor`` looked at."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Check"]


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    status: str
    """``ok``, ``warn`` (something works with less, or an agent cannot run) or ``fail``."""
    detail: str
    help: str | None = None
