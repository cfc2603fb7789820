"""Read the audit log back: which keys each agent must have now (memory §9)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._audit import ACTIONS, record_of

__all__ = ["Line", "made", "replay"]


class Line(NamedTuple):
    """What a reader needs of one line.

    Args:
        action: one of ``ACTIONS``.
        change_id: shared by all lines of a change.
        agent_id: whose memory; None where that is not known, or not asked.
        key: of the entry it is about.
        size: of that entry.
    """

    action: str
    change_id: str
    agent_id: object = None
    key: object = None
    size: object = None


def made(lines: Iterable[Line], last_change: str | Absent | None) -> Iterator[Line]:
    """The lines of the changes that were made, each once the fate of its change is known.

    The next line about the same store settles a change.

    Args:
        lines: the lines of one store, in the order of the log.
        last_change: the id of the last change that the store committed, None when it committed
            none: that settles the change at the end of the log. Absent takes it as made.
    """
    pending: list[Line] = []
    pending_id: str | None = None
    for line in lines:
        action, change_id = line.action, line.change_id
        effect = ACTIONS[action].effect
        if change_id != pending_id or effect is None:
            abandoned = action == "memory.abandoned" and change_id == pending_id
            lost = action == "memory.continued" and change_id != pending_id
            if not abandoned and not lost:
                yield from pending
            pending.clear()
            pending_id = None
        if effect is not None:
            pending.append(line)
            pending_id = change_id
    if isinstance(last_change, Absent) or pending_id == last_change:
        yield from pending


def replay(
    lines: Iterable[str | bytes], *, last_change: str | Absent | None = ABSENT
) -> dict[str, set[str]]:
    """Replay a log, oldest file first if it was rotated.

    Lines that are torn, or not about memory, are passed over. A change counts once its fate is
    known: the next line about the same store settles it.

    Args:
        lines: the lines, with or without their ends.
        last_change: the id of the last change that the store committed, None when it committed
            none: that settles the change at the end of the log. Absent takes it as made.

    Returns:
        The keys of each agent that has ever had one; the set may be empty.
    """
    keys: dict[str, set[str]] = {}
    for line in made(filter(None, map(_parse, lines)), last_change):
        effect, agent_id, key = ACTIONS[line.action].effect, line.agent_id, line.key
        if not isinstance(agent_id, str) or not isinstance(key, str) or effect is None:
            continue
        of_agent = keys.setdefault(agent_id, set())
        if effect > 0:
            of_agent.add(key)
        elif effect < 0:
            of_agent.discard(key)
    return keys


def _parse(line: str | bytes) -> Line | None:
    raw = line.encode("utf-8", "replace") if isinstance(line, str) else line
    if b'"change_id"' not in raw:
        return None
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    found = record_of(fields)
    return None if found is None else Line(*found, fields.get("agent_id"), fields.get("key"))
