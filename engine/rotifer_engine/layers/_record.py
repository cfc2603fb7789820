"""What the audit log says of a change of a layer: never its content (memory §9)."""

from __future__ import annotations

from typing import NamedTuple

from rotifer_engine._audit import ACTIONS
from rotifer_engine.layers._table import layer_of_row
from rotifer_engine.quick import dumps

__all__ = ["LayerRecord", "LayerRow"]


class LayerRow(NamedTuple):
    """Everything about a stored entry but what it says: what a record needs to know.

    Args:
        entry_id: 64 hex digits.
        scope: its scope.
        actor: whose; empty for nobody.
        namespace: empty for none.
        kind: its kind.
        session: empty for none.
        key: empty for none.
        size: bytes of its key and content.
    """

    entry_id: str
    scope: str
    actor: str
    namespace: str
    kind: str
    session: str
    key: str
    size: int


class LayerRecord(NamedTuple):
    """One line, but for its time and its change id.

    Args:
        action: one of the ``memory.layer_`` actions of ``ACTIONS``.
        operation: the call: ``save``, ``save_runtime``, ``clear``, ``refresh_environment``.
        row: the entry it is about.
    """

    action: str
    operation: str
    row: LayerRow

    def to_line(self, ts: str, change_id: str) -> str:
        """The line, pure ASCII, so that a key cannot drive the terminal of who reads it."""
        _, result, code = ACTIONS[self.action]
        row = self.row
        fields = {
            "ts": ts,
            "action": self.action,
            "layer": layer_of_row(row._asdict()),
            "actor": row.actor or None,
            "namespace": row.namespace or None,
            "kind": row.kind,
            "session": row.session or None,
            "operation": self.operation,
            "entry_id": row.entry_id,
            "key": row.key or None,
            "size": row.size,
            "change_id": change_id,
            "result": result,
            "code": code,
        }
        return dumps(fields)
