"""The seven layers: who writes them, who sees them (layers)."""

from __future__ import annotations

from typing import Any

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._layer_steps import (
    Said,
    clears,
    counts,
    refused,
    runtime,
    saves,
    sees,
    senses,
)
from rotifer_engine.conformance._steps import INVALID, after

__all__ = ["CASES"]

_SEEN = "layers §5: a request without an actor sees only environment and consensus"
_OWN = "layers §1 L3, L4: seen by that actor only"
_LIMIT = "layers §5: the rule of who sees is applied before LIMIT"
_ROOMS = (
    "layers §5: agent://legal/* is seen by agent agent-legal only; agent://legal/shared is the "
    "channel shared by everyone who works inside agent-legal"
)
_SESSION = "layers §4: ephemeral kinds are seen only in their own session"
_STANDING = (
    "layers §6: the same key in the same (layer, actor, namespace) is one standing entry; without "
    "it the content's hash is the identity"
)

_RULE = Said("consensus", "no meetings on Friday")
_CUSTOM = _RULE._replace(kind="convention", created=1)
_TEA = Said("about_me", "alice drinks tea", "alice")
_ATE = Said("about_me", "bob drinks mate", "bob")
_NOTE = Said("agent_memory", "case 12 is closed", "alice", "notes")


def _errors() -> list[Case]:
    table: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("an unknown layer cannot be written", "save", "ErrUnknownLayer", {"layer": "dreams"}),
        ("no layer cannot be written", "save", "ErrUnknownLayer", {"layer": ""}),
        ("an unknown layer cannot be cleared", "clear", "ErrUnknownLayer", {"layer": "dreams"}),
        ("no layer cannot be cleared", "clear", "ErrUnknownLayer", {"layer": ""}),
        ("an unknown layer cannot be listed", "list", "ErrUnknownLayer", {"layer": "dreams"}),
        *(
            (f"{layer} {words}", call, "ErrLayerNotWritable", {"layer": layer})
            for layer in ("environment", "session", "working", "unknown")
            for call, words in (("save", "is not for the public"), ("clear", "is not cleared"))
        ),
        (
            "consensus has no actor",
            "save",
            "ErrLayerShared",
            {"layer": "consensus", "actor": "alice"},
        ),
        (
            "agent_memory needs a namespace",
            "save",
            "ErrLayerNamespaceRequired",
            {"layer": "agent_memory", "actor": "alice"},
        ),
        ("about_me needs an actor", "save", "ErrActorRequired", {"layer": "about_me"}),
        (
            "agent_memory needs an actor",
            "save",
            "ErrActorRequired",
            {"layer": "agent_memory", "namespace": "notes"},
        ),
        (
            "an actor in the metadata is none",
            "save",
            "ErrActorRequired",
            {"layer": "about_me", "metadata": {"actor": "alice"}},
        ),
        (
            "a layer and a scope are never both asked for",
            "list",
            "ErrMemoryLayerScopeConflict",
            {"layer": "about_me", "scope": "global"},
        ),
        (
            "an empty kind is refused",
            "save",
            "ErrKindRequired",
            {"layer": "consensus", "kind": ""},
        ),
        (
            "an unknown kind is refused",
            "save",
            INVALID,
            {"layer": "consensus", "kind": "rumor"},
        ),
        (
            "an ephemeral kind needs a session",
            "save",
            "ErrSessionRequired",
            {"layer": "about_me", "actor": "alice", "kind": "episodic"},
        ),
    )
    return [
        case(
            name,
            f"layers §3 {code}",
            refused(call, code, **asked),
            counts({"actor": "alice"}),
            counts({}),
        )
        for name, call, code, asked in table
    ]


