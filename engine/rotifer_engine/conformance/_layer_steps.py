"""The words that cases on the layers are written in (layers §3-§6).

Actors are ``alice`` and ``bob`` in a case, and somebody of that name who never was before in the
store; whoever names none is ``everyone``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rotifer_engine.conformance._steps import LAYERS, Count, Counts, Refusal, Step, Told
from rotifer_engine.conformance._values import NOW

__all__ = ["ACTORS", "Said", "clears", "counts", "refused", "runtime", "saves", "sees", "senses"]

ACTORS = ("alice", "bob")

_SCOPES = {
    "environment": "system",
    "consensus": "global",
    "about_me": "global",
    "agent_memory": "agent",
    "session": "session",
    "working": "working",
}


class Said(NamedTuple):
    """An entry of a layer as a case expects it.

    Args:
        layer: its layer.
        content: what is remembered.
        actor: whose; None for nobody's.
        namespace: where in the agent's memory.
        kind: its kind.
        session: the session it was written in.
        key: its name.
        metadata: what no rule looks at.
        created: when, in milliseconds after the beginning.
        updated: the same of its last update; None: when it was created.
    """

    layer: str
    content: str
    actor: str | None = None
    namespace: str = ""
    kind: str = "fact"
    session: str | None = None
    key: str | None = None
    metadata: Mapping[str, object] = {}
    created: int = 0
    updated: int | None = None

    def at(self, now: int) -> Said:
        """The same, with the step's time where it was left open."""
        created = now if self.created == NOW else self.created
        updated = now if self.updated == NOW else self.updated
        return self._replace(created=created, updated=created if updated is None else updated)

    def document(self) -> dict[str, Any]:
        """The neutral form."""
        return {
            "entryId": "64 hex digits",
            "layer": self.layer,
            "scope": _SCOPES[self.layer],
            "actor": self.actor,
            "namespace": self.namespace,
            "kind": self.kind,
            "session": self.session,
            "key": self.key,
            "content": self.content,
            "metadata": dict(self.metadata),
            "createdAt": self.created,
            "updatedAt": self.created if self.updated is None else self.updated,
        }


def _request(said: Said) -> dict[str, Any]:
    given = {
        "layer": said.layer,
        "content": said.content,
        "actor": said.actor,
        "namespace": said.namespace,
        "kind": said.kind,
        "session": said.session,
        "key": said.key,
        "metadata": dict(said.metadata),
    }
    return {name: value for name, value in given.items() if value not in (None, "", {})}


def saves(said: Said, *, gives: Said | None = None) -> Step:
    """A write; what comes back is the entry, or another one where it was there already."""
    return Step(LAYERS, "save", _request(said), Told((gives or said,), one=True))


def runtime(said: Said) -> Step:
    """A write of the runtime's own."""
    return Step(LAYERS, "save_runtime", _request(said), Told((said,), one=True))


def senses(facts: Mapping[str, str], *said: Said) -> Step:
    """The environment becomes what a sensor found."""
    return Step(LAYERS, "refresh", {"facts": dict(facts)}, Told(said))


def sees(*said: Said, **asked: Any) -> Step:
    """What an actor sees, the newest first."""
    return Step(LAYERS, "list", asked, Told(said))


def counts(asked: Mapping[str, Any], **numbers: int) -> Step:
    """How many of each layer an actor sees; those that are not named: none."""
    return Step(LAYERS, "counts", dict(asked), Counts(numbers))


def clears(number: int, **asked: Any) -> Step:
    """So many entries less."""
    return Step(LAYERS, "clear", asked, Count(number))


def refused(call: str, code: str, **asked: Any) -> Step:
    """A call that is refused; nothing is written."""
    if call == "save":
        asked = {"content": "c", "kind": "fact", **asked}
    return Step(LAYERS, call, asked, Refusal(code))
