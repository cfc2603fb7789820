"""What a run gives, and the parts that it is told in (projects §3, `agent run --json`)."""

from __future__ import annotations

from time import perf_counter

from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rotifer_bridge._gateway import Traffic

    OnLog = Callable[[str, str], object]
    OnNote = Callable[[str], object]
    OnStep = Callable[[str], object]

__all__ = ["RunResult", "Step", "elapsed_ms", "ignore"]


class Step(NamedTuple):
    """One gene's part in a run."""

    gene: str
    engine: str
    """``node`` or ``wasm``."""
    status: str
    """``ok`` or ``failed``."""
    duration_ms: float
    network: Traffic | None = None
    """What a Hybrid gene asked of the network; None for one that cannot."""
    fuel: int | None = None
    """What a compiled gene used of its fuel; None under Node."""
    error: str | None = None
    """Why it gave no answer, where it gave none: others may have answered in its place."""

    def to_json(self) -> dict[str, Any]:
        """Its part of the document that ``agent run --json`` prints."""
        document: dict[str, Any] = {
            "gene": self.gene,
            "engine": self.engine,
            "status": self.status,
            "durationMs": self.duration_ms,
        }
        if self.fuel is not None:
            document["fuel"] = self.fuel
        if self.error is not None:
            document["error"] = self.error
        if self.network is not None:
            document["network"] = self.network.to_json()
        return document


class RunResult(NamedTuple):
    """What a run gave."""

    agent: str
    composition: str
    output: Any
    """The last gene's answer, as Python has JSON; a TryPool's answers by domain."""
    steps: list[Step]
    duration_ms: float

    def to_json(self) -> dict[str, Any]:
        """The document that ``agent run --json`` prints."""
        return {
            "agent": self.agent,
            "composition": self.composition,
            "output": self.output,
            "steps": [step.to_json() for step in self.steps],
            "durationMs": self.duration_ms,
        }


def elapsed_ms(started: float) -> float:
    """Milliseconds since a time of ``perf_counter``."""
    return round((perf_counter() - started) * 1000, 3)


def ignore(*_: object) -> None:
    """Nobody asked to be told."""
