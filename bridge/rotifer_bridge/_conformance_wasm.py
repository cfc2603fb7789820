"""The door of WASM genes: a relay module in this process, by its host functions."""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rotifer_bridge._conformance_genes import RELAY, make_project, make_relays
from rotifer_bridge._door import Door
from rotifer_bridge._gene import COMPILED
from rotifer_bridge._result import ignore
from rotifer_bridge._wasm import WasmGene
from rotifer_engine import ERROR_CODES
from rotifer_engine.conformance import ask_layers, deploy
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_engine import Caller
    from rotifer_engine.conformance import Part, Stage, Step

__all__ = ["WasmDoor", "relay_module"]

_SECONDS = 60.0
_CALLS = ("read", "write", "query", "delete")  # as the relay numbers them
_NUMBERS = {code.wasm_number: name for name, code in ERROR_CODES.items()}


def relay_module() -> bytes:
    """The relay, made from its source."""
    from wasmtime import wat2wasm

    with open(os.path.join(RELAY, "relay.wat"), encoding="ascii") as file:
        return bytes(wat2wasm(file.read()))


class WasmDoor:
    """Each role is a gene with the relay as its module.

    Args:
        folder: an empty folder for the genes' project.
    """

    name = "wasm"

    def __init__(self, folder: str) -> None:
        self._project = make_project(folder)
        self._genes, self._callers = make_relays(self._project, COMPILED, relay_module())
        self._ready: dict[str, WasmGene] = {}
        self._faults: list[str] = []

    def callers(self) -> Mapping[str, Caller]:
        """The genes' identities."""
        return self._callers

    def prepare(self, stage: Stage) -> None:
        """The memory is handed over with the calls."""

    def ask(self, stage: Stage, part: Part, role: str, steps: Sequence[Step]) -> list[Any]:
        """Have the role's gene make the calls, in one run."""
        door = Door(stage.memory(part), self._callers[role], on_fault=self._faults.append)
        gene = self._ready.get(role)
        if gene is None:
            gene = self._ready[role] = WasmGene(
                self._genes[role], door, cache_dir=self._project.cache_dir, on_log=ignore
            )
        gene.admit(door)
        given = ",".join(map(_call, steps))
        found = json.loads(gene.run(f"[{given}]".encode("ascii"), time_limit=_SECONDS))
        if self._faults:
            raise RuntimeError(self._faults.pop())
        return [_answer(number, answer) for number, answer in found]

    def deploy(self, stage: Stage, part: Part, step: Step) -> Any:
        """Genes are no deployers: through Python."""
        return deploy(stage, part, step)

    def ask_layers(self, stage: Stage, step: Step) -> Any:
        """Genes have no layers: through Python."""
        return ask_layers(stage, step)

    def close(self) -> None:
        """Free the modules."""
        for gene in self._ready.values():
            gene.close()
        self._project.close()


def _call(step: Step) -> str:
    """A call as the relay takes it; bytes stand in base64, anything else as it is."""
    request = dict(step.request)
    if isinstance(request.get("value"), bytes):
        request["value"] = binascii.b2a_base64(request["value"], newline=False).decode("ascii")
    text = dumps(request)
    return f"[{_CALLS.index(step.call)},{len(text)},{text}]"


def _answer(number: int, answer: Any) -> Any:
    """What a call gave: the result's number and the envelope must say the same."""
    if number >= 0:
        return answer
    told = answer.get("__rotifer_error", {}) if isinstance(answer, dict) else {}
    code = _NUMBERS.get(number, str(number))
    if told.get("code") != code:
        code = f"{code} as a number, {told.get('code')} in the envelope"
    return {"error": {"code": code, "message": told.get("message")}}
