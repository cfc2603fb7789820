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


# ---- modules that make memory calls

PAGE = 65_536

_PRINT = """
  (func $print (param $n i32) (local $at i32) (local $rest i32)
    (local.set $at (i32.const 32))
    (local.set $rest (select (i32.sub (i32.const 0) (local.get $n)) (local.get $n)
      (i32.lt_s (local.get $n) (i32.const 0))))
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at)
        (i32.add (i32.const 48) (i32.rem_u (local.get $rest) (i32.const 10))))
      (local.set $rest (i32.div_u (local.get $rest) (i32.const 10)))
      (br_if $next (local.get $rest)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at) (i32.const 45))))
    (call $log (local.get $at) (i32.sub (i32.const 32) (local.get $at))))
"""


def quoted(data):
    """Bytes as WAT has them."""
    return "".join(f"\\{byte:02x}" for byte in data)


class Call:
    """One memory call that a module makes.

    Args:
        op: which.
        request: JSON text, bytes, or what becomes JSON.
        room: outCap.
        at, size: where the module says that the request is; None for where it is.
        out: where it says that the answer goes.
    """

    def __init__(self, op, request=b"", room=4_096, *, at=None, size=None, out=2 * PAGE):
        self.op = op
        if isinstance(request, str):
            request = request.encode()
        elif not isinstance(request, bytes):
            request = json.dumps(request, separators=(",", ":")).encode()
        self.request, self.room, self.at, self.size, self.out = request, room, at, size, out


def calling(calls, pages=4, extra="", clean=True):
    """A module that makes these calls, and prints each result and what is in its out.

    Out is at two pages and filled with # before each call, unless it is not to be clean.
    """
    data, body, place = [], [], 1_024
    for call in calls:
        data.append(f'(data (i32.const {place}) "{quoted(call.request)}")')
        at = place if call.at is None else call.at
        size = len(call.request) if call.size is None else call.size
        if clean:
            body.append(f"(memory.fill (i32.const {2 * PAGE}) (i32.const 35) (i32.const {PAGE}))")
        body.append(f"""
        (call $print (call ${call.op} (i32.const {at}) (i32.const {size}) (i32.const {call.out}) (i32.const {call.room})))
        (call $log (i32.const {2 * PAGE}) (i32.const {min(call.room + 1, 8_192)}))""")
        place += len(call.request)
    imports = "".join(
        f'(import "rotifer" "{op}Memory" (func ${op} (param i32 i32 i32 i32) (result i32)))'
        for op in ("read", "write", "query", "delete")
    )
    return f"""
    (module {imports} (import "env" "log" (func $log (param i32 i32)))
      (memory (export "memory") {pages}) {" ".join(data)} {_PRINT}
      (data (i32.const 100) "true")
      (func (export "express") (param i32 i32) (result i32) {" ".join(body)} (i32.const 100)) {extra})
    """


@pytest.fixture
def call(sandbox):
    """Make memory calls from a module; a pair of the result and of what is in out for each."""

    def make(*calls, **options):
        sandbox.logged.clear()
        made = {name: options.pop(name) for name in ("pages", "extra") if name in options}
        assert sandbox.run(calling(calls, **made), **options) is True
        lines = [line for _, line in sandbox.logged]
        return [(int(lines[i]), lines[i + 1].rstrip("#")) for i in range(0, len(lines), 2)]

    return make
