"""The layers of one store: the rules, and the only thing that writes and reads them (layers)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, TypeAlias

from rotifer_engine._change import commit_change
from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._filter import MAX_ANSWER_BYTES, MAX_LIMIT
from rotifer_engine._input import check_integer, check_word
from rotifer_engine.errors import InvalidInput
from rotifer_engine.layers._checks import (
    Draft,
    check_agent,
    check_draft,
    check_layer,
    check_optional,
    check_target,
    given,
    refuse_conflict,
    require_actor,
)
from rotifer_engine.layers._entry import LayerEntry, identity
from rotifer_engine.layers._kind import KINDS
from rotifer_engine.layers._record import LayerRecord, LayerRow
from rotifer_engine.layers._snapshot import SharedSnapshot
from rotifer_engine.layers._store import LayerStore, LayerTransaction, Query, StoreWithLayers
from rotifer_engine.layers._table import LAYERS
from rotifer_engine.layers._visible import Reader

if TYPE_CHECKING:
    from rotifer_engine._audit import Audit

__all__ = ["DEFAULT_LIMIT", "MAX_OFFSET", "Layers"]

DEFAULT_LIMIT = 50  # layers §6
MAX_OFFSET = 1_000_000_000  # [ours]
_SENSED = "fact"  # the kind of what a sensor finds

_Entries: TypeAlias = list[LayerEntry]  # in the class below, `list` is a call


class Layers:
    """The memory of a cell in its seven layers.

    It holds no state of its own, so threads may share it, and every process that opens the same
    store sees the same layers. **Whoever calls vouches for actor, session and agent**: never take
    them from the text that asks.

    Args:
        store: where entries are kept; one that agents' memories are in, or could be.
        audit: where every change is written, before it is made.
        clock: gives the time.
    """

    def __init__(self, store: StoreWithLayers, *, audit: Audit, clock: Clock | None = None) -> None:
        self._store: LayerStore = store.layers()
        self._audit = audit
        self._clock = clock or SystemClock()

    # ---- writing (layers §3, §6)

    def save(
        self,
        layer: object,
        content: object,
        *,
        actor: object = None,
        namespace: object = "",
        kind: object,
        session: object = None,
        key: object = None,
        metadata: object = None,
    ) -> LayerEntry:
        """Write to ``consensus``, ``about_me`` or ``agent_memory``; the entry as it is stored.

        With a key it takes the place of the standing entry with that key in the same layer, actor
        and namespace; without one its content is its identity. Repeating a write changes nothing,
        and is not recorded again.

        Args:
            layer: one of the three.
            content: what is to be remembered, a text of 1 to 65,536 bytes.
            actor: whose memory it is; none for ``consensus``.
            namespace: where in the agent's memory; for ``agent_memory`` only.
            kind: one of ``KINDS``.
            session: the session it is written in; an ephemeral kind needs it.
            key: a name under which it stands.
            metadata: a JSON object that no rule looks at.

        Raises:
            LayerError: one of the codes of layers §3; nothing is written.
            InvalidInput: a text or the metadata breaks another rule; nothing is written.
            StorageError: the store or the audit log failed; nothing is written.
        """
        draft = check_draft(
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
        return self._save("save", [draft])[0]

    def save_runtime(
        self,
        layer: object,
        content: object,
        *,
        actor: object = None,
        namespace: object = "",
        kind: object,
        session: object = None,
        key: object = None,
        metadata: object = None,
    ) -> LayerEntry:
        """Write to ``environment``, ``session`` or ``working``: the runtime's own way.

        No door offers it. ``session`` and ``working`` need an actor and a session **[ours]**, or
        nobody could see what was written. The rest is as for :meth:`save`.

        Raises:
            LayerError: one of the codes of layers §3; nothing is written.
            InvalidInput: a text or the metadata breaks another rule; nothing is written.
            StorageError: the store or the audit log failed; nothing is written.
        """
        draft = check_draft(
            layer,
            content,
            actor=actor,
            namespace=namespace,
            kind=kind,
            session=session,
            key=key,
            metadata=metadata,
            runtime=True,
        )
        return self._save("save_runtime", [draft])[0]

    def refresh_environment(self, snapshot: SharedSnapshot) -> _Entries:
        """Make the environment what a sensor found: each fact one entry, and no others.

        Args:
            snapshot: the facts.

        Returns:
            The entries, in the order of the facts; those that were as they are now are unchanged.

        Raises:
            InvalidInput: a fact's name or text breaks a rule; nothing is written.
            StorageError: the store or the audit log failed; nothing is written.
        """
        drafts = [
            check_draft(
                "environment",
                text,
                actor=None,
                namespace=None,
                kind=_SENSED,
                session=None,
                key=name,
                metadata=None,
                runtime=True,
            )
            for name, text in snapshot.facts.items()
        ]
        return self._save("refresh_environment", drafts, only="environment")

    def _save(
        self, operation: str, drafts: Iterable[Draft], *, only: str | None = None
    ) -> _Entries:
        """The one way by which rows come into being: all of them, or none (layers §3).

        Args:
            operation: the call, for the records.
            drafts: what is to be written, of one actor.
            only: a layer of which all other rows go.
        """
        wanted = [(draft, require_actor(draft.layer, draft.actor)) for draft in drafts]
        owner = wanted[0][1] if wanted else ""
        saved: list[LayerEntry] = []
        records: list[LayerRecord] = []
        with self._store.begin(owner) as tx:
            now = self._clock.now_ms()
            for draft, actor in wanted:
                entry, stored = _after(tx, draft, actor, now)
                if entry != stored:
                    entry = entry._replace(order=tx.next_order(now))
                    tx.put(entry, replaces=stored is not None)
                    action = "memory.layer_create" if stored is None else "memory.layer_update"
                    records.append(LayerRecord(action, operation, _row_of(entry)))
                saved.append(entry)
            if only is not None:
                kept = {entry.entry_id for entry in saved}
                for row in [row for row in tx.rows(only, None) if row.entry_id not in kept]:
                    tx.remove(row.entry_id)
                    records.append(LayerRecord("memory.layer_delete", operation, row))
            if records:
                self._commit(tx, owner, records)
        return saved

    def clear(self, layer: object, *, actor: object = None, namespace: object = None) -> int:
        """Delete an actor's rows of a layer, or all of ``consensus``; how many that were.

        Rows of all kinds and sessions go, nobody else's.

        Args:
            layer: ``consensus``, ``about_me`` or ``agent_memory``.
            actor: whose rows; none for ``consensus``.
            namespace: which ones of ``agent_memory``; the other two have none.

        Raises:
            LayerError: one of the codes of layers §3; nothing is deleted.
            InvalidInput: a namespace where there are none, or a bad text.
            StorageError: the store or the audit log failed; nothing is deleted.
        """
        check_layer(layer)
        owner = check_optional(actor, "actor")
        word, space = check_target(layer, namespace, runtime=False)
        require_actor(word, owner)
        where = space if LAYERS[word].namespaced else None
        with self._store.begin(owner) as tx:
            rows = [*tx.rows(word, where)]
            if not rows:
                return 0
            tx.remove_rows(word, where)
            self._commit(
                tx, owner, (LayerRecord("memory.layer_delete", "clear", row) for row in rows)
            )
        self._store.scrub()
        return len(rows)

    def _commit(self, tx: LayerTransaction, owner: str, records: Iterable[LayerRecord]) -> None:
        commit_change(self._audit, lambda: self._store.begin(owner), tx, records)

    # ---- reading (layers §5)

    def list(
        self,
        *,
        layer: object = None,
        scope: object = None,
        actor: object = None,
        namespace: object = None,
        kind: object = None,
        session: object = None,
        agent: object = None,
        limit: object = DEFAULT_LIMIT,
        offset: object = 0,
    ) -> _Entries:
        """The entries that an actor sees and that meet every filter, newest first.

        What the actor sees and every filter go into the store's statement, before its LIMIT.

        Args:
            layer: only this layer; empty or None for all.
            scope: only this scope; not together with a layer.
            actor: who is asking; without one, only ``environment`` and ``consensus`` are seen.
            namespace: only exactly this namespace; empty for entries without one.
            kind: only this kind.
            session: the session in which the actor is: it shows what is ephemeral there, beside
                what is durable; it hides nothing.
            agent: the agent inside which the actor works, ``agent-<name>``.
            limit: at most so many, 1 to 1,000.
            offset: leave out so many of the newest.

        Raises:
            LayerScopeConflict: both a layer and a scope.
            UnknownLayer: no such layer.
            InvalidInput: a bad filter, or an answer over 4 MiB.
            StorageError: the store failed.
        """
        refuse_conflict(layer, scope)
        query = Query(
            layer=check_layer(layer) if given(layer) else None,
            scope=check_optional(scope, "scope") or None,
            namespace=None if namespace is None else check_optional(namespace, "namespace"),
            kind=None if kind is None else check_word(kind, "kind", KINDS),
            limit=check_integer(limit, "limit", 1, MAX_LIMIT),
            offset=check_integer(offset, "offset", 0, MAX_OFFSET),
        )
        return _answer(self._store.select(_reader(actor, session, agent), query))

    def strays(self, *, limit: object = DEFAULT_LIMIT, offset: object = 0) -> _Entries:
        """Entries of no layer and of nobody, newest first: for an administrator to look at.

        No actor sees them, because they could be anybody's; :meth:`counts` counts them under
        ``unknown``, so that none is hidden **[ours]**.

        Args:
            limit: at most so many, 1 to 1,000.
            offset: leave out so many of the newest.

        Raises:
            InvalidInput: a bad limit or offset, or an answer over 4 MiB.
            StorageError: the store failed.
        """
        most = check_integer(limit, "limit", 1, MAX_LIMIT)
        return _answer(self._store.strays(most, check_integer(offset, "offset", 0, MAX_OFFSET)))

    def counts(
        self, *, actor: object = None, session: object = None, agent: object = None
    ) -> dict[str, int]:
        """How many entries of each layer an actor sees: all seven layers, in their order.

        ``unknown`` also counts the :meth:`strays`.

        Args:
            actor: who is asking.
            session: the session in which that is.
            agent: the agent inside which the actor works.

        Raises:
            InvalidInput: one of them breaks a rule.
            StorageError: the store failed.
        """
        found = self._store.counts(_reader(actor, session, agent))
        return {layer: found.get(layer, 0) for layer in LAYERS}


def _reader(actor: object, session: object, agent: object) -> Reader:
    return Reader(
        check_optional(actor, "actor"), check_optional(session, "session"), check_agent(agent)
    )


def _after(
    tx: LayerTransaction, draft: Draft, actor: str, now: int
) -> tuple[LayerEntry, LayerEntry | None]:
    """The entry as it is to be, and as it is stored now; the same when nothing changes."""
    rule = LAYERS[draft.layer]
    assert rule.scope is not None, "unknown is written by nobody"
    entry_id = identity(
        draft.layer,
        actor,
        draft.namespace,
        draft.session_of_identity,
        draft.key or None,
        draft.content,
    )
    stored = tx.find(entry_id)
    entry = LayerEntry(
        entry_id,
        rule.scope,
        actor or None,
        draft.namespace,
        draft.kind,
        draft.session or None,
        draft.key or None,
        draft.content,
        draft.metadata,
        now if stored is None else stored.created_at,
        now,
        0 if stored is None else stored.order,
    )
    if stored is not None and entry == stored._replace(updated_at=now):
        return stored, stored
    return entry, stored


def _row_of(entry: LayerEntry) -> LayerRow:
    return LayerRow(
        entry.entry_id,
        entry.scope,
        entry.actor or "",
        entry.namespace,
        entry.kind,
        entry.session or "",
        entry.key or "",
        entry.size,
    )


def _answer(entries: Generator[LayerEntry, None, None]) -> _Entries:
    """All of them, unless they are too large for one answer; never a part of them."""
    answer: list[LayerEntry] = []
    total = 0
    try:
        for entry in entries:
            total += entry.size + len(entry.metadata_json.encode())
            if total > MAX_ANSWER_BYTES:
                raise InvalidInput(
                    f"the first {len(answer) + 1:,} entries of the answer have {total:,} bytes of "
                    f"keys, contents and metadata; the limit is {MAX_ANSWER_BYTES:,}: lower limit "
                    "or narrow the filter"
                )
            answer.append(entry)
    finally:
        entries.close()  # or the error would keep the read of the store open
    return answer
