"""The service's calls on the layers (layers §6).

The actor of a request stands in the request; the token says whether it may. A request without an
actor sees what belongs to all, whoever's token it carries: a token never fills one in **[ours]**.
Inside which agent an actor works is the token's alone: who is not inside neither sees, writes nor
clears that agent's namespaces, or what stands in its channel would be anybody's word **[ours]**.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rotifer_bridge._names import shown
from rotifer_bridge._service_body import object_of
from rotifer_bridge._service_errors import Refused
from rotifer_engine import AgentMemoryError
from rotifer_engine.layers import LAYERS, agent_of, refuse_conflict, save_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_bridge._service_state import Asked, State
    from rotifer_bridge._tokens import Token

__all__ = ["clear", "counts", "list_entries", "save", "save_together"]

_FIELDS = (
    "layer",
    "scope",
    "content",
    "actor",
    "namespace",
    "kind",
    "session",
    "key",
    "metadata",
)
_NUMBERS = ("limit", "offset")


def list_entries(state: State, asked: Asked) -> object:
    """The entries that the actor sees and that meet every filter, newest first."""
    query: dict[str, object] = dict(asked.query)
    refuse_conflict(query.get("layer"), query.get("scope"))
    for name in _NUMBERS:
        text = asked.query.get(name)
        if text is not None and asked.is_number(text):
            query[name] = int(text)
    _bound(asked.token, query.get("actor"))
    found = state.layers.list(agent=asked.token.bound.get("inside"), **query)
    return [entry.to_json() for entry in found]


def counts(state: State, asked: Asked) -> object:
    """How many entries of each of the seven layers the actor sees."""
    _bound(asked.token, asked.query.get("actor"))
    return state.layers.counts(**asked.query, agent=asked.token.bound.get("inside"))


def save(state: State, asked: Asked) -> object:
    """Write to a layer; the entry as it is stored."""
    return state.layers.save(**_wanted(asked)).to_json()


def save_together(state: State, asked: Sequence[Asked]) -> list[object]:
    """Answer several writes, those of one actor in one change."""
    outcome: list[object] = [None] * len(asked)
    good: list[tuple[int, dict[str, Any]]] = []
    for number, one in enumerate(asked):
        try:
            good.append((number, _wanted(one)))
        except (AgentMemoryError, Refused) as error:
            outcome[number] = error
    found = save_each(state.layers, [fields for _, fields in good])
    for (number, _), entry in zip(good, found, strict=True):
        outcome[number] = entry if isinstance(entry, AgentMemoryError) else entry.to_json()
    return outcome


def _wanted(asked: Asked) -> dict[str, Any]:
    """The arguments of a write, once the token may make it."""
    fields = object_of(asked.body, _FIELDS)
    actor = asked.query.get("actor")
    if actor is not None:
        if "actor" in fields and fields["actor"] != actor:
            raise Refused("INVALID_REQUEST", "the address and the body name different actors")
        fields["actor"] = actor
    scope = fields.pop("scope", None)
    fields = {"layer": "", "content": None, "kind": "fact", **fields}
    layer = fields["layer"]
    refuse_conflict(layer if isinstance(layer, str) else None, scope)
    if scope is not None:
        raise Refused("INVALID_REQUEST", "a write goes to a layer, not to a scope")
    _may_change(asked.token, layer, fields.get("actor"), fields.get("namespace"))
    return fields


def clear(state: State, asked: Asked) -> object:
    """Delete an actor's entries of a layer, or all of ``consensus``."""
    query = dict(asked.query)
    layer, scope = query.pop("layer", ""), query.pop("scope", None)
    refuse_conflict(layer, scope)
    if scope is not None:
        raise Refused("INVALID_REQUEST", "a layer is cleared, not a scope")
    _may_change(asked.token, layer, query.get("actor"), query.get("namespace"))
    return {"deleted": state.layers.clear(layer, **query)}


def _bound(token: Token, actor: object) -> None:
    """Refuse an actor that the token is not bound to, be there anything of it or not."""
    if _is_none(actor):
        return
    if token.kind != "actor" or token.bound["actor"] != actor:
        raise Refused("FORBIDDEN", "this token is not for that actor")


def _is_none(actor: object) -> bool:
    """Whether no actor was named; of a body it may be a value of any type, which engines refuse."""
    return actor is None or actor == ""


def _may_change(token: Token, layer: object, actor: object, namespace: object) -> None:
    """Refuse a change that is not the token's to make.

    What no rule of the layers allows anybody is left to them: they say which rule it is. So only
    a layer that can be written, with the actor that it demands or without one, gets as far as here.
    """
    rule = LAYERS.get(layer) if isinstance(layer, str) else None
    if rule is None or not rule.is_writable:
        return
    if rule.owner:
        _bound(token, actor if isinstance(actor, str) else None)
        agent = agent_of(namespace) if rule.namespaced and isinstance(namespace, str) else ""
        if agent and agent != token.bound.get("inside"):
            raise Refused(
                "FORBIDDEN",
                f"a namespace of {shown(agent)} is written and cleared by who works inside it; "
                "this token is not for that agent",
            )
    elif _is_none(actor) and token.kind != "admin":
        raise Refused("FORBIDDEN", f"{layer} is written and cleared with an administrator's token")
