"""Where cases are played: a store, its records, a clock that is moved, two empty agents a case."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import uuid4

from rotifer_engine._audit import Audit, AuditLog
from rotifer_engine._clock import FixedClock
from rotifer_engine._files import FileSystem
from rotifer_engine._memory import AgentMemory
from rotifer_engine._policy import DEFAULT_DATA_POLICY, RetentionPolicy
from rotifer_engine._quota import DEFAULT_QUOTA_BYTES
from rotifer_engine._store import Store
from rotifer_engine._telemetry import Telemetry
from rotifer_engine.conformance._values import START

if TYPE_CHECKING:
    from rotifer_engine.layers import Layers, StoreWithLayers

__all__ = ["Part", "Stage"]


class Part(NamedTuple):
    """One of a case's two agents, as it is set at the moment.

    Args:
        number: 0 or 1.
        agent_id: its id, which no other agent ever had.
        quota_bytes: its quota.
        data_policy: its data policy.
    """

    number: int
    agent_id: str
    quota_bytes: int
    data_policy: RetentionPolicy


class _Quick(FileSystem):
    """Nothing waits for the disk: what is checked here does not depend on a power cut."""

    def sync(self, fd: int) -> None:
        """Do not wait."""


class Stage:
    """What all cases of one store share.

    Args:
        store: the store; agents that are in it already are left alone.
        folder: an empty folder for the records.
        keeper: for a store that keeps the lines of the audit log itself: what takes its lines, and
            what reads an agent's; None: a file in the folder.
    """

    def __init__(
        self,
        store: Store,
        folder: str,
        keeper: Callable[[FixedClock], tuple[Audit, Callable[[str], list[str]]]] | None = None,
    ) -> None:
        self.store = store
        self.folder = folder
        self.clock = FixedClock(START)
        files = _Quick()
        self._events = _Tail(os.path.join(folder, "telemetry.jsonl"))
        self.telemetry = Telemetry(self._events.path, files=files, clock=self.clock)
        self._log: AuditLog | None = None
        self.audit: Audit
        self._lines: Callable[[str], list[str]]
        if keeper is None:
            tail = _Tail(os.path.join(folder, "audit.jsonl"))
            self.audit = self._log = AuditLog(tail.path, files=files, clock=self.clock)
            self._lines = tail.of
        else:
            self.audit, self._lines = keeper(self.clock)
        self.parts: list[Part] = []
        self.actors: dict[str, str] = {}
        self.room = ""
        self._why_no_layers: str | None = None
        self._layers_known = False

    def begin(self) -> None:
        """Two agents of their own for the next case, and the clock at its beginning."""
        self.clock.now = START
        self.parts = [
            Part(number, str(uuid4()), DEFAULT_QUOTA_BYTES, DEFAULT_DATA_POLICY)
            for number in range(2)
        ]
        self.actors = {name: f"{name}-{uuid4()}" for name in ("alice", "bob")}
        self.room = f"legal-{uuid4()}"

    def set(self, quota: int | None, data_policy: object) -> None:
        """Set both agents' quota (None: the default) and data policy."""
        quota_bytes = DEFAULT_QUOTA_BYTES if quota is None else quota
        policy = RetentionPolicy.parse(data_policy, "dataPolicy")
        self.parts = [
            part._replace(quota_bytes=quota_bytes, data_policy=policy) for part in self.parts
        ]

    def memory(self, part: Part) -> AgentMemory:
        """The agent's memory, as it is set at the moment."""
        return self.memory_of(
            part.agent_id, quota_bytes=part.quota_bytes, data_policy=part.data_policy
        )

    def memory_of(
        self, agent_id: str, *, quota_bytes: int, data_policy: RetentionPolicy
    ) -> AgentMemory:
        """The memory of an agent with these settings."""
        return AgentMemory(
            self.store,
            agent_id,
            quota_bytes=quota_bytes,
            data_policy=data_policy,
            audit=self.audit,
            telemetry=self.telemetry,
            clock=self.clock,
        )

    def layers(self) -> Layers:
        """The layers of the store."""
        from rotifer_engine.layers import Layers

        return Layers(cast("StoreWithLayers", self.store), audit=self.audit, clock=self.clock)

    def why_no_layers(self) -> str | None:
        """Why the cases on the layers cannot be played here; None when they can."""
        if not self._layers_known:
            self._layers_known = True
            if not hasattr(self.store, "layers"):
                self._why_no_layers = "the store keeps no layers"
            elif any(self.layers().counts().values()):
                self._why_no_layers = (
                    "the store has entries that everyone sees, and each case begins without any"
                )
        return self._why_no_layers

    def clear_layers(self) -> None:
        """Leave nothing that everyone sees; actors and rooms have new names in each case anyhow."""
        from rotifer_engine.layers import SharedSnapshot

        layers = self.layers()
        layers.refresh_environment(SharedSnapshot({}))
        layers.clear("consensus")

    def lines(self, part: Part) -> list[str]:
        """The lines of the audit log about this agent, in order."""
        return self._lines(part.agent_id)

    def events(self, part: Part) -> list[str]:
        """The lines of the telemetry file about this agent, in order."""
        return self._events.of(part.agent_id)

    def close(self) -> None:
        """Close the records; the store is its owner's."""
        self.telemetry.close()
        if self._log is not None:
            self._log.close()


class _Tail:
    """A file of lines that grows, read from where its last reader stopped."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read = 0
        self._known: dict[str, list[str]] = {}

    def of(self, agent_id: str) -> list[str]:
        """The lines about this agent; those about others are kept for them."""
        try:
            with open(self.path, encoding="ascii") as file:
                file.seek(self._read)
                text = file.read()
        except FileNotFoundError:
            return []
        self._read += len(text)
        for line in text.splitlines():
            about: Any = json.loads(line).get("agent_id")
            self._known.setdefault(about, []).append(line)
        return self._known.pop(agent_id, [])
