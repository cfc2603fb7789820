"""The door: what a worker's memory requests are answered with.

The door knows who calls (agent, gene, run): that is which socket a request came by, never a field
of the request (design §1, memory §4).
"""

from __future__ import annotations

from rotifer_bridge._wire import entries_reply
from rotifer_engine import ABSENT, AccessDenied, AgentMemoryError, StorageError, perform
from rotifer_engine.quick import dumps

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from rotifer_engine import AgentMemory, Caller, Entry

__all__ = ["MEMORY_OPS", "NO_AGENT", "ClosedDoor", "Door", "Reply", "failure"]

MEMORY_OPS = frozenset({"read", "write", "query", "delete"})

Reply = tuple[bytes, ...]
"""The parts of a reply: the JSON line with its line feed, and the bytes behind it."""

NO_AGENT = "no agent runs this gene, so it has no memory"
"""What a gene is told of a memory call without an agent."""
_NULL: Reply = (b'{"entry":null}\n',)


def failure(code: str, message: str) -> Reply:
    """The reply that becomes a ``MemoryError`` in the gene."""
    return (b'{"error":' + dumps({"code": code, "message": message}).encode() + b"}\n",)


class ClosedDoor:
    """The door of a gene that no agent runs: every call is denied, and none leaves a trace."""

    closed = True
    """Whether every call is denied, whatever it asks."""

    def answer(self, op: str, request: object, value: bytes, *, live: bool) -> Reply:  # noqa: ARG002 - as Door has it
        """The same answer to everything (memory §12)."""
        return failure("MEMORY_ACCESS_DENIED", NO_AGENT)

    def perform(self, op: str, request: object, value: object = ABSENT) -> NoReturn:  # noqa: ARG002 - as Door has it
        """The same refusal of everything, as Python has it.

        Raises:
            AccessDenied: always.
        """
        raise AccessDenied(NO_AGENT)


class Door:
    """One gene's way to one agent's memory.

    Args:
        memory: the agent's memory.
        caller: who acts: the gene's v2 identity and domain.
        on_fault: told of a fault of ours that a gene was answered ``MEMORY_STORAGE_ERROR`` for.
    """

    closed = False

    def __init__(
        self, memory: AgentMemory, caller: Caller, *, on_fault: Callable[[str], object]
    ) -> None:
        self._memory = memory
        self._caller = caller
        self._on_fault = on_fault

    def answer(self, op: str, request: object, value: bytes, *, live: bool) -> Reply:
        """Carry out one memory call and give the reply; never raises.

        Args:
            op: one of `MEMORY_OPS`.
            request: the call's fields (wasm-genes §3); a query's is its filter.
            value: the bytes behind it (a write's value).
            live: whether the call was made in the run that is going on; a handle kept from an
                earlier run is denied (memory §4).
        """
        try:
            if not live:
                self._deny_stale(op, request)
            result = perform(
                self._memory, self._caller, op, request, value if op == "write" else ABSENT
            )
        except AgentMemoryError as error:
            return failure(error.code, error.message)
        except Exception as error:  # noqa: BLE001 - the supervisor must outlive any call
            return failure("MEMORY_STORAGE_ERROR", self._fault(op, error))
        if result is None:
            return _NULL
        if isinstance(result, list):
            return entries_reply(result)
        meta = result.meta_json().encode()
        if op == "write":
            return (b'{"entry":%b}\n' % meta,)  # the gene has the value: it sent it
        value = result.value
        return b'{"entry":%b,"size":%d}\n' % (meta, len(value)), value

    def perform(
        self, op: str, request: object, value: object = ABSENT
    ) -> Entry | list[Entry] | None:
        """Carry out one memory call, for a gene that lives in this process.

        Args:
            op: one of `MEMORY_OPS`.
            request: the call's fields but a write's value; a query's is its filter.
            value: a write's bytes.

        Raises:
            AgentMemoryError: as the call says; a fault of ours is a StorageError, too.
        """
        try:
            return perform(self._memory, self._caller, op, request, value)
        except AgentMemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the supervisor must outlive any call
            raise StorageError(self._fault(op, error)) from None

    def _fault(self, op: str, error: Exception) -> str:
        self._on_fault(f"memory {op} failed inside: {type(error).__name__}: {error}")
        return f"internal error in the memory's {op} call"

    def _deny_stale(self, op: str, request: object) -> NoReturn:
        key = request.get("key") if isinstance(request, dict) else None
        self._memory.deny(
            self._caller,
            op,
            key if isinstance(key, str) else None,
            reason="this ctx.memory belongs to a run that has ended",
        )
