"""What a layer holds: an entry as a plain value, and its JSON form."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import NamedTuple

from rotifer_engine._time import format_time
from rotifer_engine.layers._table import layer_of

__all__ = ["LayerEntry", "identity"]


class LayerEntry(NamedTuple):
    """One entry.

    Args:
        entry_id: 64 hex digits; never changes.
        scope: ``system``, ``global``, ``agent``, ``session``, ``working``, or what came off the
            wire.
        actor: whose it is; None when it belongs to nobody.
        namespace: where in the agent's memory; empty for none.
        kind: what sort of memory it is.
        session: the session in which it was written; None for none.
        key: its name; None when its content is its identity.
        content: what is remembered.
        metadata_json: what the writer wants to know about it, an object; no rule looks at it.
        created_at: milliseconds since 1970.
        updated_at: milliseconds since 1970.
        order: the store's update sequence: the larger, the newer.
    """

    entry_id: str
    scope: str
    actor: str | None
    namespace: str
    kind: str
    session: str | None
    key: str | None
    content: str
    metadata_json: str
    created_at: int
    updated_at: int
    order: int

    @property
    def layer(self) -> str:
        """Its layer, as ``layer_of`` says."""
        return layer_of(self)

    @property
    def metadata(self) -> dict[str, object]:
        """What the writer wants to know about it; no rule looks at it."""
        found: dict[str, object] = json.loads(self.metadata_json)
        return found

    @property
    def size(self) -> int:
        """Bytes of its key and content in UTF-8."""
        return len((self.key or "").encode()) + len(self.content.encode())

    def fields(self) -> dict[str, str]:
        """What conditions look at, the empty text for none."""
        return {
            "scope": self.scope,
            "actor": self.actor or "",
            "namespace": self.namespace,
            "kind": self.kind,
            "session": self.session or "",
        }

    def to_json(self) -> dict[str, object]:
        """The public fields in the documented order."""
        return {
            "entryId": self.entry_id,
            "layer": self.layer,
            "scope": self.scope,
            "actor": self.actor,
            "namespace": self.namespace,
            "kind": self.kind,
            "session": self.session,
            "key": self.key,
            "content": self.content,
            "metadata": self.metadata,
            "createdAt": format_time(self.created_at),
            "updatedAt": format_time(self.updated_at),
        }


def identity(  # noqa: PLR0917 - the order in which they are hashed
    layer: str, actor: str, namespace: str, session: str, key: str | None, content: str
) -> str:
    """SHA-256 of what makes an entry the same one, as 64 hex digits (layers §6).

    The same key in the same layer, actor and namespace is one standing entry; without a key the
    content is its name. An ephemeral entry's session belongs to it as well **[ours]**: one session
    must not replace what only another can see. NUL parts the texts; none of them can hold one.
    """
    name = f"k{key}" if key is not None else f"c{sha256(content.encode()).hexdigest()}"
    parts = (layer, actor, namespace, session, name)
    return sha256("\0".join(parts).encode()).hexdigest()
