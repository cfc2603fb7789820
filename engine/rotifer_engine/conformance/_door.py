"""A door: how the steps of a case reach the memory, and the one that is in this process.

A door knows how to ask; what must come back is no business of it. The deployer's steps go through
Python at every door that has none of its own for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any, Protocol

from rotifer_engine._absent import ABSENT
from rotifer_engine._access import Caller
from rotifer_engine._entry import Entry
from rotifer_engine._quota import parse_quota
from rotifer_engine._request import perform
from rotifer_engine._time import format_time
from rotifer_engine.conformance._layer_door import ask_layers
from rotifer_engine.conformance._stage import Part, Stage
from rotifer_engine.conformance._steps import DOMAINS, NOBODY, Step
from rotifer_engine.conformance._values import access, instant
from rotifer_engine.errors import AgentMemoryError

__all__ = ["Door", "PythonDoor", "deploy", "failure"]


class Door(Protocol):
    """A way in.

    Args:
        name: what it is called in the report.
    """

    name: str

    def callers(self) -> Mapping[str, Caller]:
        """Who the roles of a case are at this door."""
        ...  # pragma: no cover - a protocol has no body

    def prepare(self, stage: Stage) -> None:
        """Get ready for the stage's two agents, who are new or have been set anew."""
        ...  # pragma: no cover - a protocol has no body

    def ask(self, stage: Stage, part: Part, role: str, steps: Sequence[Step]) -> list[Any]:
        """Make these calls as a gene, one after the other; the JSON of each answer.

        An error is ``{"error": {"code": ..., "message": ...}}``.
        """
        ...  # pragma: no cover - a protocol has no body

    def deploy(self, stage: Stage, part: Part, step: Step) -> Any:
        """Do what the deployer does in a step; the JSON of its answer."""
        ...  # pragma: no cover - a protocol has no body

    def ask_layers(self, stage: Stage, step: Step) -> Any:
        """Do a step on the layers; the JSON of its answer."""
        ...  # pragma: no cover - a protocol has no body

    def close(self) -> None:
        """Give everything back."""
        ...  # pragma: no cover - a protocol has no body


class PythonDoor:
    """Calls in this process: :func:`rotifer_engine.perform`."""

    name = "python"

    def callers(self) -> Mapping[str, Caller]:
        """Identities made from the roles' names."""
        return {
            role: Caller(
                None if role == NOBODY else f"v2:{sha256(role.encode()).hexdigest()}", domain
            )
            for role, domain in DOMAINS.items()
        }

    def prepare(self, stage: Stage) -> None:
        """There is nothing to be made ready."""

    def ask(self, stage: Stage, part: Part, role: str, steps: Sequence[Step]) -> list[Any]:
        """Perform each."""
        memory, caller = stage.memory(part), self.callers()[role]
        answers = []
        for step in steps:
            request = dict(step.request)
            value = request.pop("value", ABSENT)
            try:
                answer = perform(memory, caller, step.call, request, value)
            except AgentMemoryError as error:
                answers.append(failure(error))
            else:
                answers.append(_json(answer))
        return answers

    def deploy(self, stage: Stage, part: Part, step: Step) -> Any:
        """See :func:`deploy`."""
        return deploy(stage, part, step)

    def ask_layers(self, stage: Stage, step: Step) -> Any:
        """See :func:`ask_layers`."""
        return ask_layers(stage, step)

    def close(self) -> None:
        """There is nothing to give back."""


def failure(error: AgentMemoryError) -> dict[str, Any]:
    """An error as a door's answer."""
    return {"error": {"code": error.code, "message": error.message}}


def _json(answer: Entry | list[Entry] | None) -> Any:
    if answer is None:
        return None
    if isinstance(answer, list):
        return [entry.to_json() for entry in answer]
    return answer.to_json()


def deploy(stage: Stage, part: Part, step: Step) -> Any:
    """Do through Python what the deployer does in a step; the JSON of its answer."""
    try:
        return _deploy(stage, part, step)
    except AgentMemoryError as error:
        return failure(error)


def _export_of(keys: Sequence[str]) -> bytes:
    """A file of empty entries that somebody made who is none of the case's genes."""
    stranger = f"v2:{sha256(b'stranger').hexdigest()}"
    entry = {
        "category": "PATTERN",
        "value": "",
        "createdBy": stranger,
        "createdDomain": None,
        "lastAccessedBy": stranger,
        "createdAt": instant(),
        "updatedAt": instant(),
        "accessPolicy": access("ALL_GENES"),
        "retentionPolicy": None,
    }
    lines = [
        {"format": "rotifer-memory", "version": 1, "agentId": "a", "exportedAt": instant()},
        *({**entry, "key": key} for key in keys),
        {"end": True, "entries": len(keys)},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode("ascii")


def _deploy(stage: Stage, part: Part, step: Step) -> Any:
    memory, given = stage.memory(part), step.request
    if step.call == "quota":
        return parse_quota(given["text"])
    if step.call == "usage":
        return memory.usage()
    if step.call == "list":
        return [
            {
                "key": row.key,
                "category": row.category,
                "size": row.size,
                "createdBy": row.created_by,
                "updatedAt": format_time(row.updated_at),
            }
            for row in memory.list(given.get("category", ABSENT))
        ]
    if step.call == "delete":
        if "key" in given:
            return memory.delete_key(given["key"])
        return memory.delete_category(given["category"])
    if step.call == "carry":
        file = BytesIO()
        stage.memory(stage.parts[0]).export_to(file, with_cache=given["with_cache"])
        file.seek(0)
        return memory.import_from(file).created
    if step.call == "fill":
        return memory.import_from(BytesIO(_export_of(given["keys"]))).created
    raise AssertionError(f"the deployer cannot {step.call}")
