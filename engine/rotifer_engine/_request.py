"""The one place that turns a request with the field names of the memory page into a call.

Every door hands its requests here, so every door refuses the same things with the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rotifer_engine._absent import ABSENT
from rotifer_engine._access import Caller
from rotifer_engine._entry import Entry
from rotifer_engine._input import check_fields, check_word
from rotifer_engine._memory import AgentMemory
from rotifer_engine._writing import Write
from rotifer_engine.errors import AgentMemoryError, InvalidInput

__all__ = ["OPERATIONS", "perform", "perform_writes"]

_Answer = Entry | list[Entry] | None


def _read(memory: AgentMemory, caller: Caller, request: object, _value: object) -> _Answer:
    fields = check_fields(request, "readMemory", ("key", "category"), ("key",))
    return memory.read(caller, fields["key"], fields.get("category", ABSENT))


def _write(memory: AgentMemory, caller: Caller, request: object, value: object) -> _Answer:
    return memory.write(*_write_arguments(caller, request, value))


def _write_arguments(caller: Caller, request: object, value: object) -> Write:
    fields = check_fields(
        request,
        "writeMemory",
        ("key", "category", "accessPolicy", "retentionPolicy"),
        ("key", "category"),
    )
    if value is ABSENT:
        raise InvalidInput("writeMemory has no value; it needs key, value, category")
    return (
        caller,
        fields["key"],
        value,
        fields["category"],
        fields.get("accessPolicy", ABSENT),
        fields.get("retentionPolicy", ABSENT),
    )


def _query(memory: AgentMemory, caller: Caller, request: object, _value: object) -> _Answer:
    return memory.query(caller, request)


def _delete(memory: AgentMemory, caller: Caller, request: object, _value: object) -> _Answer:
    fields = check_fields(request, "deleteMemory", ("key",), ("key",))
    memory.delete(caller, fields["key"])
    return None


OPERATIONS: dict[str, Callable[[AgentMemory, Caller, object, object], _Answer]] = {
    "read": _read,
    "write": _write,
    "query": _query,
    "delete": _delete,
}


def perform(
    memory: AgentMemory,
    caller: Caller,
    op: object,
    request: Mapping[str, object] | object,
    value: object = ABSENT,
) -> Entry | list[Entry] | None:
    """Do what a request asks.

    Args:
        memory: the agent's memory.
        caller: who asks, as the door knows it.
        op: ``read``, ``write``, ``query`` or ``delete``.
        request: the fields of the call, named as on the memory page; a query's is its filter.
        value: a write's bytes, which come beside the request.

    Returns:
        An entry or None for a read, the entry for a write, a list for a query, None for a delete.

    Raises:
        AgentMemoryError: as the call says; InvalidInput also for an unknown call or field.
    """
    return OPERATIONS[check_word(op, "memory call", OPERATIONS)](memory, caller, request, value)


def perform_writes(
    memory: AgentMemory, wanted: Sequence[tuple[Caller, object, object]]
) -> list[Entry | AgentMemoryError]:
    """Do what several writes ask, waiting for the disk together (`AgentMemory.write_each`).

    Args:
        memory: the agent's memory.
        wanted: for each write who asks, the fields of the call, and the bytes.

    Returns:
        For each, in order, its entry, or what :func:`perform` would have raised.
    """
    outcome: list[Entry | AgentMemoryError | None] = []
    good: list[Write] = []
    for caller, request, value in wanted:
        try:
            good.append(_write_arguments(caller, request, value))
            outcome.append(None)
        except AgentMemoryError as error:
            outcome.append(error)
    rest = iter(memory.write_each(good))
    return [next(rest) if found is None else found for found in outcome]
