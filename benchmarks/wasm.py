"""What a run of a WASM gene costs, beside wasmtime-py's own call; and a cold start from the cache.

The warm figures are microseconds in this process, the cold ones wall-clock milliseconds of whole
processes. Each takes turns with its yardstick.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

import wasmtime
from _tables import Limit, judged, percentile, save, table, typical

from rotifer_bridge._door import ClosedDoor
from rotifer_bridge._gene import Gene
from rotifer_bridge._wasm import WasmGene
from rotifer_bridge._wasm_api import ENGINE_CONFIG
from rotifer_engine import Caller, EphemeralMemory

# An echo, and one memory call: what a gene does at least.
MODULE = """
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 4096) "{\\22key\\22:\\22k\\22}")
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32) (local.get 0))
  (func (export "reading") (param i32 i32) (result i32)
    (drop (call $read (i32.const 4096) (i32.const 11) (i32.const 8192) (i32.const 4096)))
    (local.get 0)))
"""
READING = MODULE.replace('"express"', '"echo"').replace('"reading"', '"express"')
GIVEN = b'{"text":"hello","indent":4}'
CALLS = 1_000

# A process that runs one gene from the cache, and one that only has what it takes to.
COLD = """
import sys
from rotifer_bridge._door import ClosedDoor
from rotifer_bridge._gene import Gene
from rotifer_bridge._wasm import WasmGene
with open(sys.argv[1], "rb") as file:
    files = {"gene.ir.wasm": file.read()}
gene = Gene("bench", "/", {}, "bench", "Native", None, files, None, True, False, [])
made = WasmGene(gene, ClosedDoor(), cache_dir=sys.argv[2], on_log=print)
assert made.run(b"{}", time_limit=5) == b"{}"
made.close()
"""


def main() -> int:
    """Measure, print, and say by the exit code whether the limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=20)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
        warm = measure_warm(folder, settings.rounds)
        cold = measure_cold(folder, settings.runs)
    limits, figures = report(warm, cold)
    kept = judged(limits)
    save("wasm", figures)
    return 0 if kept else 1


def gene_of(text: str) -> Gene:
    """A gene that is this module."""
    files = {"gene.ir.wasm": bytes(wasmtime.wat2wasm(text))}
    identity = "v2:" + "0" * 64
    return Gene("bench", "/", {}, "bench", "Native", None, files, identity, True, False, [])