def _visible() -> list[Case]:
    room = Said("agent_memory", "of the case", "alice", "agent://legal/case-12")
    channel = Said("agent_memory", "for all inside", "alice", "agent://legal/shared")
    inside = {"agent": "agent-legal"}
    return [
        case(
            "consensus is seen by everyone",
            "layers §1 L2: seen by everyone in the cell",
            saves(_RULE),
            sees(_RULE),
            sees(_RULE, actor="alice"),
            sees(_RULE, actor="bob"),
        ),
        case(
            "what is about an actor is seen by that actor only",
            _OWN,
            saves(_TEA),
            saves(_ATE),
            sees(_TEA, actor="alice"),
            sees(_ATE, actor="bob"),
            sees(),
        ),
        case(
            "an agent's memory is seen by its actor only",
            _OWN,
            saves(_NOTE),
            sees(_NOTE, actor="alice"),
            sees(actor="bob"),
            sees(),
        ),
        case(
            "a request without an actor is never everyone's",
            _SEEN,
            saves(_TEA),
            saves(_NOTE),
            saves(_RULE),
            senses({"os": "Linux"}, Said("environment", "Linux", key="os")),
            sees(Said("environment", "Linux", key="os"), _RULE),
            sees(layer="about_me"),
            counts({}, consensus=1, environment=1),
        ),
        case(
            "an agent's room is seen inside it only",
            _ROOMS,
            saves(room),
            sees(actor="alice"),
            sees(room, actor="alice", **inside),
            sees(actor="alice", agent="agent-sales"),
            sees(actor="bob", **inside),
        ),
        case(
            "an agent's channel is seen by all who work inside it",
            _ROOMS,
            saves(channel),
            sees(channel, actor="alice", **inside),
            sees(channel, actor="bob", **inside),
            sees(actor="bob"),
            sees(actor="bob", agent="agent-sales"),
            sees(),
        ),
        case(
            "the environment is what was sensed last",
            "layers §1 L1: written by the host sensor only, seen by everyone in the cell",
            senses(
                {"os": "Linux", "python": "3.11"},
                Said("environment", "Linux", key="os"),
                Said("environment", "3.11", key="python"),
            ),
            after(1_000),
            senses(
                {"os": "Linux", "node": "24"},
                Said("environment", "Linux", key="os"),
                Said("environment", "24", key="node", created=1_000),
            ),
            sees(
                Said("environment", "24", key="node", created=1_000),
                Said("environment", "Linux", key="os"),
                actor="alice",
            ),
        ),
        case(
            "counts have all seven layers",
            "layers §6 counts: all seven keys, zeros included",
            counts({"actor": "alice"}),
            saves(_RULE),
            saves(_TEA),
            saves(_NOTE),
            saves(_ATE),
            counts({"actor": "alice"}, consensus=1, about_me=1, agent_memory=1),
            counts({"actor": "bob"}, consensus=1, about_me=1),
        ),
    ]


def _kinds() -> list[Case]:
    happened = Said("about_me", "it rained", "alice", kind="episodic", session="s1")
    state = Said("session", "half done", "alice", session="s1")
    return [
        case(
            "what is ephemeral is seen in its own session only",
            _SESSION,
            saves(happened),
            sees(happened, actor="alice", session="s1"),
            sees(actor="alice", session="s2"),
            sees(actor="alice"),
            sees(actor="bob", session="s1"),
            counts({"actor": "alice", "session": "s1"}, about_me=1),
            counts({"actor": "alice"}),
        ),
        *(
            case(
                f"a {kind} is seen across sessions",
                "layers §4: durable kinds are seen across sessions",
                saves(Said("about_me", "c", "alice", kind=kind, session="s1")),
                sees(Said("about_me", "c", "alice", kind=kind, session="s1"), actor="alice"),
                sees(
                    Said("about_me", "c", "alice", kind=kind, session="s1"),
                    actor="alice",
                    session="s2",
                ),
            )
            for kind in ("fact", "preference", "correction", "regression", "convention")
        ),
        case(
            "the runtime's own layers are seen in their session only",
            "layers §1 session, working: seen by its session",
            runtime(state),
            runtime(state._replace(layer="working")),
            sees(state._replace(layer="working"), state, actor="alice", session="s1"),
            sees(actor="alice", session="s2"),
            sees(actor="bob", session="s1"),
            counts({"actor": "alice", "session": "s1"}, session=1, working=1),
        ),
    ]


