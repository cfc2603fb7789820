"""The door of TypeScript genes: a relay gene in a real worker, by ``ctx.memory``."""

from __future__ import annotations

import binascii
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rotifer_bridge._conformance_genes import RELAY, make_project, make_relays
from rotifer_bridge._door import Door
from rotifer_bridge._result import ignore
from rotifer_bridge._solo import Solo
from rotifer_engine.conformance import ask_layers, deploy

if TYPE_CHECKING:
    from rotifer_engine import Caller
    from rotifer_engine.conformance import Part, Stage, Step

__all__ = ["NodeDoor"]

_SECONDS = 60.0


class NodeDoor:
    """Each role is a gene in a process of its own, warm from case to case.

    Args:
        folder: an empty folder for the genes' project.
    """

    name = "node"

    def __init__(self, folder: str) -> None:
        self._project = make_project(folder)
        with open(os.path.join(RELAY, "relay.ts"), "rb") as file:
            source = file.read()
        self._genes, self._callers = make_relays(self._project, "index.ts", source)
        self._solos: dict[str, Solo] = {}
        self._faults: list[str] = []

    def callers(self) -> Mapping[str, Caller]:
        """The genes' identities."""
        return self._callers

    def prepare(self, stage: Stage) -> None:
        """The memory is handed over with the calls."""

    def ask(self, stage: Stage, part: Part, role: str, steps: Sequence[Step]) -> list[Any]:
        """Have the role's gene make the calls, in one run."""
        door = Door(stage.memory(part), self._callers[role], on_fault=self._faults.append)
        solo = self._solos.get(role)
        if solo is None:
            solo = self._solos[role] = Solo(
                self._project, self._genes[role], door, on_log=ignore, time_limit=_SECONDS
            )
        solo.admit(door)
        answers = solo.run({"calls": [_call(step) for step in steps]}, time_limit=_SECONDS)
        if self._faults:
            raise RuntimeError(self._faults.pop())
        return list(answers["answers"])

    def deploy(self, stage: Stage, part: Part, step: Step) -> Any:
        """Genes are no deployers: through Python."""
        return deploy(stage, part, step)

    def ask_layers(self, stage: Stage, step: Step) -> Any:
        """Genes have no layers: through Python."""
        return ask_layers(stage, step)

    def close(self) -> None:
        """End the processes."""
        for solo in self._solos.values():
            solo.close()
        self._project.close()


def _call(step: Step) -> dict[str, Any]:
    """A call as the relay takes it: bytes cannot stand in JSON, anything else as it is."""
    request = dict(step.request)
    call: dict[str, Any] = {"call": step.call, "request": request}
    if isinstance(request.get("value"), bytes):
        call["bytes"] = binascii.b2a_base64(request.pop("value"), newline=False).decode("ascii")
    return call
