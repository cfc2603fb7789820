"""What the end of a ``with`` statement does to a store, a snapshot or a transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Self

__all__ = ["Closing", "RollingBack"]


class Closing(ABC):
    """Something that is closed at the end of a ``with`` statement."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class RollingBack(ABC):
    """A change that is undone at the end of a ``with`` statement, unless it was committed."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo what was not committed; again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.rollback()
