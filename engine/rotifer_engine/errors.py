"""The errors of the memory, one for each code of memory §8.

The family::

    AgentMemoryError        a memory call was refused or failed
    ├── EntryNotFound       MEMORY_NOT_FOUND       the entry does not exist
    ├── AccessDenied        MEMORY_ACCESS_DENIED   scope, policy or identity forbid it
    ├── QuotaExceeded       MEMORY_QUOTA_EXCEEDED  no room even after eviction
    ├── InvalidInput        MEMORY_INVALID_INPUT   an argument breaks a rule
    └── StorageError        MEMORY_STORAGE_ERROR   the store or the audit log failed
"""

from __future__ import annotations

from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import ClassVar


__all__ = [
    "ERROR_CODES",
    "AccessDenied",
    "AgentMemoryError",
    "EntryNotFound",
    "ErrorCode",
    "InvalidInput",
    "QuotaExceeded",
    "StorageError",
]


class ErrorCode(NamedTuple):
    """How one code shows itself at each door."""

    http_status: int
    wasm_number: int
    meaning: str


#: Every code, once (memory §8). HTTP statuses and WASM numbers are derived from here.
ERROR_CODES: dict[str, ErrorCode] = {
    "MEMORY_NOT_FOUND": ErrorCode(404, -12, "the entry does not exist"),
    "MEMORY_ACCESS_DENIED": ErrorCode(403, -2, "the gene may not do this"),
    "MEMORY_QUOTA_EXCEEDED": ErrorCode(507, -8, "no room even after eviction; nothing written"),
    "MEMORY_INVALID_INPUT": ErrorCode(400, -10, "an argument breaks a rule"),
    "MEMORY_STORAGE_ERROR": ErrorCode(503, -13, "the store or the audit log failed"),
}


class AgentMemoryError(Exception):
    """A memory call was refused or failed; ``code`` says which of the five ways.

    Args:
        message: one sentence for a person: what was wrong, the figure, the limit, what to do.
    """

    code: ClassVar[str]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EntryNotFound(AgentMemoryError):
    """The entry does not exist, or no longer does."""

    code = "MEMORY_NOT_FOUND"


class AccessDenied(AgentMemoryError):
    """A scope, a policy or a missing identity forbids the call."""

    code = "MEMORY_ACCESS_DENIED"


class QuotaExceeded(AgentMemoryError):
    """There is no room even after eviction; nothing was written and nothing removed."""

    code = "MEMORY_QUOTA_EXCEEDED"


class InvalidInput(AgentMemoryError):
    """An argument breaks a rule of memory §2 or §5."""

    code = "MEMORY_INVALID_INPUT"


class StorageError(AgentMemoryError):
    """The store or the audit log failed; there is no other store to fall back to."""

    code = "MEMORY_STORAGE_ERROR"
