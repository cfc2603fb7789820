"""The service's calls on an agent's memory: as a gene, and as the deployer (memory §5, §10)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rotifer_bridge._record import AgentRecord, load_record
from rotifer_bridge._service_body import value_of
from rotifer_bridge._service_errors import Refused
from rotifer_bridge.errors import AgentError, RotiferError
from rotifer_engine import (
    ABSENT,
    AgentMemory,
    AgentMemoryError,
    Caller,
    Entry,
    EntrySummary,
    decode_value,
    format_time,
    perform,
    perform_writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rotifer_bridge._service_state import Asked, State

__all__ = ["LIST_LIMIT", "LIST_MOST", "call", "clear", "list_entries", "write_together"]

LIST_LIMIT = 100
LIST_MOST = 1_000


def call(op: str) -> Callable[[State, Asked], object]:
    """What answers one of the four calls of genes."""

    def answer(state: State, asked: Asked) -> object:
        memory, caller = _acting(state, asked)
        request = value_of(asked.body)
        if op == "write":
            found = perform(memory, caller, op, *_with_value(request))
        else:
            found = perform(memory, caller, op, request)
        if isinstance(found, list):
            return [entry.to_json() for entry in found]
        if isinstance(found, Entry):
            return found.to_json()
        return {"deleted": 1} if op == "delete" else None

    return answer


def write_together(state: State, asked: Sequence[Asked]) -> list[object]:
    """Answer several writes, those of one agent in one change as far as none is refused."""
    outcome: list[object] = [None] * len(asked)
    agents: dict[str, tuple[AgentMemory, list[tuple[int, tuple[Caller, object, object]]]]] = {}
    for number, one in enumerate(asked):
        try:
            memory, caller = _acting(state, one)
            request, value = _with_value(value_of(one.body))
        except (RotiferError, AgentMemoryError, Refused) as error:
            outcome[number] = error
            continue
        writes = agents.setdefault(memory.agent_id, (memory, []))[1]
        writes.append((number, (caller, request, value)))
    for memory, writes in agents.values():
        found = perform_writes(memory, [write for _, write in writes])
        for (number, _), entry in zip(writes, found, strict=True):
            outcome[number] = entry.to_json() if isinstance(entry, Entry) else entry
    return outcome


def _with_value(request: object) -> tuple[object, object]:
    """A write's fields without its value, and the value's bytes."""
    if not isinstance(request, dict) or "value" not in request:
        return request, ABSENT
    return request, decode_value(request.pop("value"))


def _acting(state: State, asked: Asked) -> tuple[AgentMemory, Caller]:
    """The memory and the caller that the token is bound to; the request says neither.

    The answer is the same for another agent and for one that does not exist, so that nobody learns
    which agents there are.
    """
    bound = asked.token.bound
    try:
        record = _bound_record(state, bound["agentId"] or "")
    except AgentError:
        record = None
    if record is None or record.name != asked.path["agent"]:
        raise Refused("FORBIDDEN", "this token is not for that agent")
    return state.memory(record), Caller(bound["gene"], bound["domain"])


def _bound_record(state: State, agent_id: str) -> AgentRecord | None:
    """The record of the agent with this id, read anew when its file has changed."""
    import os

    path = os.path.join(state.project.agents_dir, f"{agent_id}.json")
    try:
        status = os.lstat(path)
    except OSError:
        return None
    seen = (status.st_ino, status.st_mtime_ns, status.st_size)
    kept = state.records.get(agent_id)
    if kept is None or kept[0] != seen:
        kept = state.records[agent_id] = (seen, load_record(path))
    return kept[1]


# ---- the deployer


def list_entries(state: State, asked: Asked) -> object:
    """A page of what is remembered, in the order of the keys' bytes, without values."""
    memory = state.memory(state.project.record(asked.path["agent"]))
    limit = asked.number("limit", LIST_LIMIT, 1, LIST_MOST)
    offset = asked.number("offset", 0, 0, 10**9)
    entries = memory.list(asked.query.get("category"))
    return {
        "agent": asked.path["agent"],
        "usageBytes": memory.usage(),
        "quotaBytes": memory.quota_bytes,
        "entries": [_summary(entry) for entry in islice(entries, offset, offset + limit)],
    }


def _summary(entry: EntrySummary) -> dict[str, object]:
    return {
        "key": entry.key,
        "category": entry.category,
        "size": entry.size,
        "createdBy": entry.created_by,
        "updatedAt": format_time(entry.updated_at),
    }


def clear(state: State, asked: Asked) -> object:
    """Delete one entry, or all of a category, whatever their policies say."""
    key, category = asked.query.get("key"), asked.query.get("category")
    if (key is None) == (category is None):
        raise Refused(
            "INVALID_REQUEST",
            "give exactly one of key, which deletes one entry, and category, which deletes all "
            "entries of one",
        )
    memory = state.memory(state.project.record(asked.path["agent"]))
    deleted = memory.delete_category(category) if key is None else memory.delete_key(key)
    return {"deleted": deleted}
