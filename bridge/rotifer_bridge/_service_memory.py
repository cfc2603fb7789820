"""The service's calls on an agent's memory: as a gene, and as the deployer (memory §5, §10)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rotifer_bridge._record import AgentRecord, load_record
from rotifer_bridge._service_body import value_of
from rotifer_bridge._service_errors import Refused
from rotifer_bridge.errors import AgentError
from rotifer_engine import (
    ABSENT,
    AgentMemory,
    Caller,
    Entry,
    EntrySummary,
    decode_value,
    format_time,
    perform,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._service_state import Asked, State

__all__ = ["LIST_LIMIT", "LIST_MOST", "call", "clear", "list_entries"]

LIST_LIMIT = 100
LIST_MOST = 1_000


def call(op: str) -> Callable[[State, Asked], object]:
    """What answers one of the four calls of genes."""

    def answer(state: State, asked: Asked) -> object:
        memory, caller = _acting(state, asked)
        request = value_of(asked.body)
        value: object = ABSENT
        if op == "write" and isinstance(request, dict) and "value" in request:
            value = decode_value(request.pop("value"))
        found = perform(memory, caller, op, request, value)
        if isinstance(found, list):
            return [entry.to_json() for entry in found]
        if isinstance(found, Entry):
            return found.to_json()
        return {"deleted": 1} if op == "delete" else None

    return answer


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
