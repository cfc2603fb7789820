"""What a call on the layers may hand in: everything is refused here, at the edge (layers §3).

Nothing is repaired silently: no clipping, no trimming, no normalizing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from rotifer_engine._input import check_text, check_word, kind, shown
from rotifer_engine.errors import InvalidInput
from rotifer_engine.layers._errors import (
    ActorRequired,
    KindRequired,
    LayerNamespaceRequired,
    LayerNotWritable,
    LayerScopeConflict,
    LayerShared,
    SessionRequired,
    UnknownLayer,
)
from rotifer_engine.layers._kind import KINDS
from rotifer_engine.layers._table import LAYERS
from rotifer_engine.layers._visible import AGENT_NAME, AGENT_ROOM, agent_of

__all__ = [
    "LIMITS",
    "Draft",
    "check_agent",
    "check_draft",
    "check_layer",
    "check_optional",
    "check_target",
    "given",
    "refuse_conflict",
    "require_actor",
]

#: The most bytes of UTF-8 that each may have **[ours]**; metadata as compact JSON. The largest
#: entries, fifty of them, still fit into one answer (``MAX_ANSWER_BYTES``).
LIMITS: dict[str, int] = {
    "content": 65_536,
    "key": 1_024,
    "namespace": 512,
    "actor": 256,
    "session": 256,
    "agent": 256,
    "scope": 256,
    "metadata": 16_384,
}


class Draft(NamedTuple):
    """An entry as it was asked for, checked but for its actor, which the save itself demands.

    Args:
        layer: one of the seven.
        actor: whose; empty for nobody.
        namespace: empty for none.
        kind: one of ``KINDS``.
        session: empty for none.
        key: empty for none.
        content: what is to be remembered.
        metadata: compact JSON.
    """

    layer: str
    actor: str
    namespace: str
    kind: str
    session: str
    key: str
    content: str
    metadata: str

    @property
    def session_of_identity(self) -> str:
        """The session, where it is part of what makes the entry the same one."""
        bound = not KINDS[self.kind].durable or LAYERS[self.layer].readers == "session"
        return self.session if bound else ""


# ---- words


def check_layer(layer: object) -> str:
    """One of the seven layers, spelled exactly so.

    Raises:
        UnknownLayer: any other value; the message lists them.
    """
    if isinstance(layer, str) and layer in LAYERS:
        return layer
    got = shown(layer) if isinstance(layer, str) else kind(layer)
    raise UnknownLayer(f"layer must be one of {', '.join(LAYERS)}; got {got}")


def require_actor(layer: str, actor: str) -> str:
    """The actor that a row of this layer has: judged here, in every save and clear (layers §3).

    Args:
        layer: one of the seven.
        actor: the one that was given; empty for none. Nothing in the metadata counts.

    Raises:
        ActorRequired: the layer's rows belong to somebody, and nobody was named.
        LayerShared: the layer belongs to all, and somebody was named.
    """
    rule = LAYERS[layer]
    if rule.owner is False and actor:
        raise LayerShared(
            f"{layer} belongs to all, but an actor was given: {shown(actor)}; leave it out"
        )
    if rule.owner is not False and not actor:
        raise ActorRequired(f"{layer} belongs to one actor, and none was given; say whose it is")
    return actor


def given(word: object) -> bool:
    """Whether a word of a reading request was given: an empty one stands for none there."""
    return word is not None and word != ""


def refuse_conflict(layer: object, scope: object) -> None:
    """Refuse a request that has both; they are never intersected.

    Raises:
        LayerScopeConflict: both were given.
    """
    if given(layer) and given(scope):
        raise LayerScopeConflict(
            f"both a layer, {shown(layer)}, and a scope, {shown(scope)}, were asked for; "
            "a layer says its scope: give one of the two"
        )


def check_optional(value: object, what: str) -> str:
    """A text of the table of limits that may be left out; empty when it is.

    Raises:
        InvalidInput: not a string, not well-formed, with a NUL, or too long.
    """
    if value is None:
        return ""
    text = check_text(value, what)
    size, limit = len(text.encode()), LIMITS[what]
    if size > limit:
        raise InvalidInput(f"{what} is {size:,} bytes; the limit is {limit:,}")
    if "\0" in text:
        raise InvalidInput(
            f"{what} has a NUL character at position {text.index(chr(0))}; it cannot hold one"
        )
    return text


def check_agent(agent: object) -> str:
    """The agent inside which an actor works, as namespaces name it; empty for none.

    Raises:
        InvalidInput: it is not of the form ``agent-<name>``.
    """
    text = check_optional(agent, "agent")
    if text and (not text.startswith(AGENT_NAME) or not _is_name(text.removeprefix(AGENT_NAME))):
        raise InvalidInput(f"agent must be of the form {AGENT_NAME}<name>; got {shown(text)}")
    return text


def _is_name(text: str) -> bool:
    return text != "" and "/" not in text


def _check_namespace(layer: str, namespace: object) -> str:
    text = check_optional(namespace, "namespace")
    if not LAYERS[layer].namespaced:
        if text:
            raise InvalidInput(
                f"{layer} has no namespaces, but one was given: {shown(text)}; leave it out"
            )
        return ""
    if not text:
        raise LayerNamespaceRequired(f"{layer} is kept by namespaces; give a namespace")
    if text.startswith(AGENT_ROOM) and not agent_of(text):  # nobody would ever see it
        raise InvalidInput(
            f"a namespace of an agent is of the form {AGENT_ROOM}<name>/<what>; got {shown(text)}"
        )
    return text


# ---- calls


def check_target(layer: object, namespace: object, *, runtime: bool) -> tuple[str, str]:
    """The layer and namespace that a call may change.

    Args:
        layer: the layer's word.
        namespace: empty or None for none.
        runtime: whether it is the runtime that calls, not the public.

    Raises:
        UnknownLayer: no such layer.
        LayerNotWritable: not one that this call writes.
        LayerNamespaceRequired: it needs a namespace.
        InvalidInput: it has no namespaces and was given one, or a bad one.
    """
    word = check_layer(layer)
    rule = LAYERS[word]
    if not (rule.is_runtime if runtime else rule.is_writable):
        own = [n for n, r in LAYERS.items() if (r.is_runtime if runtime else r.is_writable)]
        raise LayerNotWritable(
            f"{word} is written by {rule.writer_said}, not by this call, which writes "
            f"{', '.join(own)}"
        )
    return word, _check_namespace(word, namespace)


def check_draft(
    layer: object,
    content: object,
    *,
    actor: object,
    namespace: object,
    kind: object,
    session: object,
    key: object,
    metadata: object,
    runtime: bool,
) -> Draft:
    """Everything about a write, but whether it has the actor that it needs.

    Raises:
        LayerError: one of the codes of layers §3.
        InvalidInput: a text or the metadata breaks a rule that has no code of its own.
    """
    word = check_layer(layer)
    owner = check_optional(actor, "actor")
    word, space = check_target(word, namespace, runtime=runtime)
    if kind is None or kind == "":
        raise KindRequired(f"kind is empty; it must be one of {', '.join(KINDS)}")
    sort = check_word(kind, "kind", KINDS)
    within = check_optional(session, "session")
    if not within:
        if not KINDS[sort].durable:
            raise SessionRequired(
                f"an entry of the kind {sort} is seen in its own session only; give its session id"
            )
        if LAYERS[word].readers == "session":
            raise SessionRequired(f"{word} is seen in its own session only; give its session id")
    name = check_optional(key, "key")
    if key is not None and not name:
        raise InvalidInput("key is empty; give it a name or leave it out")
    if content is None:
        raise InvalidInput("content must be a string; got null")
    text = check_optional(content, "content")
    if not text:
        raise InvalidInput("content is empty; there is nothing to remember")
    return Draft(word, owner, space, sort, within, name, text, _check_metadata(metadata))


def _check_metadata(metadata: object) -> str:
    if metadata is None:
        return "{}"
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be an object; got {kind(metadata)}")
    try:
        text = json.dumps(
            dict(metadata), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        size = len(text.encode())
        same = json.loads(text) == dict(metadata)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata is not JSON: {ascii(str(error))[1:-1][:200]}") from None
    if not same:
        raise InvalidInput(
            "metadata would not come back the same from JSON; use strings for names, lists for rows"
        )
    if size > LIMITS["metadata"]:
        raise InvalidInput(
            f"metadata is {size:,} bytes of JSON; the limit is {LIMITS['metadata']:,}"
        )
    return text