def _standing() -> list[Case]:
    keyed = Said("about_me", "tea", "alice", key="drink")
    return [
        case(
            "repeating a write changes nothing",
            _STANDING,
            saves(_TEA),
            after(1_000),
            saves(_TEA),
            sees(_TEA, actor="alice"),
            counts({"actor": "alice"}, about_me=1),
        ),
        case(
            "a key is one standing entry that is replaced",
            _STANDING,
            saves(keyed),
            after(1_000),
            saves(keyed._replace(content="mate", updated=1_000)),
            sees(keyed._replace(content="mate", updated=1_000), actor="alice"),
        ),
        case(
            "the same key of another actor, layer or namespace is another entry",
            _STANDING,
            saves(keyed),
            saves(keyed._replace(actor="bob")),
            saves(keyed._replace(layer="consensus", actor=None)),
            saves(keyed._replace(layer="agent_memory", namespace="a")),
            saves(keyed._replace(layer="agent_memory", namespace="b")),
            counts({"actor": "alice"}, about_me=1, consensus=1, agent_memory=2),
            counts({"actor": "bob"}, about_me=1, consensus=1),
        ),
        case(
            "metadata comes back as it was given",
            "layers §3: a metadata field called actor means nothing",
            saves(_TEA._replace(metadata={"actor": "bob", "n": [1, None, "é"]})),
            sees(_TEA._replace(metadata={"actor": "bob", "n": [1, None, "é"]}), actor="alice"),
            sees(actor="bob"),
        ),
    ]


def _listing() -> list[Case]:
    many = [_ATE._replace(content=f"fact {number}") for number in range(20)]
    return [
        case(
            "the newest stands first",
            "layers §6: entries, newest first",
            saves(_TEA),
            after(1_000),
            saves(_RULE._replace(created=1_000)),
            after(1_000),
            saves(_NOTE._replace(created=2_000)),
            sees(
                _NOTE._replace(created=2_000),
                _RULE._replace(created=1_000),
                _TEA,
                actor="alice",
            ),
        ),
        case(
            "the limit counts what the actor sees",
            _LIMIT,
            saves(_TEA),
            *map(saves, many),
            sees(_TEA, actor="alice", limit=1),
            sees(many[-1], actor="bob", limit=1),
        ),
        case(
            "the limit counts what meets the filters of layers",
            _LIMIT,
            saves(_ATE._replace(kind="preference")),
            *map(saves, many),
            sees(_ATE._replace(kind="preference"), actor="bob", kind="preference", limit=1),
        ),
        case(
            "an offset leaves out the newest",
            "layers §6: limit, offset",
            *map(saves, many[:4]),
            sees(many[2], many[1], actor="bob", limit=2, offset=1),
            sees(actor="bob", offset=4),
        ),
        case(
            "a layer, a scope, a kind and a namespace are filters",
            "layers §6: kind, namespace, session too; the layer goes into SQL",
            saves(_TEA),
            saves(_NOTE),
            after(1),
            saves(_CUSTOM),
            sees(_TEA, actor="alice", layer="about_me"),
            sees(_CUSTOM, actor="alice", layer="consensus"),
            sees(_NOTE, actor="alice", scope="agent"),
            sees(_CUSTOM, _TEA, actor="alice", scope="global"),
            sees(_CUSTOM, actor="alice", kind="convention"),
            sees(_NOTE, actor="alice", namespace="notes"),
            sees(actor="alice", layer="unknown"),
        ),
        case(
            "an actor clears what is its own",
            "layers §6: DELETE /memory/layer",
            saves(_TEA),
            saves(_ATE),
            saves(_NOTE),
            clears(1, layer="about_me", actor="alice"),
            sees(_NOTE, actor="alice"),
            sees(_ATE, actor="bob"),
            clears(0, layer="about_me", actor="alice"),
        ),
        case(
            "a namespace is cleared alone",
            "layers §6: DELETE /memory/layer",
            saves(_NOTE),
            saves(_NOTE._replace(namespace="other")),
            clears(1, layer="agent_memory", actor="alice", namespace="other"),
            sees(_NOTE, actor="alice"),
        ),
        case(
            "consensus is cleared for all",
            "layers §6: DELETE /memory/layer",
            saves(_RULE),
            saves(_TEA),
            clears(1, layer="consensus"),
            sees(_TEA, actor="alice"),
            sees(),
        ),
        *(
            case(
                f"a namespace is refused for {layer}, not ignored",
                "layers §6: a namespace on about_me or consensus is refused, never ignored",
                saves(said),
                refused("clear", INVALID, **{**asked, "layer": layer, "namespace": "notes"}),
                counts({"actor": "alice"}, **{layer: 1}),
            )
            for layer, said, asked in (
                ("about_me", _TEA, {"actor": "alice"}),
                ("consensus", _RULE, {}),
            )
        ),
    ]


CASES: list[Case] = [*_errors(), *_visible(), *_kinds(), *_standing(), *_listing()]
