"""What came of a case beside what should have come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from rotifer_engine._audit import ACTIONS
from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._play import Played, is_error
from rotifer_engine.conformance._steps import (
    DOMAINS,
    NOBODY,
    Answer,
    Count,
    Counts,
    Entries,
    Keys,
    Refusal,
    Rows,
    Told,
)
from rotifer_engine.conformance._values import Kept, Line

__all__ = ["Difference", "differences"]

#: layers §1
_SEVEN = (
    "environment",
    "consensus",
    "about_me",
    "agent_memory",
    "session",
    "working",
    "unknown",
)


class Difference(NamedTuple):
    """Where something came out that should not.

    Args:
        where: the step, or the line.
        expected: what should have come out.
        got: what did.
    """

    where: str
    expected: Any
    got: Any


def differences(case: Case, played: Played) -> Iterator[Difference]:
    """All that came out otherwise than the case says, step by step and then line by line."""
    for number, (step, got) in enumerate(zip(case.steps, played.answers, strict=False)):
        wanted, found = _compared(step.answer, got)
        if wanted != found:
            yield Difference(f"step {number + 1}: {step}", wanted, found)
    if played.fault is not None:
        step_number = len(played.answers)
        where = f"step {step_number + 1}: {case.steps[step_number]}"
        yield Difference(where, "an answer", played.fault)
        return
    for agent in range(2):
        whose = " of the other agent" if agent else ""
        wanted_lines = list(_expected_lines(case, agent))
        got_lines = played.lines[agent]
        for number in range(max(len(wanted_lines), len(got_lines))):
            expected = wanted_lines[number] if number < len(wanted_lines) else None
            line = got_lines[number] if number < len(got_lines) else None
            if expected is not None and line is not None:
                for field in ("category", "size"):
                    if expected[field] is None:
                        line = {**line, field: None}
            if expected != line:
                yield Difference(f"line {number + 1} of the audit log{whose}", expected, line)
        denied = [
            {"event": "memory.access_denied", "gene_id": line["gene_id"], "entry_id": line["key"]}
            for line in wanted_lines
            if line["action"] == "denied"
        ]
        if denied != played.events[agent]:
            yield Difference(f"the telemetry file{whose}", denied, played.events[agent])
    yield from _leaks(case, played)


def _compared(answer: Answer, got: Any) -> tuple[Any, Any]:
    """What is expected, and the part of what came that is compared with it."""
    if isinstance(answer, Kept):
        return answer.document(), got
    if isinstance(answer, Entries):
        return [each.document() for each in answer.entries], got
    if isinstance(answer, Keys):
        if isinstance(got, list):
            got = [each.get("key") if isinstance(each, dict) else each for each in got]
        return list(answer.keys), got
    if isinstance(answer, Rows):
        return [row.row() for row in answer.rows], got
    if isinstance(answer, Told):
        documents = [each.document() for each in answer.entries]
        return (documents[0] if answer.one else documents), got
    if isinstance(answer, Counts):
        return {layer: answer.numbers.get(layer, 0) for layer in _SEVEN}, got
    if isinstance(answer, Count):
        return answer.number, got
    if isinstance(answer, Refusal):
        expected: dict[str, Any] = {"code": answer.code}
        if not is_error(got):
            return {"error": expected}, got
        found: dict[str, Any] = {"code": got["error"].get("code")}
        message = str(got["error"].get("message"))
        if not all(word in message for word in answer.says):
            expected["message"], found["message"] = f"one with {', '.join(answer.says)}", message
        return {"error": expected}, {"error": found}
    return None, got


def _expected_lines(case: Case, agent: int) -> Iterator[dict[str, Any]]:
    change = 0
    for step, now in zip(case.steps, case.times(), strict=True):
        if step.agent != agent:
            continue
        for group in step.lines:
            for line in group:
                yield _expected(line, now, change)
            change += 1


def _expected(line: Line, now: int, change: int) -> dict[str, Any]:
    _, result, code = ACTIONS[f"memory.{line.action}"]
    return {
        "ts": now,
        "action": line.action,
        "gene_id": None if line.who == NOBODY else line.who,
        "gene_domain": DOMAINS.get(line.who),
        "entry_id": None if line.key is None else "of its key",
        "key": line.key,
        "category": line.category,
        "size": line.size,
        "change_id": change,
        "result": result,
        "code": code,
    }


def _leaks(case: Case, played: Played) -> Iterator[Difference]:
    """Values never appear in the log (memory §9); only those that nothing else looks like."""
    for step in case.steps:
        value = step.request.get("value")
        if isinstance(value, bytes) and len(value) > 8 and value.isascii():
            text = json.dumps(value.decode())[1:-1]
            for line in played.raw:
                if text in line:
                    yield Difference("the audit log", "no value", line)