def measure_warm(folder: str, rounds: int) -> dict[str, list[list[float]]]:
    """``what -> one list of microseconds a round``."""
    from rotifer_bridge._door import Door

    memory = EphemeralMemory()
    gene = gene_of(READING)
    caller = Caller(gene.v2_id, "bench")
    memory.write(caller, "k", bytes(100), "CONTEXT")
    cache = os.path.join(folder, "cache")
    echo = WasmGene(gene_of(MODULE), ClosedDoor(), cache_dir=cache, on_log=print)
    reading = WasmGene(gene, Door(memory, caller, on_fault=print), cache_dir=cache, on_log=print)
    steps: dict[str, Callable[[], object]] = {
        "wasmtime-py, the same export": wasmtime_call(),
        "a run": lambda: echo.run(GIVEN, time_limit=60),
        "a run that reads an entry of 100 B": lambda: reading.run(GIVEN, time_limit=60),
        "wasmtime-py, a fresh instance and the same export": wasmtime_run(),
    }
    samples: dict[str, list[list[float]]] = {what: [] for what in steps}
    for step in steps.values():
        timed(step, CALLS // 5)
    for _ in range(rounds):
        for what, step in steps.items():
            samples[what].append(timed(step, CALLS))
    for made in (echo, reading):
        made.close()
    memory.close()
    return samples


def timed(step: Callable[[], object], count: int) -> list[float]:
    """Microseconds of each of so many calls."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def wasmtime_parts() -> tuple[wasmtime.Engine, wasmtime.Linker, wasmtime.Module]:
    """The same module under the same configuration, by wasmtime-py's public classes alone."""
    config = wasmtime.Config()
    for name, value in ENGINE_CONFIG:
        setattr(config, name, value)
    engine = wasmtime.Engine(config)
    linker = wasmtime.Linker(engine)
    i32 = wasmtime.ValType.i32()
    kind = wasmtime.FuncType([i32] * 4, [i32])
    linker.define_func("rotifer", "readMemory", kind, lambda *_: -2)
    return engine, linker, wasmtime.Module(engine, bytes(wasmtime.wat2wasm(MODULE)))


def wasmtime_store(engine: wasmtime.Engine) -> wasmtime.Store:
    store = wasmtime.Store(engine)
    store.set_fuel(10**15)
    store.set_epoch_deadline(10**9)
    return store


def wasmtime_call() -> Callable[[], object]:
    """Its call of an export that is at hand, in an instance that is."""
    engine, linker, module = wasmtime_parts()
    store = wasmtime_store(engine)
    express = linker.instantiate(store, module).exports(store)["express"]
    assert isinstance(express, wasmtime.Func)
    return lambda: express(store, 65_536, len(GIVEN))


def wasmtime_run() -> Callable[[], object]:
    """What the same run takes with it: instance, input, alloc, express, output."""
    engine, linker, module = wasmtime_parts()

    def step() -> bytes:
        store = wasmtime_store(engine)
        store.set_limits(memory_size=256 << 20)
        exports = linker.instantiate(store, module).exports(store)
        alloc, express, memory = (exports[name] for name in ("alloc", "express", "memory"))
        assert isinstance(alloc, wasmtime.Func)
        assert isinstance(express, wasmtime.Func)
        assert isinstance(memory, wasmtime.Memory)
        at = alloc(store, len(GIVEN))
        memory.write(store, GIVEN, at)
        answer = express(store, at, len(GIVEN))
        text = bytes(memory.read(store, answer, answer + 4_096)).partition(b"\0")[0]
        store.close()
        return text

    return step


def measure_cold(folder: str, runs: int) -> dict[str, list[float]]:
    """``what -> milliseconds of each process``."""
    module = os.path.join(folder, "gene.wasm")
    with open(module, "wb") as file:
        file.write(bytes(wasmtime.wat2wasm(MODULE)))
    agent = agent_project(os.path.join(folder, "project"), module)
    commands = {
        "python, empty script": [sys.executable, "-c", "pass"],
        "python, import wasmtime": [sys.executable, "-c", "import wasmtime"],
        "a gene from the cache": [
            sys.executable,
            "-c",
            COLD,
            module,
            os.path.join(folder, "cache"),
        ],
        "rotifer agent run of that gene": agent,
    }
    samples: dict[str, list[float]] = {what: [] for what in commands}
    where = os.path.join(folder, "project")
    for command in commands.values():
        process(command, where)  # fills the caches
    for _ in range(runs):
        for what, command in commands.items():
            samples[what].append(process(command, where))
    return samples


def agent_project(folder: str, module: str) -> list[str]:
    """A project with one agent of that one gene; the command that runs it."""
    os.makedirs(os.path.join(folder, "genes", "bench"))
    with open(os.path.join(folder, "rotifer.json"), "w", encoding="utf-8") as file:
        file.write('{"name": "bench"}')
    rotifer = os.path.join(os.path.dirname(sys.executable), "rotifer")
    for arguments in (
        ["wrap", "bench", "-d", "bench"],
        ["compile", "bench", "--wasm", module],
        ["agent", "create", "bench", "-g", "bench"],
    ):
        subprocess.run(
            [rotifer, *arguments],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    return [rotifer, "agent", "run", "bench", "--json", "--input", "{}"]


def process(command: list[str], where: str) -> float:
    """Milliseconds of one whole process, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=where, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1e3


def report(
    warm: dict[str, list[list[float]]], cold: dict[str, list[float]]
) -> tuple[list[Limit], dict[str, float]]:
    """Print the tables; the limits, and all medians."""
    call, started = "wasmtime-py, the same export", "python, import wasmtime"
    micro = {what: typical(rounds) for what, rounds in warm.items()}
    table(
        "A warm WASM gene (µs)",
        ["what", "median", "p99", "to that call"],
        [
            (what, f"{value:.1f}", f"{typical(warm[what], 0.99):.1f}", f"{value / micro[call]:.2f}")
            for what, value in micro.items()
        ],
    )
    milli = {what: median(times) for what, times in cold.items()}
    table(
        "Cold start (ms)",
        ["what", "median", "p90", "to import wasmtime"],
        [
            (
                what,
                f"{value:.1f}",
                f"{percentile(cold[what], 0.9):.1f}",
                f"{value / milli[started]:.2f}",
            )
            for what, value in milli.items()
        ],
    )
    rounds = zip(warm["a run"], warm[call], strict=True)
    warm_ratio = median(percentile(a, 0.5) / percentile(b, 0.5) for a, b in rounds)
    pairs = zip(cold["a gene from the cache"], cold[started], strict=True)
    cold_ratio = median(a / b for a, b in pairs)
    return [
        Limit("warm run of a gene / wasmtime-py's call", warm_ratio, 3.0),
        Limit("cold start from the cache / import wasmtime", cold_ratio, 1.3),
    ], {**micro, **milli}


if __name__ == "__main__":
    sys.exit(main())
