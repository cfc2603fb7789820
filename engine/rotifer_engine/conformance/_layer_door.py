"""How steps on the layers reach them, and what came in the neutral form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rotifer_engine.errors import AgentMemoryError

if TYPE_CHECKING:
    from rotifer_engine.conformance._stage import Stage
    from rotifer_engine.conformance._steps import Step
    from rotifer_engine.conformance._values import Names

__all__ = ["ask_layers", "neutral_layers", "with_actors"]

_AGENT = "agent-legal"  # the agent of the cases, who is another one in each
_ROOM = "agent://legal/"
_ID = re.compile(r"[0-9a-f]{64}")


def with_actors(stage: Stage, step: Step) -> dict[str, Any]:
    """A step's request with the real names of the actors and the agent in it."""
    request = dict(step.request)
    if request.get("agent") == _AGENT:
        request["agent"] = f"agent-{stage.room}"
    if "namespace" in request:
        request["namespace"] = request["namespace"].replace(_ROOM, f"agent://{stage.room}/")
    if "actor" in request:
        request["actor"] = stage.actors.get(request["actor"], request["actor"])
    return request


def ask_layers(stage: Stage, step: Step) -> Any:
    """Ask in this process; the JSON of the answer."""
    from rotifer_engine.layers import SharedSnapshot

    layers, request = stage.layers(), with_actors(stage, step)
    try:
        if step.call == "save":
            return layers.save(request.pop("layer"), request.pop("content"), **request).to_json()
        if step.call == "save_runtime":
            layer, content = request.pop("layer"), request.pop("content")
            return layers.save_runtime(layer, content, **request).to_json()
        if step.call == "refresh":
            found = layers.refresh_environment(SharedSnapshot(request["facts"]))
            return [entry.to_json() for entry in found]
        if step.call == "list":
            return [entry.to_json() for entry in layers.list(**request)]
        if step.call == "counts":
            return layers.counts(**request)
        return layers.clear(request.pop("layer"), **request)
    except AgentMemoryError as error:
        return {"error": {"code": error.code, "message": error.message}}


def neutral_layers(answer: Any, names: Names, stage: Stage) -> Any:
    """An answer of the layers in the neutral form."""
    if isinstance(answer, list):
        return [neutral_layers(each, names, stage) for each in answer]
    if not isinstance(answer, dict) or "entryId" not in answer:
        return answer
    roles: dict[object, str] = {real: role for role, real in stage.actors.items()}
    known = isinstance(answer["entryId"], str) and _ID.fullmatch(answer["entryId"])
    return {
        **answer,
        "entryId": "64 hex digits" if known else answer["entryId"],
        "actor": roles.get(answer.get("actor"), answer.get("actor")),
        "namespace": str(answer.get("namespace")).replace(f"agent://{stage.room}/", _ROOM),
        "createdAt": names.after(answer.get("createdAt")),
        "updatedAt": names.after(answer.get("updatedAt")),
    }
