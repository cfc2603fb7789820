"""What a host sensor found: the value from which the environment layer is refreshed (layers §1).

The engine knows nothing of what is in it; whoever senses sees to it that nothing personal is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["SharedSnapshot"]


class SharedSnapshot(NamedTuple):
    """The facts about the host that everyone in the cell may know.

    Args:
        facts: each fact's text by its name, e.g. ``os``; names are the keys of the entries.
    """

    facts: Mapping[str, str]
