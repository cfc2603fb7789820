"""What the service has, and what a request is once it has been let in."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge._service_agents import WarmAgents
from rotifer_bridge._service_errors import Refused
from rotifer_bridge._service_lanes import Lanes
from rotifer_engine import SystemClock

if TYPE_CHECKING:
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._tokens import Token, TokenFile
    from rotifer_engine import AgentMemory, Clock
    from rotifer_engine.layers import Layers

__all__ = ["Asked", "State"]

_NUMBER = re.compile(r"[0-9]{1,12}")


class Asked(NamedTuple):
    """A request that was let in.

    Args:
        token: whose it is.
        path: what stands in the braces of the address.
        query: its parameters, each a known one and given once.
        body: its body, not read yet.
    """

    token: Token
    path: dict[str, str]
    query: dict[str, str]
    body: bytes

    @staticmethod
    def is_number(text: str) -> bool:
        """Whether a parameter is a whole number that is not negative."""
        return _NUMBER.fullmatch(text) is not None

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A parameter that is a whole number.

        Raises:
            Refused: it is none, or out of its range; never clipped to it.
        """
        text = self.query.get(name)
        if text is None:
            return default
        number = int(text) if self.is_number(text) else -1
        if low <= number <= high:
            return number
        raise Refused("INVALID_REQUEST", f"{name} must be a whole number from {low:,} to {high:,}")


class State:
    """What all requests share.

    Args:
        project: the project that is served.
        tokens: who is let in.
        clock: gives the time.
    """

    def __init__(self, project: Project, tokens: TokenFile, *, clock: Clock | None = None) -> None:
        self.project = project
        self.tokens = tokens
        self.clock = clock or SystemClock()
        self.lanes = Lanes()
        self.warm = WarmAgents(project)
        self.records: dict[str, tuple[object, AgentRecord]] = {}
        self._opening = threading.Lock()
        self._layers: Layers | None = None

    def memory(self, record: AgentRecord) -> AgentMemory:
        """The memory of an agent; the store is opened once, whichever thread comes first."""
        with self._opening:
            return self.project.memory(record)

    @property
    def layers(self) -> Layers:
        """The layers of the project's store."""
        with self._opening:
            if self._layers is None:
                self._layers = self.project.layers()
            return self._layers

    def close(self) -> None:
        """End the agents and the threads, and close the store."""
        self.warm.close()
        self.lanes.close()
        self.project.close()
