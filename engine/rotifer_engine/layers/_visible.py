"""Who sees an entry: the one place that decides, and its twin in SQL (layers §4, §5).

Both are made from :data:`VISIBLE`. It is applied to rows before LIMIT, never to an answer.

Namespaces **[ours, where the seed says no more than two lines]**: an entry in ``agent://legal/...``
is seen while its actor works inside ``agent-legal``; one in ``agent://legal/shared`` by every actor
who works inside it, and so both are written and cleared from there only: a door that lets actors in
asks :func:`agent_of`. Other namespaces are the actor's own, whatever agent is at work. Which agent
that is, whoever calls must know: it is given as ``agent``, like ``actor``, and never taken from
what an agent says of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine.layers._condition import (
    Begins,
    BeginsAsked,
    Condition,
    Every,
    Given,
    Is,
    Not,
    Same,
    Some,
    holds,
    sql,
)
from rotifer_engine.layers._kind import DURABLE_KINDS
from rotifer_engine.layers._table import LAYERS, condition_of

if TYPE_CHECKING:
    from rotifer_engine.layers._entry import LayerEntry

__all__ = [
    "AGENT_NAME",
    "AGENT_ROOM",
    "COUNTED",
    "SEEN_BY",
    "STRAY",
    "VISIBLE",
    "Reader",
    "actor_visible",
    "agent_of",
    "condition_sql",
]

AGENT_ROOM = "agent://"
AGENT_NAME = "agent-"
_CHANNEL = "shared"


def agent_of(namespace: str) -> str:
    """The agent that a namespace is of: ``agent-legal`` for ``agent://legal/cases``; else empty."""
    name, _, rest = namespace.removeprefix(AGENT_ROOM).partition("/")
    return AGENT_NAME + name if namespace.startswith(AGENT_ROOM) and name and rest else ""


class Reader(NamedTuple):
    """Who asks, as far as whoever calls knows; the empty text for nothing.

    Args:
        actor: who is asking; without one, only what belongs to all is seen.
        session: the session in which that is.
        agent: the agent inside which the actor works, e.g. ``agent-legal``.
    """

    actor: str = ""
    session: str = ""
    agent: str = ""

    def asked(self) -> dict[str, str]:
        """What conditions may ask for."""
        room = ""
        if self.agent.startswith(AGENT_NAME) and self.agent != AGENT_NAME:
            room = f"{AGENT_ROOM}{self.agent.removeprefix(AGENT_NAME)}/"
        return {
            "actor": self.actor,
            "session": self.session,
            "room": room,
            "channel": room and room + _CHANNEL,
        }


_OWN = Same("actor", "actor")
_IN_SESSION = Same("session", "session")

#: Who sees the rows of a layer, by the word that the table of layers has.
SEEN_BY: dict[str, Condition] = {
    "cell": Every(()),
    "actor": _OWN,
    "namespace": Some(
        (
            Every((_OWN, Not(Begins("namespace", AGENT_ROOM)))),
            Every((_OWN, BeginsAsked("namespace", "room"))),
            Every((Given("actor"), Same("namespace", "channel"))),
        )
    ),
    "session": Every((_OWN, _IN_SESSION)),
}

#: The rule. A kind that is not known to be durable is taken as ephemeral.
VISIBLE: Condition = Every(
    (
        Some((*(Is("kind", kind) for kind in DURABLE_KINDS), _IN_SESSION)),
        Some(
            tuple(
                Every((condition_of(name), SEEN_BY[layer.readers]))
                for name, layer in LAYERS.items()
            )
        ),
    )
)

#: Rows of no layer and of nobody: shown to no actor, because they could be anybody's.
STRAY: Condition = Every((condition_of("unknown"), Is("actor", "")))

#: What counts: what is seen, and the strays, so that none of them is hidden.
COUNTED: Condition = Some((VISIBLE, STRAY))


def actor_visible(
    entry: LayerEntry, actor: str | None, *, session: str | None = None, agent: str | None = None
) -> bool:
    """Whether an actor sees an entry: the one answer (layers §5).

    Args:
        entry: the entry.
        actor: who is asking; None for nobody in particular, who sees only what belongs to all.
        session: the session in which that is.
        agent: the agent inside which the actor works.
    """
    reader = Reader(actor or "", session or "", agent or "")
    return holds(VISIBLE, entry.fields(), reader.asked())


def condition_sql(condition: Condition, mark: Callable[[str], str], row: str = "e") -> str:
    """A condition for a database; the names to bind are those of :meth:`Reader.asked`."""
    return sql(condition, mark, row)
