"""Playing a case through a door: what came of it, in the neutral form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rotifer_engine.conformance._case import Case
from rotifer_engine.conformance._door import Door
from rotifer_engine.conformance._layer_door import neutral_layers
from rotifer_engine.conformance._stage import Stage
from rotifer_engine.conformance._steps import DOMAINS, LAYERS, Step
from rotifer_engine.conformance._values import Names, neutral_entry

__all__ = ["Played", "is_error", "play"]


class Played(NamedTuple):
    """What came of a case, in the neutral form.

    Args:
        answers: one for each step.
        lines: of the audit log, for each of the two agents.
        events: of the telemetry file, for each of the two agents.
        raw: the lines as they stand in the log.
        fault: what broke, if the case did not come to its end.
    """

    answers: list[Any]
    lines: list[list[dict[str, Any]]]
    events: list[list[dict[str, Any]]]
    raw: list[str]
    fault: str | None = None

    def comparable(self) -> Any:
        """What must be the same at every door and in every store: all but the words of errors."""
        answers = [
            {"error": answer["error"]["code"]} if is_error(answer) else answer
            for answer in self.answers
        ]
        return [answers, self.lines, self.events, self.fault]


def play(case: Case, door: Door, stage: Stage) -> Played:
    """Play a case from its beginning.

    Calls of one gene that follow on each other are handed to the door together: a door may need a
    process for them.
    """
    stage.begin()
    if case.is_of_layers:
        stage.clear_layers()
    door.prepare(stage)
    roles = {caller.gene_id: role for role, caller in door.callers().items() if caller.gene_id}
    roles["deployer"] = "deployer"
    names = [Names(part.agent_id, roles) for part in stage.parts]
    answers: list[Any] = []
    try:
        for (_, agent), group in groupby(case.steps, key=lambda step: (step.who, step.agent)):
            steps = list(group)
            given = list(_perform(door, stage, agent, steps))
            assert len(given) == len(steps), "an answer for each call"
            answers += [
                neutral_layers(answer, names[agent], stage)
                if step.who == LAYERS and not is_error(answer)
                else _neutral(answer, step, names[agent])
                for answer, step in zip(given, steps, strict=True)
            ]
    except Exception as error:  # noqa: BLE001 - whatever breaks is the case's result
        fault = f"{type(error).__name__}: {error}"
        return Played(answers, [[], []], [[], []], [], fault)
    raw = [stage.lines(part) for part in stage.parts]
    keys = [step.request["key"] for step in case.steps if isinstance(step.request.get("key"), str)]
    return Played(
        answers,
        [_lines(part, each) for part, each in zip(names, raw, strict=True)],
        [
            _events(part, stage.events(about), keys)
            for part, about in zip(names, stage.parts, strict=True)
        ],
        [line for each in raw for line in each],
    )


def _perform(door: Door, stage: Stage, agent: int, steps: Sequence[Step]) -> Iterator[Any]:
    if steps[0].who in DOMAINS:
        yield from door.ask(stage, stage.parts[agent], steps[0].who, steps)
        return
    for step in steps:
        if step.call == "wait":
            stage.clock.move(step.request["ms"])
            yield None
        elif step.call == "set":
            stage.set(step.request["quota"], step.request["data_policy"])
            door.prepare(stage)
            yield None
        elif step.who == LAYERS:
            yield door.ask_layers(stage, step)
        else:
            yield door.deploy(stage, stage.parts[agent], step)


def is_error(answer: object) -> bool:
    return isinstance(answer, dict) and isinstance(answer.get("error"), dict)


def _neutral(answer: Any, step: Step, names: Names) -> Any:
    if is_error(answer):
        return answer
    if isinstance(answer, list):
        if step.call == "list":
            return [
                {
                    **row,
                    "createdBy": names.role(row.get("createdBy")),
                    "updatedAt": names.after(row.get("updatedAt")),
                }
                for row in answer
            ]
        return [neutral_entry(each, names) for each in answer]
    return neutral_entry(answer, names)


def _lines(names: Names, raw: Sequence[str]) -> list[dict[str, Any]]:
    """Lines of the log in the neutral form; changes are numbered as they come."""
    found = []
    changes: dict[object, int] = {}
    for text in raw:
        line = json.loads(text)
        key = line.get("key")
        found.append(
            {
                "ts": names.after(line.get("ts")),
                "action": str(line.get("action")).removeprefix("memory."),
                "gene_id": names.role(line.get("gene_id")),
                "gene_domain": line.get("gene_domain"),
                "entry_id": names.entry_id(line.get("entry_id"), key),
                "key": key,
                "category": line.get("category"),
                "size": line.get("size"),
                "change_id": changes.setdefault(line.get("change_id"), len(changes)),
                "result": line.get("result"),
                "code": line.get("code"),
            }
        )
    return found


def _events(names: Names, raw: Sequence[str], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Events in the neutral form: an entry's id, which is all that they say of it, by its key."""
    by_id = {names.id_of(key): key for key in keys}
    return [
        {
            "event": event.get("event"),
            "gene_id": names.role(event.get("gene_id")),
            "entry_id": by_id.get(event.get("entry_id"), event.get("entry_id")),
        }
        for event in map(json.loads, raw)
    ]
