"""Several writes to layers that wait for the disk together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rotifer_engine.errors import AgentMemoryError
from rotifer_engine.layers._checks import Draft, check_draft, require_actor

if TYPE_CHECKING:
    from rotifer_engine.layers._entry import LayerEntry
    from rotifer_engine.layers._layers import Layers

__all__ = ["save_each"]


def save_each(
    layers: Layers, wanted: Sequence[Mapping[str, Any]]
) -> list[LayerEntry | AgentMemoryError]:
    """Do what as many calls of `Layers.save` would, those of one actor in one change.

    Each is checked for itself: one that breaks a rule holds up no other.

    Args:
        layers: where to.
        wanted: the arguments of each call by their names; ``layer``, ``content`` and ``kind`` are
            in each.

    Returns:
        For each, in order, the entry as it is stored, or what the call would have raised.
    """
    outcome: list[LayerEntry | AgentMemoryError | None] = [None] * len(wanted)
    owners: dict[str, list[tuple[int, Draft]]] = {}
    for number, arguments in enumerate(wanted):
        try:
            draft = _draft_of(**arguments)
            owner = require_actor(draft.layer, draft.actor)
        except AgentMemoryError as error:
            outcome[number] = error
        else:
            owners.setdefault(owner, []).append((number, draft))
    for drafts in owners.values():
        saved: Sequence[LayerEntry | AgentMemoryError]
        try:
            saved = layers._save("save", [draft for _, draft in drafts])  # noqa: SLF001 - its own part
        except AgentMemoryError as error:  # none of them was made
            saved = [error] * len(drafts)
        for (number, _), entry in zip(drafts, saved, strict=True):
            outcome[number] = entry
    return [found for found in outcome if found is not None]


def _draft_of(
    *,
    layer: object,
    content: object,
    kind: object,
    actor: object = None,
    namespace: object = "",
    session: object = None,
    key: object = None,
    metadata: object = None,
) -> Draft:
    return check_draft(
        layer,
        content,
        actor=actor,
        namespace=namespace,
        kind=kind,
        session=session,
        key=key,
        metadata=metadata,
        runtime=False,
    )
