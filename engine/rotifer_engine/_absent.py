"""The value of an argument that was not given.

Absent and null are different things and stay different through every door (memory §5): a write
without ``retentionPolicy`` keeps what is stored, one with ``null`` makes the entry follow the
agent again.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Final

__all__ = ["ABSENT", "Absent"]


class Absent:
    """The type of :data:`ABSENT`, of which there is one instance; it is false."""

    __slots__ = ()
    _only: Absent | None = None

    def __new__(cls) -> Absent:  # noqa: PYI034 - a subclass would not be the one instance
        """Hand out the one instance."""
        if Absent._only is None:
            Absent._only = super().__new__(cls)
        return Absent._only

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
