"""Read the audit log back: which keys each agent must have now (memory §9)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._audit import ACTIONS, read_line

__all__ = ["replay"]


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
    pending: list[tuple[str, str, int]] = []
    pending_id: str | None = None

    def settle(*, made: bool) -> None:
        nonlocal pending_id
        for agent_id, key, effect in pending if made else ():
            of_agent = keys.setdefault(agent_id, set())
            if effect > 0:
                of_agent.add(key)
            elif effect < 0:
                of_agent.discard(key)
        pending.clear()
        pending_id = None

    for line in lines:
        raw = line.encode("utf-8", "replace") if isinstance(line, str) else line
        found = read_line(raw)
        if found is None:
            continue
        action, change_id = found
        if change_id != pending_id or ACTIONS[action].effect is None:
            abandoned = action == "memory.abandoned" and change_id == pending_id
            lost = action == "memory.continued" and change_id != pending_id
            settle(made=not abandoned and not lost)
        effect = ACTIONS[action].effect
        fields = json.loads(raw)
        agent_id, key = fields.get("agent_id"), fields.get("key")
        if effect is not None and isinstance(agent_id, str) and isinstance(key, str):
            pending.append((agent_id, key, effect))
            pending_id = change_id
    settle(made=isinstance(last_change, Absent) or pending_id == last_change)
    return keys
