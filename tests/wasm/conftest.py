"""Modules written in the tests, on a memory of their own."""

from __future__ import annotations

import json

import pytest
import wasmtime

from rotifer_bridge._door import ClosedDoor, Door
from rotifer_bridge._gene import Gene
from rotifer_bridge._wasm import WasmGene
from rotifer_bridge._wasm_limits import Limits
from rotifer_engine import Caller, EphemeralMemory

V2 = "v2:" + "ab" * 32


def wasm(wat):
    """The bytes of a module written as text."""
    return bytes(wasmtime.wat2wasm(wat))


def gene(module, name="g", folder="/genes/g", v2_id=V2):
    """A gene that is this module: bytes, or text."""
    data = module if isinstance(module, bytes) else wasm(module)
    files = {"gene.ir.wasm": data}
    return Gene(name, folder, {}, "code", "Native", None, files, v2_id, True, False, [])


class Sandbox:
    """Runs modules, all of them on one memory."""

    def __init__(self, cache):
        self.cache = cache
        self.memory = EphemeralMemory()
        self.logged = []
        self.faults = []
        self._made = []

    def door(self, v2_id=V2, domain="code"):
        """A gene's way to the memory."""
        return Door(self.memory, Caller(v2_id, domain), on_fault=self.faults.append)

    def load(self, module, door=None, name="g", **limits):
        """A gene that is ready to run."""
        made = WasmGene(
            gene(module, name),
            door or self.door(),
            cache_dir=str(self.cache),
            on_log=lambda *line: self.logged.append(line),
            agent_id="agent-1",
            limits=Limits(**limits),
        )
        self._made.append(made)
        return made

    def run(self, module, given=None, time_limit=20, **options):
        """The answer of a module that runs once, as Python has it."""
        given = {} if given is None else given
        text = json.dumps(given, separators=(",", ":")).encode()
        return json.loads(self.load(module, **options).run(text, time_limit=time_limit))

    def close(self):
        """Free everything."""
        for made in self._made:
            made.close()
        self.memory.close()


@pytest.fixture
def sandbox(tmp_path):
    """Modules, a cache, and an empty memory."""
    made = Sandbox(tmp_path / "cache")
    yield made
    made.close()


@pytest.fixture
def closed_door():
    """The door of a gene that no agent runs."""
    return ClosedDoor()
